"""Scans, decodes and records the new records of a source, chunk by chunk.

Law: each chunk, or group of chunks with few runs, is recorded in one transaction with the offsets that it
covers. So a crash loses one group at most, and another reading repeats nothing. The history does not depend
on where chunks or sources end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from schemaman.debezium.decoded_runs import RunDecoder
from schemaman.debezium.observation import (
    FILLED_LATE,
    Note,
    Observation,
    Outcome,
    Reject,
    SchemaRun,
    Skipped,
)
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import hash_record
from schemaman.debezium.wire_format import AUTO, Forms
from schemaman.ingest.chunk_group import ChunkGroup
from schemaman.ingest.chunks import (
    CHUNK,
    ChunkPart,
    KnownOffsets,
    Stretch,
    UnreadableItem,
    build_order_error,
    build_reading,
    read_chunks,
)
from schemaman.ingest.line_batches import Item
from schemaman.ingest.summary import NO_PARTITION as NO_PARTITION
from schemaman.ingest.summary import SHOWN_REJECTS
from schemaman.ingest.summary import Summary as Summary
from schemaman.registry import Registry
from schemaman.store.log import CoveredRange, Entry, RejectEntry
from schemaman.store.offsets import GAPS, Partition, find_stray_rejects


def ingest(
    records: Iterable[Item],
    registry: Registry,
    stream: str,
    schemas: SchemaLookup,
    keep_payload: bool = False,
    progress: Callable[[Summary], None] | None = None,
    size: int = CHUNK,
    forms: Forms = AUTO,
) -> Summary:
    """Read one source into the history of a stream, in this process.

    `schemas` returns the Avro text of a registry id. `keep_payload` keeps the bytes of rejected records in
    the log; they may contain personal data. `forms` are the configured encodings of keys and values.
    `progress` is called with the sum so far after each chunk of `size` records.

    Raises:
        UnreadableInput: the source cannot be read, or the offsets of a partition decrease in it.
        UsageError: a record differs from the known record at its offset: this is another stream.
        Conflict: another process reads the same records into the same stream.
        StoreUnavailable: the store cannot be written.
    """
    intake = Intake(registry, stream, schemas, keep_payload=keep_payload, forms=forms)
    reading = build_reading(schemas, forms)
    return intake.enter_all(read_chunks(records, intake.known, reading, size=size), progress=progress)


class Intake:
    """Records one source in the history; both engines pass their chunk parts to it in order."""

    def __init__(
        self,
        registry: Registry,
        stream: str,
        schemas: SchemaLookup,
        *,
        keep_payload: bool = False,
        forms: Forms = AUTO,
    ) -> None:
        self.known = KnownOffsets(*registry.known_offsets(stream))
        self.summary = Summary()
        self._registry = registry
        self._stream = stream
        self.reading = build_reading(schemas, forms)
        self._decoder = RunDecoder(stream, schemas, forms)
        self._keep_payload = keep_payload
        self._reached: dict[Partition, int] = {}
        self._gaps = Counter({place: len(ranges) - 1 for place, ranges in self.known.ranges.items()})

    def enter(self, taken: ChunkPart) -> None:
        """Records the next chunk. Raises the refusal of the part, and the errors of `ingest`."""
        if taken.refusal is not None:
            raise taken.refusal
        self._follow(taken)
        outcomes: list[Outcome] = [self._torn(unread) for unread in taken.unreadable]
        covered = []
        for stretch in map(self._gapped, taken.stretches):
            runs = [(run, self._decoded(run)) for run in stretch.runs]
            run_outcomes = [outcome for _, found in runs for outcome in found]
            covered.append(self._covered(stretch, run_outcomes, _collect_edges(stretch, runs)))
            outcomes += (*run_outcomes, *self._late(stretch))
        outcomes += [outcome for run in taken.waiting for outcome in self._decoded(run)]
        recorded = self._registry.record(outcomes, covered)
        entered = [entry for entry in recorded.entries if isinstance(entry, CoveredRange)]
        skipped: Counter[str] = Counter()
        for range_entry in entered:
            skipped.update(dict(range_entry.skipped_counts))
        rejects = find_stray_rejects(outcomes, set(covered).difference(entered))
        waited = _count_waiting(recorded.entries)
        new = waited + sum(range_entry.records for range_entry in entered)
        self.summary += Summary(
            taken.read,
            taken.read - new,
            recorded.observations,
            sum(r.count for r in rejects),
            tuple(sorted(skipped.items())),
            rejects[:SHOWN_REJECTS],
            tuple(sorted({o.table for o in outcomes if isinstance(o, Observation)})),
            len(taken.waiting) - waited,
            recorded.notes,
            recorded.shifts,
            tuple(sorted({unread.source for unread in taken.unreadable if unread.is_end})),
        )

    def enter_all(
        self,
        chunks: Iterable[tuple[int, ChunkPart]],
        *,
        progress: Callable[[Summary], None] | None = None,
    ) -> Summary:
        """Records the chunks of the source, in order and in groups. Raises as `enter`.

        `progress` is called after each chunk, with the sum of what is recorded. An error that it or a chunk
        raises ends the reading after all chunks before are recorded.
        """
        group = ChunkGroup(self.reading)
        try:
            for _, taken in chunks:
                if not group.has_room(taken):
                    self._enter_group(group)
                group.add(taken)
                if group.is_full:
                    self._enter_group(group)
                if progress is not None:
                    progress(self.summary)
        finally:
            self._enter_group(group)
        return self.summary

    def _enter_group(self, group: ChunkGroup) -> None:
        """Records the chunks of a group, if it has any."""
        whole = group.take()
        if whole is not None:
            self.enter(whole)

    def _follow(self, taken: ChunkPart) -> None:
        """Requires that offsets increase from chunk to chunk."""
        for topic, partition, first, last in taken.extents:
            before = self._reached.get((topic, partition))
            if before is not None and first <= before:
                raise build_order_error(topic, partition, before, first)
            self._reached[topic, partition] = last

    def _gapped(self, stretch: Stretch) -> Stretch:
        """Merges the runs over gaps if the partition has too many gaps."""
        place = (stretch.topic, stretch.partition)
        self._gaps[place] += len(stretch.gaps)
        return stretch.merge_over_gaps(self.reading) if stretch.gaps and self._gaps[place] > GAPS else stretch

    def _late(self, stretch: Stretch) -> tuple[Note, ...]:
        """Builds a note if records fill a gap of a partition with too many gaps: a run may include it."""
        known = self.known.ranges.get((stretch.topic, stretch.partition), ())
        if len(known) <= GAPS + 1 or not known[0][0] < stretch.first < known[-1][1]:
            return ()
        message = (
            f"records were read into a partition with more than {GAPS} gaps: a change that was undone "
            "there may be missing, and versions may have wider intervals than after one reading into "
            "an empty store"
        )
        place = (self._stream, stretch.topic, stretch.partition, stretch.first)
        return (Note(*place, FILLED_LATE, message),)

    def _decoded(self, run: SchemaRun) -> tuple[Outcome, ...]:
        outcomes = self._decoder.decode(run)
        if not self._keep_payload:
            return outcomes
        return tuple(replace(o, payload=run.sample.value) if isinstance(o, Reject) else o for o in outcomes)

    def _covered(
        self, stretch: Stretch, outcomes: Iterable[Outcome], edges: tuple[tuple[int, str], ...]
    ) -> CoveredRange:
        skipped: Counter[str] = Counter()
        for outcome in outcomes:
            if isinstance(outcome, Skipped):
                skipped[outcome.kind] += outcome.count
        return CoveredRange(
            self._stream,
            stretch.topic,
            stretch.partition,
            stretch.first,
            stretch.last,
            stretch.first_hash,
            stretch.last_hash,
            tuple(sorted(skipped.items())),
            stretch.gaps,
            edges,
        )

    def _torn(self, unread: UnreadableItem) -> Reject:
        return Reject(self._stream, unread.source, NO_PARTITION, unread.line, 1, unread.reason, unread.sha256)


def _collect_edges(
    stretch: Stretch, runs: Iterable[tuple[SchemaRun, Sequence[Outcome]]]
) -> tuple[tuple[int, str], ...]:
    """Collects the hashes at edges of runs inside the stretch.

    Runs of skipped records, such as tombstones, have no other entry in the log, so they need no hash.
    """
    found: dict[int, str] = {}
    for run, outcomes in runs:
        if not all(isinstance(outcome, Skipped) for outcome in outcomes):
            found[run.first.offset] = hash_record(run.sample)
            found[run.last.offset] = run.last_hash
    outer = (stretch.first, stretch.last)
    return tuple(sorted((offset, hash) for offset, hash in found.items() if offset not in outer))


def _count_waiting(entries: Iterable[Entry]) -> int:
    """Counts the records that were recorded only as rejects: they are in no range, and are read again."""
    recorded = tuple(entries)
    covered = [entry for entry in recorded if isinstance(entry, CoveredRange)]
    outside = find_stray_rejects(
        (entry.reject for entry in recorded if isinstance(entry, RejectEntry)), covered
    )
    return sum(reject.partition != NO_PARTITION for reject in outside)
