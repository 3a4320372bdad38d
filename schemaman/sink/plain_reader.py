"""Reads the records of a batch: plain events column by column, all others one by one.

Law: each record has the outcome that `RowReader` gives it; the two differ only in speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from schemaman.debezium.raw_record import read_epoch_ms
from schemaman.debezium.records import Record
from schemaman.sink.plain_events import PlainChange, PlainEvent, PlainForm, PlainRows, PlainRun
from schemaman.sink.reader import RowReader, read_table_names
from schemaman.sink.row_change import RowChange, RowOutcome
from schemaman.sink.values.values import Value

READ_IN_FULL = 64
"""Changes in a topic that are read in full before a form is learned from one: so many repay its making."""

_CHUNK = 4_096
_MAX_FORMS = 8
"""The number of forms that are kept for a topic; the oldest one is dropped."""

_Parsed = tuple[PlainForm, PlainEvent]


@dataclass(slots=True)
class _PlainTopic:
    """The forms of plain events in a topic, the newest first, and how many changes were read in full."""

    forms: list[PlainForm] = field(default_factory=list)
    in_full: int = 0


class PlainReader:
    """Reads the records of a stream, those of a partition in the order of their offsets.

    Args:
        reader: reads what is not plain.
        read: the same, for a caller that catches the faults of single records.
        in_full: the number of changes in a topic that are read in full before a form is learned.
        chunk: the number of records that are read at once; a form serves the chunks after its own.
    """

    def __init__(
        self,
        reader: RowReader,
        read: Callable[[Record], RowOutcome] | None = None,
        *,
        in_full: int = READ_IN_FULL,
        chunk: int = _CHUNK,
    ) -> None:
        self._reader = reader
        self._read = read or reader.read
        self._in_full = in_full
        self._chunk = chunk
        self._topics: dict[str, _PlainTopic] = {}
        self._tables: list[PlainRows] = []

    @property
    def tables(self) -> tuple[PlainRows, ...]:
        """The plain changes that were read so far, by table and structure."""
        return tuple(rows for rows in self._tables if rows.changes)

    def read_all(self, records: Iterable[Record]) -> Iterator[RowOutcome | PlainRun]:
        """Read the outcomes of records, in order; plain changes come in runs."""
        remaining, place, size = iter(records), 0, min(self._in_full + 1, self._chunk)
        while chunk := list(islice(remaining, size)):
            yield from self._read_chunk(chunk, place)
            place, size = place + len(chunk), min(2 * size, self._chunk)

    def _read_chunk(self, chunk: Sequence[Record], start: int) -> Iterator[RowOutcome | PlainRun]:
        events, cells = self._parse_events(chunk)
        index = end = 0
        while index < len(chunk):
            end = end if index < end else _find_run_end(chunk, events, index)
            if index < end:
                rows = events[index][0].rows
                changes = self._order_run(chunk, events, cells, range(index, end), start)
                if changes:
                    rows.changes.extend(changes)
                    yield PlainRun(rows, changes)
                    index += len(changes)
                if index == end:
                    continue
            outcome = self._read(chunk[index])
            if index not in events and isinstance(outcome, RowChange):
                self._learn_form(chunk[index], outcome)
            yield outcome
            index += 1

    def _order_run(
        self,
        chunk: Sequence[Record],
        events: Mapping[int, _Parsed],
        cells: Mapping[int, tuple[Value, ...]],
        run: range,
        start: int,
    ) -> list[PlainChange]:
        """The first changes of a run of plain events of one form and partition, in an order beyond doubt."""
        form = events[run.start][0]
        sources = ((chunk[index], events[index][1][1]) for index in run)
        orders = self._reader.order_plain_events(form.rows.sample.table, form.connector, sources)
        changes = []
        for index, order in zip(run, orders, strict=False):
            (op, source, key, _), record = events[index][1], chunk[index]
            place, at = start + index, (record.topic, record.partition, record.offset)
            changes.append(
                PlainChange(place, at, op, order, read_epoch_ms(source.get("ts_ms")), key, cells.get(index))
            )
        if changes:
            last = chunk[run.start + len(changes) - 1]
            self._reader.remember_last(last, is_delete=changes[-1].op == "d")
        return changes

    def _parse_events(
        self, chunk: Sequence[Record]
    ) -> tuple[dict[int, _Parsed], dict[int, tuple[Value, ...]]]:
        """Parse the plain events of a chunk, and read their cells, both by the indices of records."""
        events: dict[int, _Parsed] = {}
        rows: dict[PlainForm, list[int]] = {}
        for index, record in enumerate(chunk):
            known = self._topics.get(record.topic)
            for form in () if known is None else known.forms:
                event = form.parse_event(record, read_table_names) if form.begins(record) else None
                if event is not None:
                    events[index] = (form, event)
                    if event[3] is not None:
                        rows.setdefault(form, []).append(index)
                    break
        cells: dict[int, tuple[Value, ...]] = {}
        for form, indices in rows.items():
            columns, bad = form.read_cells([events[index][1][3] for index in indices])
            cells.update(zip(indices, zip(*columns, strict=True), strict=True))
            for at in bad:
                del events[indices[at]]
        return events, cells

    def _learn_form(self, record: Record, change: RowChange) -> None:
        """Learn the form of plain events from a change that was read in full, if it is time."""
        known = self._topics.setdefault(record.topic, _PlainTopic())
        known.in_full += 1
        if known.in_full % self._in_full or change.op not in ("c", "u") or change.ambiguity:
            return
        form = self._reader.find_plain_form(record, change)
        if form is not None and not any(form.is_like(other) for other in known.forms):
            known.forms.insert(0, form)
            del known.forms[_MAX_FORMS:]
            self._tables.append(form.rows)


def _find_run_end(chunk: Sequence[Record], events: Mapping[int, _Parsed], start: int) -> int:
    """The end of the plain events of one form and partition that begin at an index."""
    first = events.get(start)
    if first is None:
        return start
    topic, partition = chunk[start].topic, chunk[start].partition
    for index in range(start + 1, len(chunk)):
        event, record = events.get(index), chunk[index]
        if (
            event is None
            or event[0] is not first[0]
            or record.partition != partition
            or record.topic != topic
        ):
            return index
    return len(chunk)
