"""Reads the records of a batch: plain events column by column, all others one by one.

Law: each record has the outcome that `RowReader` gives it; the two differ only in speed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from schemaman.debezium.records import Record
from schemaman.sink.plain_events import PlainEvents, PlainForm, PlainRows, PlainRun
from schemaman.sink.reader import RowReader
from schemaman.sink.record_columns import RecordColumns
from schemaman.sink.row_change import RowChange, RowOutcome

READ_IN_FULL = 64
"""Changes in a topic that are read in full before a form is learned from one: so many repay its making."""

_CHUNK = 512
"""What is made of so few records stays in the caches of a processor while it is read."""

_MAX_FORMS = 8
"""The number of forms that are kept for a topic; the oldest one is dropped."""


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
        return tuple(rows for rows in self._tables if rows.orders)

    def read_all(self, parts: Iterable[RecordColumns]) -> Iterator[RowOutcome | PlainRun]:
        """Read the outcomes of records, in order; plain changes come in runs."""
        size = min(self._in_full + 1, self._chunk)
        for part in parts:
            start = 0
            while start < len(part):
                yield from self._read_chunk(part.slice(start, start + size))
                start, size = start + size, min(2 * size, self._chunk)

    def _read_chunk(self, chunk: RecordColumns) -> Iterator[RowOutcome | PlainRun]:
        found = self._find_events(chunk)
        index = end = 0
        while index < len(chunk):
            events = found[index]
            if events is not None:
                end = end if index < end else _find_run_end(chunk, found, index)
                run = self._order_run(chunk, events, range(index, end))
                if run.changes:
                    yield run
                    index += len(run.changes)
                if index == end:
                    continue
            record = chunk.make_record(index)
            outcome = self._read(record)
            if events is None and isinstance(outcome, RowChange):
                self._learn_form(record, outcome)
            yield outcome
            index += 1

    def _order_run(self, chunk: RecordColumns, events: PlainEvents, run: range) -> PlainRun:
        """The first changes of a run of plain events of one form and partition, in an order beyond doubt."""
        form, first = events.form, bisect_left(events.indices, run.start)
        rows, records = form.rows, chunk.slice(run.start, run.stop)
        sources = events.slice_sources(first, len(run))
        orders = self._reader.order_plain_events(rows.sample.table, form.connector, records, sources)
        start, size = len(rows.orders), len(orders)
        if orders:
            rows.add_events(events, first, records, orders)
            self._reader.remember_last(records, size - 1, is_delete=rows.ops[-1] == "d")
        return PlainRun(rows, range(start, start + size))

    def _find_events(self, chunk: RecordColumns) -> list[PlainEvents | None]:
        """Find the plain events of a chunk; each record has those to which it belongs."""
        found: list[PlainEvents | None] = [None] * len(chunk)
        for topic, remaining in chunk.index_topics().items():
            known = self._topics.get(topic)
            for form in () if known is None else known.forms:
                events = form.read_events(chunk, remaining)
                for index in events.indices:
                    found[index] = events
                remaining = [index for index in remaining if found[index] is None]
        return found

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


def _find_run_end(chunk: RecordColumns, found: Sequence[PlainEvents | None], start: int) -> int:
    """The end of the plain events of one form and partition that begin at an index."""
    events, partitions = found[start], chunk.partitions
    for index in range(start + 1, len(chunk)):
        if found[index] is not events or partitions[index] != partitions[start]:
            return index
    return len(chunk)
