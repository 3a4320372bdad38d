"""The answer to `impact`: who depends on a table or a column, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemaman.compat.consumers import Consumer
from schemaman.compat.impact.graph import ConsumerUse, Coverage, Unread
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import Path, TableId


@dataclass(frozen=True, slots=True)
class Impact(DisplayedValue):
    """Who depends on a column, or on a table if `path` is empty.

    `uses` are statements, nearest first. `declared` are consumers whose patterns select the column. `unread`
    are texts that could not be read and may concern it; `elsewhere` counts those that do not name it.
    `consumers` counts all that the settings declare.
    """

    table: TableId
    path: Path = ()
    uses: tuple[ConsumerUse, ...] = ()
    declared: tuple[Consumer, ...] = ()
    unread: tuple[Unread, ...] = ()
    elsewhere: int = 0
    consumers: int = 0
    coverage: Coverage = field(default_factory=Coverage)

    def __repr__(self) -> str:
        name = ".".join((str(self.table), *self.path))
        unread = f", {len(self.unread)} not read" if self.unread else ""
        return f"<Impact of {name}: {count_noun(len(self.uses), 'statement')}{unread}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the consumers that depend on it, in alphabetical order."""
        return tuple(sorted({*(use.consumer for use in self.uses), *(c.name for c in self.declared)}))
