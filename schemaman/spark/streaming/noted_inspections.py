"""An executor that notes what it has inspected, so that planning reads a lake table once.

Law: an inspection is used again only until a statement is run, and a run checks how old it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from schemaman.migration.apply.journal import Journal, target_id
from schemaman.migration.apply.run import Inspection
from schemaman.migration.target import Executor, LakeTable


@dataclass(slots=True)
class NotedInspections:
    """Calls an engine, and notes its inspections while one table is planned."""

    engine: Executor
    journal: Journal
    clock: Callable[[], int]
    _found: dict[tuple[str, str], Inspection] = field(default_factory=dict)

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """Read the lake table, or return it as it was read before. Raises as the engine does."""
        noted = self._found.get((format, table))
        if noted is None:
            at_ms = self.clock()
            lines = len(self.journal.read_target_lines(target_id(format, table)))
            noted = Inspection(self.engine.inspect(table, format), at_ms, lines)
            self._found[format, table] = noted
        return noted.lake

    def forget(self) -> None:
        """Forget all inspections: others may have changed the tables meanwhile."""
        self._found.clear()

    def run(self, statement: str) -> None:
        """Run a statement. Raises as the engine does."""
        self._found.clear()
        self.engine.run(statement)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Return the rows of a query. Raises as the engine does."""
        return self.engine.query(statement)

    def take_inspection(self, table: str, format: str) -> Inspection | None:
        """Return the inspection of a table that a run begins with; none is used again afterwards."""
        noted = self._found.get((format, table))
        self._found.clear()
        return noted
