"""Goes on with a fold from joined runs: a table with few versions, whose records came in many chunks.

Law: the joined runs of a table and later records give the history that all its observations give. Nothing
is settled here. So this holds for statements, repeated deliveries, and records of any age.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.debezium.observation import ALTERNATIONS, Observation
from schemaman.debezium.records import Position
from schemaman.history.fold.checkpoint import FoldCheckpoint
from schemaman.history.fold.continuation import Continuation, FindConnector, refresh_checkpoint
from schemaman.history.fold.fold import FoldTrace, trace_fold
from schemaman.history.fold.timeline import merge_runs
from schemaman.history.fold.version_builder import fingerprint_names
from schemaman.history.versions import TableHistory

_FEWER = 2
"""The joined runs are kept if they are fewer than the observations by this factor."""

_NOTHING_KEPT = FoldCheckpoint(1, 0, (), 1, Position("none", ""), 0, 0, 0, 0, frozenset(), ())


def join_observations(
    history: TableHistory, observations: Sequence[Observation], find_connector: FindConnector
) -> FoldCheckpoint | None:
    """Join all observations of a table; None if that makes them no fewer, or might make another history."""
    joined = merge_runs(observations)
    if _FEWER * len(joined) > len(observations) or not _are_joinable(joined):
        return None
    trace = trace_fold(joined, history.table, find_connector)
    if trace is None or trace.history != history:
        return None
    return refresh_checkpoint(_NOTHING_KEPT, _make_continuation(joined, trace))


def continue_joined(
    checkpoint: FoldCheckpoint,
    before: TableHistory,
    fresh: Sequence[Observation],
    find_connector: FindConnector,
) -> Continuation | None:
    """Go on with joined runs; None if a record is before the end of its partition."""
    ends = {(end.topic, end.partition): end.offset for end in checkpoint.partitions}
    if any(o.first.offset <= ends.get((o.first.topic, o.first.partition), -1) for o in fresh):
        return None
    joined = merge_runs([*checkpoint.observations, *fresh])
    if not _are_joinable(joined):
        return None
    trace = trace_fold(joined, before.table, find_connector)
    return None if trace is None else _make_continuation(joined, trace)


def _are_joinable(joined: Sequence[Observation]) -> bool:
    """Whether the fold joins all of them together, too: it does so by kind of evidence."""
    inferred = [o for o in joined if o.evidence == "inferred"]
    if len({o.connector for o in joined}) > 1 or len(inferred) not in (0, len(joined)):
        return False
    shapes = {fingerprint_names(o.schema) for o in inferred if o.schema is not None}
    return len(shapes) <= ALTERNATIONS and all(o.schema is not None and o.action == "image" for o in inferred)


def _make_continuation(joined: tuple[Observation, ...], trace: FoldTrace) -> Continuation:
    return Continuation(trace.history, 0, tuple(trace.history.versions), joined, trace)
