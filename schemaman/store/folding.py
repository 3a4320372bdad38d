"""The fold with all connectors, loaded when it is needed: a reader of stored histories folds nothing."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.observation import Observation
from schemaman.history.epochs import Verdicts
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId


def fold(observations: Iterable[Observation], table: TableId, verdicts: Verdicts) -> TableHistory | None:
    """Fold the observations of a table by the connectors that there are; see `schemaman.history.fold`."""
    module = import_module("schemaman.history.fold.fold")
    folded: TableHistory | None = module.fold(observations, table, CONNECTORS.get, verdicts)
    return folded
