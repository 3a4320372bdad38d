"""Scans records into schema runs by comparing bytes. This is the fast path of reading.

Law: the scan is exact and never samples. A record that comparison cannot prove is parsed, with the same
result. Scanning an input in parts and merging the parts gives the runs of the whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from schemaman.debezium.decode import ContentCache
from schemaman.debezium.inference import FieldCounter, merge_inferred_fields
from schemaman.debezium.observation import (
    ALTERNATIONS,
    MANY_SHAPES,
    InferredFields,
    Observation,
    SchemaRun,
)
from schemaman.debezium.raw_record import DecodeContext
from schemaman.debezium.records import Coordinates, Record, hash_record
from schemaman.ingest.probe import Probe, Prober
from schemaman.ingest.probe_patterns import Outline, Texts
from schemaman.model.schema import fingerprint

TopicPartition = tuple[str, int]
LastRecord = Record | tuple[Any, ...]
"""A record, or a function that makes it and its arguments: most records never are the last of a run."""

_RUNS_BEFORE_COLLAPSE = 2 * ALTERNATIONS
"""Runs of a table that wait before they are collapsed, since each time costs all that was seen of it; for the
same reason as many again as could not be."""


def scan(records: Iterable[Record], reading: DecodeContext, *, quick: bool = True) -> tuple[SchemaRun, ...]:
    """The runs of the records, in order of topic, partition and first offset.

    The records of a partition come in the order of their offsets; those of several partitions and tables
    may be mixed. `quick=False` parses every record whole; the answer is the same.
    """
    scanner = Scanner(reading, quick=quick)
    for record in records:
        scanner.add(record)
    return scanner.runs()


def merge(runs: Iterable[SchemaRun], reading: DecodeContext) -> tuple[SchemaRun, ...]:
    """The runs of the parts of an input as the runs of the whole, in whatever order the parts come.

    Neighbours of one table and shape whose positions do not go back are one run. No part between two others
    may be left out.
    """
    merged: list[SchemaRun] = []
    contents = ContentCache(reading)
    for (_, _, table), group in groupby(
        sorted(runs, key=_table_order), key=lambda run: _table_order(run)[:3]
    ):
        members = list(group)
        merged += _cap_runs(_join_neighbours(members), contents) if table else members
    return tuple(sorted(merged, key=_order))


@dataclass(slots=True)
class OpenRun:
    """A run that may continue; `probe` is None while its last record has only been compared."""

    shape: str
    first: Record
    first_probe: Probe
    last: LastRecord
    probe: Probe | None
    layout: bytes | None
    texts: Texts
    count: int = 1
    sightings: FieldCounter | None = None

    def see(self, record: Record, probed: Probe) -> None:
        """Counts the fields of a record whose schema does not have its structure."""
        if probed.shown_fields is not None:
            self.sightings = self.sightings or FieldCounter()
            self.sightings.count_record(probed.shown_fields, _build_coordinates(record, probed), record)

    def goes_on(self, shape: str, layout: bytes | None, texts: Texts) -> bool:
        """Returns whether the run goes on with a record whose position has these texts in this layout."""
        return self.shape == shape and _is_forward(self, layout, texts)

    def extend(self, count: int, last: LastRecord, texts: Texts) -> None:
        """Adds records that bytes have proven; `last` is the last one, with the texts of its position."""
        self.count += count
        self.last, self.probe, self.texts = last, None, texts


@dataclass(slots=True)
class _TableRuns:
    """The runs of a table in a partition."""

    open: OpenRun | None = None
    closed: list[SchemaRun] = field(default_factory=list)
    room: int = 0


@dataclass(slots=True)
class _PartitionRuns:
    tables: dict[tuple[str, ...], _TableRuns] = field(default_factory=dict)
    unreadable: list[SchemaRun] = field(default_factory=list)


class Scanner:
    """Turns records into runs; memory grows with shapes and alternations, not with records."""

    def __init__(self, reading: DecodeContext, *, quick: bool = True, prober: Prober | None = None) -> None:
        self.prober = prober or Prober(reading, quick=quick)
        self._contents = ContentCache(reading)
        self._quick = quick
        self._partitions: dict[TopicPartition, _PartitionRuns] = {}

    def add(self, record: Record) -> str | None:
        """Adds the next record; returns the reason if it cannot be read."""
        partition = self._partitions.get((record.topic, record.partition))
        if partition is None:
            partition = self._partitions[record.topic, record.partition] = _PartitionRuns()
        outlined = self.prober.match_outline(record) if self._quick else None
        if outlined is not None and _go_on(partition, outlined, record):
            return None
        return self._take(partition, record)

    def advance(
        self, topic: str, partition: int, outlined: tuple[Outline, str, Texts], last: LastRecord
    ) -> bool:
        """Adds a record that an outline matches to the open run; returns False if the run does not go on."""
        found = self._partitions.get((topic, partition))
        return found is not None and _go_on(found, outlined, last)

    def find_open_run(self, topic: str, partition: int, table: tuple[str, ...]) -> OpenRun | None:
        """Finds the run of a table in a partition that may continue."""
        found = self._partitions.get((topic, partition))
        runs = None if found is None else found.tables.get(table)
        return None if runs is None else runs.open

    def cut(self, topic: str, partition: int) -> tuple[SchemaRun, ...]:
        """Returns and removes the runs of a partition, in order; its next record begins a new run."""
        found = self._partitions.pop((topic, partition), _PartitionRuns())
        runs = [*found.unreadable]
        for table in found.tables.values():
            self._close(table)
            runs += _cap_runs(table.closed, self._contents)
        return tuple(sorted(runs, key=_order))

    def runs(self) -> tuple[SchemaRun, ...]:
        """Returns and removes all runs, in order."""
        return tuple(run for place in sorted(self._partitions) for run in self.cut(*place))

    def _take(self, partition: _PartitionRuns, record: Record) -> str | None:
        probed = self.prober.probe_record(record)
        if not probed.table:
            partition.unreadable.append(_build_run(record, probed, record, probed, 1))
            return probed.fault
        table = partition.tables.setdefault(probed.table, _TableRuns())
        run = table.open
        if run is None or run.shape != probed.shape or not self._goes_on(run, probed):
            self._close(table)
            table.open = OpenRun(probed.shape, record, probed, record, probed, probed.layout, probed.texts)
            table.open.see(record, probed)
            return None
        run.see(record, probed)
        run.count += 1
        run.last, run.probe, run.layout, run.texts = record, probed, probed.layout, probed.texts
        return None

    def _goes_on(self, run: OpenRun, probed: Probe) -> bool:
        last = run.probe or self.prober.probe_last(parse_last(run.last), run.first_probe)
        return last.position.kind == probed.position.kind and probed.rank >= last.rank

    def _close(self, table: _TableRuns) -> None:
        run, table.open = table.open, None
        if run is not None:
            record = parse_last(run.last)
            last = run.probe or self.prober.probe_last(record, run.first_probe)
            seen = None if run.sightings is None else run.sightings.get_fields()
            table.closed.append(_build_run(run.first, run.first_probe, record, last, run.count, seen))
            if len(table.closed) > max(_RUNS_BEFORE_COLLAPSE, table.room):
                table.closed = _cap_runs(table.closed, self._contents)
                table.room = 2 * len(table.closed)


def parse_last(last: LastRecord) -> Record:
    """Parses the last record of a run, whose bytes have proven that it is a record."""
    if isinstance(last, Record):
        return last
    make, *arguments = last
    record = make(*arguments)
    if not isinstance(record, Record):
        raise AssertionError(f"bytes have proven a record, but there is none: {record}")
    return record


def _go_on(partition: _PartitionRuns, outlined: tuple[Outline, str, Texts], last: LastRecord) -> bool:
    outline, shape, texts = outlined
    table = partition.tables.get(outline.table)
    run = None if table is None else table.open
    if run is None or not run.goes_on(shape, outline.layout, texts):
        return False
    run.extend(1, last, texts)
    return True


def _is_forward(run: OpenRun, layout: bytes | None, texts: Texts) -> bool:
    """Returns whether the texts alone prove that the position has not gone back."""
    # texts of one layout have one type, which the type of `Texts` cannot express
    return layout is not None and run.layout is layout and texts >= run.texts  # type: ignore[operator]


def _build_run(
    first: Record,
    probed: Probe,
    last: Record,
    last_probed: Probe,
    count: int,
    seen: InferredFields | None = None,
) -> SchemaRun:
    return SchemaRun(
        shape=probed.shape,
        first=_build_coordinates(first, probed),
        last=_build_coordinates(last, last_probed),
        count=count,
        sample=first,
        fault=probed.fault,
        table=probed.table,
        inferred=seen,
        last_hash=hash_record(last),
    )


def _build_coordinates(record: Record, probed: Probe) -> Coordinates:
    return Coordinates(
        record.topic,
        record.partition,
        record.offset,
        probed.position,
        probed.ts_ms,
        probed.read_ms,
        record.timestamp_ms,
    )


def _join_neighbours(runs: Iterable[SchemaRun]) -> list[SchemaRun]:
    """Joins neighbouring runs of one table in a partition, in order of offsets."""
    joined: list[SchemaRun] = []
    for run in runs:
        if joined and _is_continuation(joined[-1], run):
            joined[-1] = _join_runs(joined[-1], run, run)
        else:
            joined.append(run)
    return joined


def _join_runs(run: SchemaRun, other: SchemaRun, last: SchemaRun) -> SchemaRun:
    """Joins two runs into one that ends where `last` ends."""
    seen = tuple(s for s in (run.inferred, other.inferred) if s is not None)
    return replace(
        run,
        last=last.last,
        last_hash=last.last_hash,
        count=run.count + other.count,
        alike=run.alike or other.alike,
        inferred=merge_inferred_fields(seen) if seen else None,
    )


def _is_continuation(run: SchemaRun, following: SchemaRun) -> bool:
    if run.shape != following.shape or run.interrupted or following.interrupted:
        return False
    last, first = run.last.position, following.first.position
    return last.kind == first.kind and first.rank >= last.rank


def _cap_runs(runs: list[SchemaRun], contents: ContentCache) -> list[SchemaRun]:
    """Collapses the runs if there are too many; collapsed runs stay collapsed.

    The result has one run for each change of content, or one interval for each content if those are too many.
    The limit counts contents and not shapes, because several byte shapes may have one content. The fold sees
    parts of the input and compares contents, too.
    """
    if len(runs) <= ALTERNATIONS and not any(run.alike for run in runs):
        return runs
    without_content: list[tuple[Hashable, SchemaRun]] = []
    with_content: list[tuple[Observation, SchemaRun]] = []
    for run in sorted((replace(run, alike=True) for run in runs), key=_order):
        content = contents.read_content(run)
        if content is None:
            without_content.append((run.shape, run))
        else:
            with_content.append((content, run))
    with_content = _join_same_facts(with_content)
    if len(with_content) > ALTERNATIONS or any(run.interrupted for _, run in with_content):
        return [*_group_intervals(without_content), *_build_interrupted(with_content)]
    return [*_group_intervals(without_content), *(run for _, run in with_content)]


def _join_same_facts(runs: Iterable[tuple[Observation, SchemaRun]]) -> list[tuple[Observation, SchemaRun]]:
    """Joins neighbouring runs with the same content, as the fold does."""
    joined: list[tuple[Observation, SchemaRun]] = []
    for content, run in runs:
        if joined and joined[-1][0] is content and _is_resumed(joined[-1][1], run):
            joined[-1] = (content, _join_runs(joined[-1][1], run, run))
        else:
            joined.append((content, run))
    return joined


def _is_resumed(run: SchemaRun, following: SchemaRun) -> bool:
    if run.interrupted or following.interrupted:
        return False
    return following.first.position.rank >= run.last.position.rank


def _build_interrupted(runs: list[tuple[Observation, SchemaRun]]) -> list[SchemaRun]:
    """Builds one counted interval for each content; rows of too many structures become one interval."""
    intervals = [replace(run, interrupted=True) for run in _group_intervals(runs)]
    structures = {
        fingerprint(o.schema) for o, run in runs if run.inferred is not None and o.schema is not None
    }
    if len(structures) <= ALTERNATIONS and all(run.shape != MANY_SHAPES for run in intervals):
        return intervals
    rows = [run for run in intervals if run.inferred is not None]
    return [*(run for run in intervals if run.inferred is None), _merge_rows(rows)]


def _group_intervals(runs: Iterable[tuple[Hashable, SchemaRun]]) -> list[SchemaRun]:
    """Groups the runs, in order of offsets, by the first part of each pair."""
    intervals: dict[Hashable, SchemaRun] = {}
    for what, run in runs:
        known = intervals.get(what)
        intervals[what] = run if known is None else _join_runs(known, run, max(known, run, key=_end))
    return list(intervals.values())


def _merge_rows(rows: list[SchemaRun]) -> SchemaRun:
    """Merges rows of too many shapes into one interval."""
    seen = merge_inferred_fields(run.inferred for run in rows if run.inferred is not None)
    last = max(rows, key=_end)
    whole = replace(min(rows, key=_order), last=last.last, last_hash=last.last_hash)
    return replace(whole, shape=MANY_SHAPES, count=sum(run.count for run in rows), inferred=seen)


def _table_order(run: SchemaRun) -> tuple[str, int, tuple[str, ...], int]:
    return (run.first.topic, run.first.partition, run.table, run.first.offset)


def _end(run: SchemaRun) -> int:
    return run.last.offset


def _order(run: SchemaRun) -> tuple[str, int, int]:
    return (run.first.topic, run.first.partition, run.first.offset)
