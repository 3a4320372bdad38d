"""Goes on with a fold from a settled version, so that new records cost what they bring.

Law: a history that went on from checkpoints equals the fold of all observations. Where records could change
what is settled, or where the newest part alone folds otherwise, there is no checkpoint and no going on.

The first of the kept versions are folded again only to find out what the following ones have to know; they
must come out as they are in the history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import ALTERNATIONS, KEY_UNKNOWN, Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.epochs import ConnectorSettingsShown, FormInterval
from schemaman.history.fold.ambiguity import MAX_OLDER_VERSIONS
from schemaman.history.fold.checkpoint import FoldCheckpoint, PartitionEnd
from schemaman.history.fold.confirmation import find_read_time
from schemaman.history.fold.disagreements import CONNECTORS_AT_ONCE
from schemaman.history.fold.fold import FoldTrace, trace_fold
from schemaman.history.fold.naming_epochs import list_originals
from schemaman.history.fold.timeline import merge_runs
from schemaman.history.fold.version_builder import count_undivided
from schemaman.history.fold.writers import PERHAPS_TWO_WRITERS, WRITERS_DIFFER
from schemaman.history.versions import Disagreement, KeySpan, SchemaVersion, TableHistory
from schemaman.model.schema import TableSchema, fingerprint

OVERLAP = MAX_OLDER_VERSIONS + 4
"""The number of settled versions whose observations a checkpoint keeps: no version looks further back."""

_UNSURE = 2
"""The first versions of a fold that begins in the middle may differ: nothing shows what was before them."""

_TRIES = 16
"""The number of places that are tried: records of several partitions may overlap at one of them."""

_WRITER_KINDS = frozenset({PERHAPS_TWO_WRITERS, WRITERS_DIFFER, CONNECTORS_AT_ONCE})
"""Disagreements that depend on records of any age."""

FindConnector = Callable[[str], Connector]


@dataclass(frozen=True, slots=True)
class Continuation:
    """The versions after the settled ones; `head` is the history with everything but versions.

    `observations` are the kept ones and those that came.
    """

    head: TableHistory
    settled: int
    versions: tuple[SchemaVersion, ...]
    observations: tuple[Observation, ...]
    trace: FoldTrace


def continue_fold(
    checkpoint: FoldCheckpoint,
    before: TableHistory,
    fresh: Sequence[Observation],
    find_connector: FindConnector,
) -> Continuation | None:
    """Go on with a history by observations that came since; None if they need the fold of all.

    `before` is the history without them, by the log up to the checkpoint or later.
    """
    if not all(_is_later(checkpoint, before, one) for one in fresh):
        return None
    settled = (o for o in checkpoint.observations if o.first.position.rank <= checkpoint.position.rank)
    if {o.schema for o in settled} & {o.schema for o in fresh}:
        return None  # a run of a settled version may go on
    collapsed = {(end.topic, end.partition) for end in checkpoint.partitions if end.is_collapsed}
    marked = (replace(o, interrupted=True) if _find_partition(o) in collapsed else o for o in fresh)
    observations = merge_runs([*checkpoint.observations, *marked])
    counts = Counter(map(_find_partition, observations))
    counts.update({(end.topic, end.partition): end.runs for end in checkpoint.partitions})
    if any(count > ALTERNATIONS for place, count in counts.items() if place not in collapsed):
        return None
    trace = trace_fold(observations, before.table, find_connector, clock_ahead=checkpoint.clock_ahead)
    return None if trace is None else _join_history(checkpoint, before, observations, trace)


def find_checkpoint(
    history: TableHistory,
    observations: Iterable[Observation],
    trace: FoldTrace,
    find_connector: FindConnector,
    base: FoldCheckpoint | None = None,
    tail: int = OVERLAP,
) -> FoldCheckpoint | None:
    """Find the newest checkpoint that leaves at least `tail` versions open; None if there is none.

    `trace` is the fold of the observations: of all without a `base`, else of those that it keeps and later
    ones. `history` is the whole history in both cases.
    """
    known = merge_runs(observations)
    if not _is_plain_history(history, known, base):
        return None
    lowest = 1 if base is None else base.first
    newest = len(history.versions) - tail - OVERLAP + 1
    for first in range(newest, max(newest - _TRIES, lowest), -1):
        checkpoint = _make_checkpoint(history, known, trace, base, first)
        if checkpoint is None:
            continue
        kept = trace_fold(
            checkpoint.observations, history.table, find_connector, clock_ahead=checkpoint.clock_ahead
        )
        if kept is None:
            continue
        checkpoint = replace(checkpoint, key_spans=len(history.keys) - len(kept.history.keys))
        found = _join_history(checkpoint, history, checkpoint.observations, kept)
        if found is not None and _is_same(found, history):
            return checkpoint
    return None


def refresh_checkpoint(checkpoint: FoldCheckpoint, found: Continuation) -> FoldCheckpoint:
    """Keep what came since in a checkpoint, whose settled versions stay the same."""
    partitions = _find_ends(found.observations, (), checkpoint)
    return replace(checkpoint, observations=found.observations, partitions=partitions)


def _make_checkpoint(
    history: TableHistory,
    known: Sequence[Observation],
    trace: FoldTrace,
    base: FoldCheckpoint | None,
    first: int,
) -> FoldCheckpoint | None:
    """Make the checkpoint whose kept versions begin with one; None if a run begins before and ends in it."""
    start, end = history.versions[first - 1].at.position, history.versions[first + OVERLAP - 1].at.position
    streamed = [o for o in known if not o.snapshot]
    kinds = {mark.position.kind for o in streamed for mark in (o.first, o.last)}
    if kinds != {start.kind} or end.kind != start.kind or start.kind == "none":
        return None
    kept = tuple(o for o in streamed if o.first.position.rank >= start.rank)
    earlier = tuple(o for o in known if o.snapshot or o.first.position.rank < start.rank)
    before = [o for o in earlier if not o.snapshot]
    if any(o.last.position.rank >= start.rank for o in before) or _is_interleaved(before, kept):
        return None
    shapes = {fingerprint(o.schema) for o in earlier if o.schema is not None}
    shapes |= base.shapes if base is not None else set()
    if shapes & {fingerprint(o.schema) for o in kept if o.schema is not None}:
        return None
    if base is None and trace.clock_leads[first + OVERLAP - 2] != trace.clock_ahead:
        return None  # a record may no longer be the edge of its run, once the run goes on
    settled = [o for o in known if o.snapshot or o.first.position.rank <= end.rank]
    times = [time for o in settled for mark in (o.first, o.last) for time in _list_times(mark)]
    ids = trace.next_ids[first - (1 if base is None else base.first)]
    shared = sum(count_undivided(o) for o in trace.shared_runs if _is_before(o, start))
    return FoldCheckpoint(
        first=first,
        settled=first + OVERLAP - 1,
        observations=kept,
        next_id=ids if base is None else _translate_id(base, trace, ids),
        position=end,
        latest_ms=max([*times, 0 if base is None else base.latest_ms]),
        clock_ahead=trace.clock_ahead,
        shared_records=shared + (0 if base is None else base.shared_records),
        key_spans=0,
        shapes=frozenset(shapes),
        partitions=_find_ends(known, earlier, base),
    )


def _is_interleaved(before: Iterable[Observation], kept: Iterable[Observation]) -> bool:
    """Whether a record before the kept ones was delivered among them: the next may be taken for repeated."""
    last: dict[tuple[str, int], int] = {}
    for one in before:
        place = _find_partition(one)
        last[place] = max(last.get(place, -1), one.last.offset)
    return any(one.first.offset <= last.get(_find_partition(one), -1) for one in kept)


def _find_ends(
    known: Sequence[Observation], earlier: Sequence[Observation], base: FoldCheckpoint | None
) -> tuple[PartitionEnd, ...]:
    """Find the ends of all partitions; `earlier` are the observations that are not kept."""
    ends = {(end.topic, end.partition): end for end in (base.partitions if base is not None else ())}
    before = Counter(map(_find_partition, earlier))
    for one in known:
        topic, partition = place = _find_partition(one)
        end = ends.get(place, PartitionEnd(topic, partition, -1, 0, False))
        offset, is_collapsed = max(end.offset, one.last.offset), end.is_collapsed or one.interrupted
        ends[place] = PartitionEnd(topic, partition, offset, end.runs, is_collapsed)
    return tuple(replace(end, runs=end.runs + before[place]) for place, end in sorted(ends.items()))


def _is_plain_history(
    history: TableHistory, known: Sequence[Observation], base: FoldCheckpoint | None
) -> bool:
    """Whether each version depends on its neighbours alone: rows with schemas, of one incarnation."""
    versions = history.versions if base is None else history.versions[base.first - 1 :]
    return (
        not (history.events or history.settings_shown.changes)
        and history.identity == "source"
        and not any(d.kind in _WRITER_KINDS for d in history.disagreements)
        and all(map(_is_plain, known))
        and len({o.unstated_attributes for o in known}) == 1
        and all(not v.event_schemas and v.incarnation == 1 for v in versions)
        and all(_has_own_names(r.schema) for v in versions for r in v.revisions)
    )


def _is_plain(observation: Observation) -> bool:
    """Whether it is an event with a schema, from the source itself, of a table with one writer."""
    o = observation
    return (
        o.evidence == "emitted"
        and o.action == "image"
        and o.schema is not None
        and _has_own_names(o.schema)
        and not (o.previous or o.ddl or o.renames or o.weak or o.writer)
        and not (o.stated_attributes or o.inferred)
        and o.unstated_attributes in ((), KEY_UNKNOWN)
    )


def _is_later(checkpoint: FoldCheckpoint, before: TableHistory, observation: Observation) -> bool:
    """Whether an observation is later than all that is settled, and shows nothing that decides about it."""
    o, c = observation, checkpoint
    release = (before.epochs[-1].connector, before.epochs[-1].connector_version)
    end = next((e for e in c.partitions if (e.topic, e.partition) == _find_partition(o)), None)
    return (
        _is_plain(o)
        and o.schema is not None
        and not o.snapshot
        and o.table == before.table
        and (o.connector, o.connector_version) == release
        and (end is None or o.first.offset > end.offset)
        and (not o.interrupted or (end is not None and end.is_collapsed))
        and all(_is_mark_later(c, mark) for mark in (o.first, o.last))
        and fingerprint(o.schema) not in c.shapes
        and set(o.schema.key) <= set(before.latest.schema.key)
        and o.unstated_attributes == c.observations[0].unstated_attributes
        and any(o.first.topic == kept.first.topic for kept in c.observations)
        and any(o.schema_name == kept.schema_name for kept in c.observations)
    )


def _is_mark_later(checkpoint: FoldCheckpoint, mark: Coordinates) -> bool:
    ahead, position = checkpoint.clock_ahead, mark.position
    if position.kind != checkpoint.position.kind or position.rank <= checkpoint.position.rank:
        return False
    if mark.ts_ms is None or mark.read_ms is None or mark.ts_ms - mark.read_ms > ahead:
        return False
    return min(_list_times(mark)) - ahead > checkpoint.latest_ms


def _join_history(
    checkpoint: FoldCheckpoint,
    before: TableHistory,
    observations: tuple[Observation, ...],
    trace: FoldTrace,
) -> Continuation | None:
    """Put the fold of the newest part behind the settled versions; None if it does not fit."""
    c, part = checkpoint, trace.history
    if not (_is_plain_history(part, observations, None) and _has_one_epoch(part, before)):
        return None
    start, own = (h.revisions[0].schema for h in (before.versions[c.first - 1], part.versions[0]))
    if start.names != own.names or trace.clock_ahead != c.clock_ahead:
        return None
    ids = {old.id: new.id for old, new in zip(own.columns, start.columns, strict=True)}
    ids |= {id: _translate_id(c, trace, id) for id in range(trace.next_ids[0], trace.next_ids[-1])}
    versions = tuple(_move_version(version, c.first - 1, ids) for version in part.versions)
    count = c.settled - c.first + 1
    if versions[_UNSURE:count] != tuple(before.versions[c.first + _UNSURE - 1 : c.settled]):
        return None
    moved = tuple(_move_disagreement(one, c.first - 1) for one in part.disagreements)
    sure = range(c.first + _UNSURE, c.settled + 1)
    if _select_disagreements(moved, sure) != _select_disagreements(before.disagreements, sure):
        return None
    keys = _join_keys(before.keys[c.key_spans :], part.keys)
    if not keys:
        return None
    later = (d for d in moved if d.versions[0] > c.settled)
    earlier = (d for d in before.disagreements if d.versions[0] <= c.settled)
    head = replace(
        before,
        connector=part.connector,
        versions=(),
        disagreements=tuple(sorted([*earlier, *later], key=lambda d: (d.versions, d.kind, d.message))),
        settings_shown=_join_settings(before.settings_shown, part.settings_shown, observations),
        keys=(*before.keys[: c.key_spans], *keys),
        shared_records=c.shared_records + part.shared_records,
    )
    return Continuation(head, c.settled, versions[count:], observations, trace)


def _has_one_epoch(part: TableHistory, before: TableHistory) -> bool:
    """Whether the newest part goes on with the last epoch of the history."""
    if len(part.epochs) != 1 or part.epochs[0].changes:
        return False
    own, last = part.epochs[0], before.epochs[-1]
    return (own.connector, own.connector_version) == (last.connector, last.connector_version)


def _join_keys(known: tuple[KeySpan, ...], part: tuple[KeySpan, ...]) -> tuple[KeySpan, ...]:
    """Go on with the key of which the kept versions are only the end; empty if that is not certain."""
    first = known[0] if known else None
    if first is None or not part or (part[0].is_confirmed and not first.is_confirmed):
        return ()
    if (first.columns, first.evidence) != (part[0].columns, part[0].evidence):
        return ()
    return (replace(first, until=part[0].until), *part[1:])


def _join_settings(
    known: ConnectorSettingsShown, part: ConnectorSettingsShown, observations: Iterable[Observation]
) -> ConnectorSettingsShown:
    """Go on with the intervals of forms that began before the kept observations."""
    times = (find_read_time(mark) for o in observations for mark in (o.first, o.last))
    start = min((time for time in times if time is not None), default=0)
    result = [one for one in known.form_intervals if one.last_ms < start]
    began: set[str] = set()
    for one in sorted(part.form_intervals, key=lambda s: s.first_ms):
        around = [s for s in known.form_intervals if s.form == one.form and s.first_ms < one.first_ms]
        around = [s for s in around if s.last_ms >= one.first_ms and s.form not in began]
        began.add(one.form)
        result.append(FormInterval(one.form, around[-1].first_ms, one.last_ms) if around else one)
    return ConnectorSettingsShown((), tuple(sorted(result, key=lambda s: (s.first_ms, s.form, s.last_ms))))


def _translate_id(checkpoint: FoldCheckpoint, trace: FoldTrace, id: int) -> int:
    """Translate the id of a column that came after the first kept version."""
    return checkpoint.next_id + id - trace.next_ids[0]


def _move_version(version: SchemaVersion, earlier: int, ids: dict[int | None, int | None]) -> SchemaVersion:
    """Give a version its number and its column ids in the whole history."""
    revisions = tuple(
        replace(
            revision,
            schema=replace(
                revision.schema,
                columns=tuple(
                    c.with_identity(ids.get(c.id) or 0, c.emitted_name) for c in revision.schema.columns
                ),
            ),
        )
        for revision in version.revisions
    )
    return replace(version, number=version.number + earlier, revisions=revisions)


def _move_disagreement(one: Disagreement, earlier: int) -> Disagreement:
    return replace(one, versions=tuple(number + earlier for number in one.versions))


def _select_disagreements(found: Iterable[Disagreement], numbers: range) -> tuple[Disagreement, ...]:
    return tuple(one for one in found if one.versions[0] in numbers)


def _is_same(found: Continuation, history: TableHistory) -> bool:
    """Whether going on with nothing new gives the history itself."""
    newest = tuple(history.versions[found.settled :])
    return found.versions == newest and found.head == replace(history, versions=())


def _is_before(run: Observation, start: Position) -> bool:
    return run.snapshot or run.first.position.rank < start.rank


def _find_partition(observation: Observation) -> tuple[str, int]:
    return (observation.first.topic, observation.first.partition)


def _list_times(mark: Coordinates) -> Iterator[int]:
    return (time for time in (mark.ts_ms, mark.read_ms, mark.timestamp_ms) if time is not None)


def _has_own_names(schema: TableSchema) -> bool:
    """Whether each column is in the row under its own name, and no setting can have made that name."""
    return all(c.emitted_name == c.name and _is_original(c.name) for c in schema.columns)


@lru_cache(1 << 14)
def _is_original(name: str) -> bool:
    return all(original == name for original in list_originals(name))
