"""How far a partition has been read, which places what tells no place of its own.

Law: a read beside the stream stands behind all that its own partition had streamed before it, and before all
that it streams later; what the stream tells of its place is never changed by what was read before, but for
one case: the first transaction behind a snapshot, whose commit no release tells, and which the snapshot did
not see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemaman.evidence import Mark
from schemaman.rows.order import BESIDE, NOWHERE, SNAPSHOT, STREAM, at, beside_the_stream, place, place_in
from schemaman.schema import TableId

Horizons = Mapping[tuple[TableId, str, int], str]
"""For a table, a topic and a partition the greatest order that was read there."""


class Horizon:
    """The greatest order of each table in each partition, and the orders that depend on it."""

    def __init__(self, reached: Horizons) -> None:
        self.reached = dict(reached)

    def order(self, table: TableId, mark: Mark, source: Mapping[str, Any], *, read: bool) -> str:
        """The order of a change at a mark; `read`: from the table, not from the log."""
        here = (table, mark.topic, mark.partition)
        before = self.reached.get(here, "")
        own, step = self._own(mark, source, read, before)
        found = at(own, step, mark.partition, mark.offset)
        if found > before:
            self.reached[here] = found
        return found

    def knows(self, table: TableId, mark: Mark) -> bool:
        """Whether anything was read of a table in a partition."""
        return (table, mark.topic, mark.partition) in self.reached

    def _own(self, mark: Mark, source: Mapping[str, Any], read: bool, before: str) -> tuple[str, int]:
        position = mark.position
        last, last_step = place_in(before) if before else (NOWHERE, SNAPSHOT)
        if read and (position.kind == "none" or source.get("snapshot") == "incremental"):
            told = beside_the_stream(source)
            return max(NOWHERE if told is None else place(told), last), BESIDE
        if position.kind == "none":
            # a delete of which only the key is left stands where its partition stood
            return last, BESIDE
        own = place(position)
        if not read and position.kind == "lsn" and position.commit is None and last_step == SNAPSHOT:
            return max(own, last), STREAM
        return own, SNAPSHOT if read else STREAM
