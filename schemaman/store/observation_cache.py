"""What was said about tables, decoded once in a process: a log only grows, so what was read of it stays true.

Law: nothing is kept of a transaction that has not ended well, and never more than `MAX_KEPT` observations.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from schemaman.debezium.observation import Observation
from schemaman.model.schema import TableId

MAX_KEPT = 20_000
"""Observations, of whichever tables were spoken of last: about a kilobyte each."""


@dataclass(frozen=True, slots=True)
class TableObservations:
    """All observations that speak of a table in the log up to the entry `until`, in its order."""

    until: int = 0
    observations: tuple[Observation, ...] = ()

    def append_observations(self, fresh: Sequence[tuple[int, Observation]]) -> TableObservations:
        """With what stands behind it in the log, each with its place there."""
        if not fresh:
            return self
        return TableObservations(
            fresh[-1][0], (*self.observations, *(observation for _, observation in fresh))
        )


class ObservationCache:
    """What is known of the tables that were spoken of last; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._observations: dict[TableId, TableObservations] = {}
        self._kept = 0

    def get(self, table: TableId) -> TableObservations:
        """What was said about a table at least; nothing if it is not known."""
        return self._observations.get(table, _NOTHING)

    def keep(self, observations: Mapping[TableId, TableObservations]) -> None:
        """Know these, and forget those that were spoken of long ago."""
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
