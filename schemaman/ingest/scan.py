"""The hot room of reading: records → runs, by comparing bytes.

Law: exact, never sampled. What comparing cannot prove is parsed, and the answer is the same; scanning
an input in parts and merging the parts gives the runs of the whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

from schemaman.debezium.decode import Contents
from schemaman.debezium.inference import Sightings, added
from schemaman.debezium.observation import (
    ALTERNATIONS,
    MANY_SHAPES,
    Observation,
    Run,
    Seen,
)
from schemaman.debezium.raw_record import Reading
from schemaman.debezium.records import Mark, Record, record_hash
from schemaman.ingest.probe import Look, Looker
from schemaman.ingest.probe_patterns import Texts
from schemaman.model.schema import fingerprint

Place = tuple[str, int]

_SLACK = 2 * ALTERNATIONS
"""Runs of a table that wait before they are collapsed, since each time costs all that was seen of it; for the
same reason as many again as could not be."""


def scan(records: Iterable[Record], reading: Reading, *, quick: bool = True) -> tuple[Run, ...]:
    """The runs of the records, in order of topic, partition and first offset.

    The records of a partition come in the order of their offsets; those of several partitions and tables
    may be mixed. `quick=False` parses every record whole; the answer is the same.
    """
    scanner = Scanner(reading, quick=quick)
    for record in records:
        scanner.add(record)
    return scanner.runs()


def merge(runs: Iterable[Run], reading: Reading) -> tuple[Run, ...]:
    """The runs of the parts of an input as the runs of the whole, in whatever order the parts come.

    Neighbours of one table and shape whose positions do not go back are one run. No part between two others
    may be left out.
    """
    merged: list[Run] = []
    contents = Contents(reading)
    for (_, _, table), group in groupby(sorted(runs, key=_by_table), key=lambda run: _by_table(run)[:3]):
        members = list(group)
        merged += _capped(_joined(members), contents) if table else members
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
    room: int = 0


@dataclass(slots=True)
class _Partition:
    tables: dict[tuple[str, ...], _Table] = field(default_factory=dict)
    alone: list[Run] = field(default_factory=list)


class Scanner:
    """Records in, runs out; memory grows with shapes and alternations, not with records."""

    def __init__(self, reading: Reading, *, quick: bool = True) -> None:
        self._looker = Looker(reading, quick=quick)
        self._contents = Contents(reading)
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
            runs += _capped(table.closed, self._contents)
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
            if len(table.closed) > max(_SLACK, table.room):
                table.closed = _capped(table.closed, self._contents)
                table.room = 2 * len(table.closed)


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
        alike=run.alike or other.alike,
        seen=added(seen) if seen else None,
    )


def _follows(run: Run, following: Run) -> bool:
    if run.shape != following.shape or run.interrupted or following.interrupted:
        return False
    last, first = run.last.position, following.first.position
    return last.kind == first.kind and first.rank >= last.rank


def _capped(runs: list[Run], contents: Contents) -> list[Run]:
    """The runs, or fewer if they are too many; what was collapsed stays so.

    Then one for each time that something else is said, or if those are too many one interval a thing said.
    Shapes are of bytes, and the same can be said in several: whether a table is told as intervals must not
    hang on bytes, since the fold, which sees pieces, compares what is said.
    """
    if len(runs) <= ALTERNATIONS and not any(run.alike for run in runs):
        return runs
    silent: list[tuple[Hashable, Run]] = []
    telling: list[tuple[Observation, Run]] = []
    for run in sorted((replace(run, alike=True) for run in runs), key=_order):
        said = contents.of(run)
        if said is None:
            silent.append((run.shape, run))
        else:
            telling.append((said, run))
    telling = _in_turn(telling)
    if len(telling) > ALTERNATIONS or any(run.interrupted for _, run in telling):
        return [*_intervals(silent), *_interrupted(telling)]
    return [*_intervals(silent), *(run for _, run in telling)]


def _in_turn(runs: Iterable[tuple[Observation, Run]]) -> list[tuple[Observation, Run]]:
    """The runs with neighbours that say the same in one piece, just as the fold joins them."""
    joined: list[tuple[Observation, Run]] = []
    for said, run in runs:
        if joined and joined[-1][0] is said and _resumes(joined[-1][1], run):
            joined[-1] = (said, _longer(joined[-1][1], run, run))
        else:
            joined.append((said, run))
    return joined


def _resumes(run: Run, following: Run) -> bool:
    if run.interrupted or following.interrupted:
        return False
    return following.first.position.rank >= run.last.position.rank


def _interrupted(runs: list[tuple[Observation, Run]]) -> list[Run]:
    """One counted interval for each thing said; rows of too many structures show only together."""
    intervals = [replace(run, interrupted=True) for run in _intervals(runs)]
    structures = {fingerprint(o.schema) for o, run in runs if run.seen is not None and o.schema is not None}
    if len(structures) <= ALTERNATIONS and all(run.shape != MANY_SHAPES for run in intervals):
        return intervals
    rows = [run for run in intervals if run.seen is not None]
    return [*(run for run in intervals if run.seen is None), _together(rows)]


def _intervals(runs: Iterable[tuple[Hashable, Run]]) -> list[Run]:
    """The runs, in order of offsets, with those that are equal by their first part as one."""
    intervals: dict[Hashable, Run] = {}
    for what, run in runs:
        known = intervals.get(what)
        intervals[what] = run if known is None else _longer(known, run, max(known, run, key=_end))
    return list(intervals.values())


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
