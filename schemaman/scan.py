"""The hot room of reading: records → runs, by comparing bytes.

Law: exact, never sampled. What comparing cannot prove is parsed, and the answer is the same; scanning
an input in parts and merging the parts gives the runs of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

from schemaman.decode.look import Look, Looker
from schemaman.decode.outline import Texts
from schemaman.decode.wire import Reading
from schemaman.evidence import ALTERNATIONS, MANY_SHAPES, Mark, Record, Run, Seen, record_hash
from schemaman.inference import Sightings, added

Place = tuple[str, int]

_SLACK = 2 * ALTERNATIONS
"""Runs of a table that wait before they are collapsed, since each time costs all that was seen of it."""


def scan(records: Iterable[Record], reading: Reading, *, quick: bool = True) -> tuple[Run, ...]:
    """The runs of the records, in order of topic, partition and first offset.

    The records of a partition come in the order of their offsets; those of several partitions and tables
    may be mixed. `quick=False` parses every record whole; the answer is the same.
    """
    scanner = Scanner(reading, quick=quick)
    for record in records:
        scanner.add(record)
    return scanner.runs()


def merge(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The runs of the parts of an input as the runs of the whole, in whatever order the parts come.

    Neighbours of one table and shape whose positions do not go back are one run. No part between two others
    may be left out.
    """
    merged: list[Run] = []
    for (_, _, table), group in groupby(sorted(runs, key=_by_table), key=lambda run: _by_table(run)[:3]):
        members = list(group)
        merged += _capped(_joined(members)) if table else members
    return tuple(sorted(merged, key=_order))


@dataclass(slots=True)
class _Open:
    """A run that may go on; `look` is None while its last record has only been compared."""

    shape: str
    first: Record
    first_look: Look
    last: Record
    look: Look | None
    layout: bytes | None
    texts: Texts
    count: int = 1
    sightings: Sightings | None = None

    def see(self, record: Record, look: Look) -> None:
        """Count what a record shows whose schema does not tell its structure."""
        if look.shown is not None:
            self.sightings = self.sightings or Sightings()
            self.sightings.see(look.shown, _mark(record, look))


@dataclass(slots=True)
class _Table:
    """The runs of a table in a partition."""

    open: _Open | None = None
    closed: list[Run] = field(default_factory=list)


@dataclass(slots=True)
class _Partition:
    tables: dict[tuple[str, ...], _Table] = field(default_factory=dict)
    alone: list[Run] = field(default_factory=list)


class Scanner:
    """Records in, runs out; memory grows with shapes and alternations, not with records."""

    def __init__(self, reading: Reading, *, quick: bool = True) -> None:
        self._looker = Looker(reading, quick=quick)
        self._quick = quick
        self._partitions: dict[Place, _Partition] = {}

    def add(self, record: Record) -> str | None:
        """Take the next record; why it cannot be read, if so."""
        partition = self._partitions.get((record.topic, record.partition))
        if partition is None:
            partition = self._partitions[record.topic, record.partition] = _Partition()
        glance = self._looker.glance(record) if self._quick else None
        if glance is not None:
            outline, shape, texts = glance
            table = partition.tables.get(outline.table)
            run = None if table is None else table.open
            if run is not None and run.shape == shape and _forward(run, outline.layout, texts):
                run.count += 1
                run.last, run.look, run.texts = record, None, texts
                return None
        return self._take(partition, record)

    def cut(self, topic: str, partition: int) -> tuple[Run, ...]:
        """The runs of a partition, in order; its next record begins anew."""
        found = self._partitions.pop((topic, partition), _Partition())
        runs = [*found.alone]
        for table in found.tables.values():
            self._close(table)
            runs += _capped(table.closed)
        return tuple(sorted(runs, key=_order))

    def runs(self) -> tuple[Run, ...]:
        """All runs, in order; what comes next begins anew."""
        return tuple(run for place in sorted(self._partitions) for run in self.cut(*place))

    def _take(self, partition: _Partition, record: Record) -> str | None:
        look = self._looker.look(record)
        if not look.table:
            partition.alone.append(_run(record, look, record, look, 1))
            return look.fault
        table = partition.tables.setdefault(look.table, _Table())
        run = table.open
        if run is None or run.shape != look.shape or not self._goes_on(run, look):
            self._close(table)
            table.open = _Open(look.shape, record, look, record, look, look.layout, look.texts)
            table.open.see(record, look)
            return None
        run.see(record, look)
        run.count += 1
        run.last, run.look, run.layout, run.texts = record, look, look.layout, look.texts
        return None

    def _goes_on(self, run: _Open, look: Look) -> bool:
        last = run.look or self._looker.look(run.last)
        return last.position.kind == look.position.kind and look.rank >= last.rank

    def _close(self, table: _Table) -> None:
        run, table.open = table.open, None
        if run is not None:
            last = run.look or self._looker.look(run.last)
            seen = None if run.sightings is None else run.sightings.seen()
            table.closed.append(_run(run.first, run.first_look, run.last, last, run.count, seen))
            if len(table.closed) > _SLACK:
                table.closed = _capped(table.closed)


