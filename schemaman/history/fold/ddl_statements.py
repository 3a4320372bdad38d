"""What statements said of columns: with their own structure, or before the next one is seen.

Law: a statement that is told again, after a restart or by a second connector, makes no column a second time,
and exchanges no names a second time.
"""

from __future__ import annotations

from schemaman.evidence import Observation, Position
from schemaman.fold.images import Renames, composed, effective, exchanged, remade
from schemaman.schema import TableSchema


class Statements:
    """The statements of a table that no structure has shown yet; `read`: there was one."""

    def __init__(self) -> None:
        self.read = False
        self._renames: Renames = ()
        self._anew: frozenset[str] = frozenset()
        self._done: set[tuple[Position, str | None]] = set()
        self._exchanged: set[tuple[Position, str | None]] = set()

    def take(self, said: Observation) -> None:
        """A statement came without a structure."""
        self._anew = self._renamed(said) | self._once(said)
        self._renames, self.read = composed(self._renames, self._new(said)), True

    def renames(self, said: Observation, schema: TableSchema) -> Renames:
        """The renames behind a structure: its own statement's, else those of the ones before."""
        return self._new(said) or effective(self._renames, schema)

    def anew(self, said: Observation) -> frozenset[str]:
        """The columns, in lower case, that were dropped and added again before a structure; told once."""
        return self._renamed(said) | self._once(said)

    def makes(self, said: Observation) -> bool:
        """Whether any column was dropped and added again before a structure."""
        return bool(self._anew or remade(said))

    def begun(self, said: Observation) -> None:
        """A first structure shows what they did, and its own statement too."""
        self._once(said)
        self._new(said)
        self.forget()

    def forget(self) -> None:
        """The table they were about is gone."""
        self._renames, self._anew = (), frozenset()

    def shown(self) -> None:
        """A structure shows what they did."""
        self.forget()
        self.read = False

    def _new(self, said: Observation) -> Renames:
        """The renames of a statement, but for an exchange of names that was told before."""
        place = (said.first.position, said.ddl)
        if not exchanged(said.renames):
            return said.renames
        if place in self._exchanged:
            return ()
        # what no position tells apart may be another one
        self._exchanged |= {place} if said.first.position.kind != "none" else set()
        return said.renames

    def _renamed(self, said: Observation) -> frozenset[str]:
        names = {old.lower(): new.lower() for old, new in said.renames}
        return frozenset(names.get(name, name) for name in self._anew)

    def _once(self, said: Observation) -> frozenset[str]:
        names = remade(said)
        # without a position, a second shard's word cannot be told from a second statement
        place = (said.first.position, said.ddl)
        if not names or place in self._done:
            return frozenset()
        self._done.add(place)
        return names
