"""The fold with all connectors, loaded when it is needed: a reader of stored histories folds nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.observation import Observation
from schemaman.history.epochs import Verdicts
from schemaman.history.fold.checkpoint import FoldCheckpoint
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store.version_blocks import replace_newest

FIRST_CHECKPOINT = 100
"""The number of versions from which on a history has a checkpoint; shorter ones are folded as quickly."""

FIRST_JOINED = 128
"""The number of observations from which on their joined runs are a checkpoint, whatever they show."""

SPACING = 64
"""The number of new versions, or of new observations, after which a checkpoint is made anew."""


def fold(observations: Iterable[Observation], table: TableId, verdicts: Verdicts) -> TableHistory | None:
    """Fold the observations of a table by the connectors that there are; see `schemaman.history.fold`."""
    module = import_module("schemaman.history.fold.fold")
    folded: TableHistory | None = module.fold(observations, table, CONNECTORS.get, verdicts)
    return folded


def fold_with_checkpoint(
    observations: Sequence[Observation], table: TableId, verdicts: Verdicts
) -> tuple[TableHistory | None, FoldCheckpoint | None]:
    """Fold as `fold`, and find the checkpoint from which a long history can go on."""
    trace = import_module("schemaman.history.fold.fold").trace_fold(
        observations, table, CONNECTORS.get, verdicts
    )
    history: TableHistory | None = None if trace is None else trace.history
    if history is None or verdicts:
        return history, None
    checkpoint: FoldCheckpoint | None = None
    if len(history.versions) >= FIRST_CHECKPOINT:
        long = import_module("schemaman.history.fold.continuation")
        checkpoint = long.find_checkpoint(history, observations, trace, CONNECTORS.get)
    if checkpoint is None and len(observations) >= FIRST_JOINED:
        joined = import_module("schemaman.history.fold.joined_runs")
        checkpoint = joined.join_observations(history, observations, CONNECTORS.get)
    return history, checkpoint


def continue_history(
    checkpoint: FoldCheckpoint, before: TableHistory, fresh: Sequence[Observation]
) -> tuple[TableHistory, FoldCheckpoint] | None:
    """Go on with a history by the observations since the checkpoint; None if they need the fold of all.

    The second value is the checkpoint from which to go on next; it is the same one for few observations.
    """
    module = import_module("schemaman.history.fold.continuation")
    base = checkpoint if checkpoint.settled else None
    if base is None:
        joined = import_module("schemaman.history.fold.joined_runs")
        found = joined.continue_joined(checkpoint, before, fresh, CONNECTORS.get)
    else:
        found = module.continue_fold(checkpoint, before, fresh, CONNECTORS.get)
    if found is None:
        return None
    history = replace(found.head, versions=replace_newest(before.versions, found.settled, found.versions))
    is_due = len(history.versions) - checkpoint.settled > SPACING + module.OVERLAP
    if base is None:
        is_due = len(history.versions) >= FIRST_CHECKPOINT and len(fresh) > SPACING
    if is_due:
        later = module.find_checkpoint(history, found.observations, found.trace, CONNECTORS.get, base)
        if later is not None:
            return history, later
    if len(fresh) > SPACING:
        return history, module.refresh_checkpoint(checkpoint, found)
    return history, checkpoint