def _forward(run: _Open, layout: bytes | None, texts: Texts) -> bool:
    """Whether texts alone prove that the position has not gone back."""
    # of one layout texts are of one type, which the type of `Texts` cannot say
    return layout is not None and run.layout is layout and texts >= run.texts  # type: ignore[operator]


def _run(
    first: Record, look: Look, last: Record, last_look: Look, count: int, seen: Seen | None = None
) -> Run:
    return Run(
        shape=look.shape,
        first=_mark(first, look),
        last=_mark(last, last_look),
        count=count,
        sample=first,
        fault=look.fault,
        table=look.table,
        seen=seen,
        last_hash=record_hash(last),
    )


def _mark(record: Record, look: Look) -> Mark:
    return Mark(
        record.topic,
        record.partition,
        record.offset,
        look.position,
        look.ts_ms,
        look.read_ms,
        record.timestamp_ms,
    )


def _joined(runs: Iterable[Run]) -> list[Run]:
    """The runs of one table in a partition, in order of offsets, with neighbours in one piece."""
    joined: list[Run] = []
    for run in runs:
        if joined and _follows(joined[-1], run):
            joined[-1] = _longer(joined[-1], run, run)
        else:
            joined.append(run)
    return joined


def _longer(run: Run, other: Run, last: Run) -> Run:
    """Both as one, which ends where `last` does."""
    seen = tuple(s for s in (run.seen, other.seen) if s is not None)
    return replace(
        run,
        last=last.last,
        last_hash=last.last_hash,
        count=run.count + other.count,
        seen=added(seen) if seen else None,
    )


def _follows(run: Run, following: Run) -> bool:
    if run.shape != following.shape or run.interrupted or following.interrupted:
        return False
    last, first = run.last.position, following.first.position
    return last.kind == first.kind and first.rank >= last.rank


def _capped(runs: list[Run]) -> list[Run]:
    """The runs, or one counted interval a shape if they are too many; what was collapsed stays so."""
    if len(runs) <= ALTERNATIONS and not any(run.interrupted for run in runs):
        return runs
    intervals: dict[str, Run] = {}
    for run in sorted(runs, key=_order):
        known = intervals.get(run.shape)
        if known is None:
            intervals[run.shape] = replace(run, interrupted=True)
        else:
            last = max(known, run, key=_end)
            intervals[run.shape] = _longer(known, run, last)
    rows = [run for run in intervals.values() if run.seen is not None]
    if len(rows) <= ALTERNATIONS and MANY_SHAPES not in intervals:
        return list(intervals.values())
    return [*(run for run in intervals.values() if run.seen is None), _together(rows)]


def _together(rows: list[Run]) -> Run:
    """Rows of so many shapes that they are no table: one interval, whose shapes only show together."""
    seen = added(run.seen for run in rows if run.seen is not None)
    last = max(rows, key=_end)
    whole = replace(min(rows, key=_order), last=last.last, last_hash=last.last_hash)
    return replace(whole, shape=MANY_SHAPES, count=sum(run.count for run in rows), seen=seen)


def _by_table(run: Run) -> tuple[str, int, tuple[str, ...], int]:
    return (run.first.topic, run.first.partition, run.table, run.first.offset)


def _end(run: Run) -> int:
    return run.last.offset


def _order(run: Run) -> tuple[str, int, int]:
    return (run.first.topic, run.first.partition, run.first.offset)
