"""The tables of a source as they were before one of them lost its name: their rows of then come first.

Law: the rows of a batch go where they would go if the batch ended before each name that is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import TableEvent, TableHistory
from schemaman.model.schema import TableId
from schemaman.registry import RegistryStore
from schemaman.sink.row_mapping import RowMap

Versions = Mapping[TableId, frozenset[int]]
"""The numbers of versions of each table."""


@dataclass(frozen=True, slots=True)
class EndedRows:
    """The rows that come before an event which ended `table`: their versions, in the order of their ends."""

    table: TableId
    end: TableEvent
    versions: Versions

    def cut_history(self, history: TableHistory) -> TableHistory | None:
        """The history of a table up to before the event; None if the table was not there yet.

        Tables of another server are not cut: their positions are not ordered with those of this one.
        """
        one, other = self.table, history.table
        if (one.server, one.stream) != (other.server, other.stream):
            return history
        is_own = one == other
        versions = tuple(
            v
            for v in history.versions
            if (v.incarnation <= self.end.incarnation if is_own else self._is_before(v.at))
        )
        if not versions:
            return None
        aliases = tuple(a for a in history.aliases if a.kind != "table" or self._is_before(a.until))
        events = tuple(e for e in history.events if self._is_before(e.at))
        return replace(history, versions=versions, aliases=aliases, events=events)

    def _is_before(self, coordinates: Coordinates | None) -> bool:
        if coordinates is None or coordinates.position.kind != self.end.at.position.kind:
            return True
        return coordinates.position.rank < self.end.at.position.rank


def find_end(history: TableHistory, incarnation: int) -> TableEvent | None:
    """Find the event that ended an incarnation of a table; None if it goes on, or if no position shows it."""
    found = [e for e in history.events if e.kind in ("dropped", "renamed") and e.incarnation == incarnation]
    return found[-1] if found and found[-1].at.position.kind != "none" else None


def list_previous_names(history: TableHistory) -> tuple[str, ...]:
    """List the names that the newest incarnation of a table had before.

    Where it has ended, a table that got its name at that end or later is another one, of which no record came
    yet: so two tables exchange their names in one statement.
    """
    end = find_end(history, history.latest.incarnation)
    aliases = (a for a in history.aliases if a.kind == "table")
    return tuple(a.name for a in aliases if end is None or a.until is None or is_older(a.until, end.at))


def is_older(one: Coordinates, other: Coordinates) -> bool:
    """Whether coordinates are surely or perhaps from before others; those of one record are not."""
    if one.position.kind != other.position.kind:
        return True
    if one.position.rank == other.position.rank and one.topic == other.topic:
        return one.offset < other.offset
    return one.position.rank < other.position.rank


def order_by_end(histories: Iterable[TableHistory]) -> tuple[TableId, ...]:
    """The tables of some histories in the order in which they take rows: one that ended comes first.

    So the table of a previous name has its rows before it gets the next one. Tables that had one name all the
    time come before all others.
    """

    def rank(history: TableHistory) -> tuple[object, ...]:
        end = find_end(history, history.latest.incarnation)
        position = None if end is None else end.at.position
        mine = ("~",) if position is None else (position.kind, *position.rank)
        return any(a.kind == "table" for a in history.aliases), mine, history.table

    return tuple(history.table for history in sorted(histories, key=rank))


def list_ended_rows(
    histories: Mapping[TableId, TableHistory],
    versions: Versions,
    is_due: Callable[[TableHistory, TableEvent], bool],
) -> tuple[EndedRows, ...]:
    """List the rows to write before the others, in the order of the events that ended their tables.

    `versions` are those of the rows of a batch. `is_due`: the lake table of an incarnation may take its rows
    before it gives up its name. There are such rows only where a name was used again.
    """
    ends = [
        (end, table, number)
        for table, numbers in versions.items()
        for number, end in _find_ends(histories[table], numbers)
    ]
    reused = [(e, t) for e, t, _ in ends if e.incarnation != histories[t].latest.incarnation]
    if not reused:
        return ()
    due = [(end, table, number) for end, table, number in ends if is_due(histories[table], end)]
    found, written = [], set()
    for end, table in sorted(dict.fromkeys(reused), key=lambda pair: pair[0].at.position.rank):
        mine = [
            (e, t, number)
            for e, t, number in sorted(due, key=lambda each: (each[0].at.position.rank, each[2]))
            if (t, number) not in written and _is_up_to(e, end, (t.server, t.stream), table)
        ]
        written |= {(t, number) for _, t, number in mine}
        chosen: dict[TableId, frozenset[int]] = {}
        for _, t, number in mine:
            chosen[t] = chosen.get(t, frozenset()) | {number}
        found += [EndedRows(table, end, chosen)] if chosen else []
    return tuple(found)


def list_late_versions(
    history: TableHistory, numbers: frozenset[int]
) -> tuple[tuple[TableEvent, frozenset[int]], ...]:
    """List the versions, of these, of incarnations that ended, by the event that ended them."""
    found: dict[TableEvent, frozenset[int]] = {}
    for number, end in _find_ends(history, numbers):
        found[end] = found.get(end, frozenset()) | {number}
    return tuple(found.items())


def holds_versions(
    to: RowMap, history: TableHistory, numbers: frozenset[int], *, ignores_additions: bool = False
) -> bool:
    """Whether a lake table has a column for each column of some versions, and the same key.

    `ignores_additions`: the policy leaves out the values of columns that it lacks.
    """
    for version in (v for v in history.versions if v.number in numbers):
        names = {c.name: to.names.get(c.id or 0, "") for c in version.schema.columns}
        if not (ignores_additions or all(names.values())) or {
            names[name] for name in version.schema.key
        } != set(to.key):
            return False
    return True


def _find_ends(history: TableHistory, numbers: frozenset[int]) -> Iterator[tuple[int, TableEvent]]:
    for version in history.versions:
        end = find_end(history, version.incarnation) if version.number in numbers else None
        if end is not None:
            yield version.number, end


def _is_up_to(end: TableEvent, last: TableEvent, source: tuple[str, str], table: TableId) -> bool:
    one, other = end.at.position, last.at.position
    is_same = source == (table.server, table.stream) and one.kind == other.kind
    return is_same and one.rank <= other.rank


class EarlierStore:
    """A store whose histories end before an event; everything else is that of the store."""

    def __init__(self, store: RegistryStore, before: EndedRows) -> None:
        self._store = store
        self._before = before

    def history(self, table: TableId) -> TableHistory | None:
        """The history of a table up to before the event; None if there is none."""
        found = self._store.history(table)
        return None if found is None else self._before.cut_history(found)

    def tables(self) -> tuple[TableId, ...]:
        """The tables that were there before the event."""
        return tuple(table for table in self._store.tables() if self.history(table) is not None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def open_earlier_store(store: RegistryStore, before: EndedRows) -> RegistryStore:
    """The store as it was before an event."""
    return cast(RegistryStore, EarlierStore(store, before))
