"""Caches decoded observations of tables in a process: a log only grows, so they stay valid.

Law: the cache keeps nothing of an uncommitted transaction, and never more than `MAX_KEPT` observations.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemaman.debezium.observation import Observation
from schemaman.model.schema import TableId

MAX_KEPT = 20_000
"""The largest number of cached observations, of the most recently used tables; about a kilobyte each."""


@dataclass(frozen=True, slots=True)
class TableObservations:
    """All observations of a table in the log up to the entry `until`, in log order."""

    until: int = 0
    observations: tuple[Observation, ...] = ()

    def append_observations(self, fresh: Sequence[tuple[int, Observation]]) -> TableObservations:
        """Add the following observations of the log, each with its place in the log."""
        if not fresh:
            return self
        return TableObservations(
            fresh[-1][0], (*self.observations, *(observation for _, observation in fresh))
        )


class ObservationCache:
    """The observations of the most recently used tables; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observations: dict[TableId, TableObservations] = {}
        self._kept = 0

    def get(self, table: TableId) -> TableObservations:
        """The cached observations of a table, a prefix of all; empty if the table is not cached."""
        return self._observations.get(table, _NOTHING)

    def keep(self, observations: Mapping[TableId, TableObservations]) -> None:
        """Cache these observations, and drop those of the least recently used tables."""
        with self._lock:
            for table, one in observations.items():
                before = self._observations.pop(table, _NOTHING)
                self._observations[table] = one = max(before, one, key=lambda s: s.until)
                self._kept += len(one.observations) - len(before.observations)
            while self._kept > MAX_KEPT:
                self._kept -= len(self._observations.pop(next(iter(self._observations))).observations)

    def join(self, other: ObservationCache) -> None:
        """Know what another one knows."""
        self.keep(other._observations)


_NOTHING = TableObservations()
