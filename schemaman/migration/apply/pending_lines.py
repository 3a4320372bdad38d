"""The lines of a run on their way into the journal: several lines are one transaction of the store.

Law: before the engine is called, the journal has every line of the run so far. A crash in between loses only
lines of a step whose result the table itself shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from schemaman.migration.apply.journal import Journal
from schemaman.migration.target import Executor, LakeTable
from schemaman.store.log import MigrationEntry


@dataclass(slots=True)
class PendingLines:
    """The lines of one run that the journal does not have yet.

    `note_begin` is called with the number of the run once the journal has its first line.
    """

    journal: Journal
    note_begin: Callable[[int], None]
    _lines: list[MigrationEntry] = field(default_factory=list)
    _has_begun: bool = False

    def add(self, line: MigrationEntry) -> None:
        """Add a line, which the next `write` brings into the journal."""
        self._lines.append(line)

    def write(self) -> None:
        """Write all lines in one transaction. Raises `Locked` if another run has begun since."""
        if not self._lines:
            return
        if self._has_begun:
            self.journal.write(*self._lines)
        else:
            number = self.journal.begin(*self._lines)
            self._has_begun = True
            self.note_begin(number)
        self._lines.clear()


@dataclass(frozen=True, slots=True)
class JournalledExecutor:
    """Calls an engine once the journal has the lines of the run. Raises as the engine and the journal do."""

    engine: Executor
    lines: PendingLines

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """Read the lake table; None if it does not exist."""
        self.lines.write()
        return self.engine.inspect(table, format)

    def run(self, statement: str) -> None:
        """Run a statement."""
        self.lines.write()
        self.engine.run(statement)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Return the rows of a query."""
        self.lines.write()
        return self.engine.query(statement)
