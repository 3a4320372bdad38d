"""The graph from the columns of tables to the statements that read them, through views and models.

The functions over the graph are our own: networkx would be a dependency for two breadth-first searches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from schemaman.compat.impact.column_roles import ROLES, ROW_ROLES, Role, StatementReads
from schemaman.model.schema import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement is: the consumer, the file, its line from 1, and its name if it has one."""

    consumer: str
    file: str
    line: int = 1
    name: str = ""
    owner: str = ""
    contact: str = ""


@dataclass(frozen=True, slots=True)
class ConsumerUse:
    """A statement that depends on a column.

    `hops` is 1 for a statement that names the table, and one more for each view between them; `through` are
    the names of these views, the one next to the table first. `roles` say what is done with the column.
    """

    consumer: str
    file: str
    line: int
    name: str
    owner: str
    contact: str
    hops: int
    through: tuple[str, ...]
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """What could not be read: a whole text, or a name in it. `relations` are tables that it may read.

    `column` is the name that was not resolved, empty if it may be any. `is_whole`: nothing of the text was
    understood.
    """

    place: Place
    reason: str
    relations: frozenset[str] = frozenset()
    column: str = ""
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class Coverage:
    """Statements that were read and those that were not, and references to columns likewise."""

    statements: int = 0
    unread: int = 0
    columns: int = 0
    unresolved: int = 0


@dataclass(frozen=True, slots=True)
class GraphStatement:
    """A statement in the graph: its place, what it reads, and the key of the relation that it makes."""

    place: Place
    reads: StatementReads
    defined: str = ""


@dataclass(frozen=True, slots=True)
class ImpactGraph:
    """All statements of the consumers, and what could not be read of them."""

    statements: tuple[GraphStatement, ...] = ()
    unread: tuple[Unread, ...] = ()
    _readers: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def coverage(self) -> Coverage:
        """Count what was read and what was not."""
        whole = sum(one.is_whole for one in self.unread)
        resolved = sum(statement.reads.columns for statement in self.statements)
        return Coverage(len(self.statements), whole, resolved, len(self.unread) - whole)

    @staticmethod
    def build(statements: Iterable[GraphStatement], unread: Iterable[Unread]) -> ImpactGraph:
        """Build the graph with an index from each relation to the statements that name it."""
        all_statements = tuple(statements)
        readers: dict[str, list[int]] = {}
        for number, statement in enumerate(all_statements):
            for relation in statement.reads.relations:
                readers.setdefault(relation, []).append(number)
        return ImpactGraph(all_statements, tuple(unread), {k: tuple(v) for k, v in readers.items()})

    def find_uses(self, relation: str, path: Path = ()) -> tuple[ConsumerUse, ...]:
        """Find the statements that depend on a column, or on a table for the empty path, nearest first."""
        found: dict[int, tuple[int, tuple[str, ...], set[Role]]] = {}
        waiting: deque[tuple[str, Path, int, tuple[str, ...], frozenset[Role]]] = deque(
            [(relation, path, 1, (), frozenset())]
        )
        seen: set[tuple[str, Path, frozenset[Role]]] = set()
        while waiting:
            key, column, hops, through, inherited = waiting.popleft()
            if (key, column, inherited) in seen:
                continue
            seen.add((key, column, inherited))
            for number in self._readers.get(key, ()):
                statement = self.statements[number]
                roles = inherited or _list_roles(statement.reads, key, column)
                if roles is None:
                    continue
                known = found.setdefault(number, (hops, through, set()))
                known[2].update(roles)
                if statement.defined and statement.defined != key:
                    name = statement.place.name or statement.defined
                    above = (*through, name)
                    waiting.extend(
                        (statement.defined, onward, hops + 1, above, kept)
                        for onward, kept in _list_onward(statement, key, column, roles, inherited)
                    )
        uses = (_build_use(self.statements[n].place, *facts) for n, facts in found.items())
        return tuple(sorted(uses, key=lambda use: (use.hops, use.consumer, use.file, use.line, use.name)))

    def find_unread(self, relation: str, path: Path = ()) -> tuple[Unread, ...]:
        """Find what could not be read and may concern a column or a table, directly or through views."""
        keys = {relation, *self.list_dependents(relation)} if self.unread else set()
        return tuple(
            one
            for one in self.unread
            if not keys.isdisjoint(one.relations)
            and (not one.column or not path or one.column.lower() == path[0].lower())
        )

    def may_read(self, consumer: str, relation: str, path: Path = ()) -> bool:
        """Whether a text of the consumer that could not be read may read the column."""
        return any(one.place.consumer == consumer for one in self.find_unread(relation, path))

    def list_dependents(self, relation: str) -> tuple[str, ...]:
        """List the relations that are made from a relation, in any number of hops."""
        found: dict[str, None] = {}
        waiting = [relation]
        while waiting:
            for number in self._readers.get(waiting.pop(), ()):
                made = self.statements[number].defined
                if made and made not in found and made != relation:
                    found[made] = None
                    waiting.append(made)
        return tuple(found)


def is_same_column(one: Path, other: Path) -> bool:
    """Whether one path is the other or a part of it."""
    shortest = min(len(one), len(other))
    return one[:shortest] == other[:shortest]


def _list_roles(reads: StatementReads, key: str, column: Path) -> frozenset[Role] | None:
    """List the roles of a column in a statement; None if it does not read it."""
    if not column:
        return frozenset(r for (k, _), roles in reads.uses.items() if k == key for r in roles)
    found = [roles for (k, p), roles in reads.uses.items() if k == key and is_same_column(p, column)]
    if not found and key in reads.rows:
        return frozenset([reads.rows[key]])  # a column of an earlier version: the star returned it then
    return frozenset().union(*found) if found else None


def _list_onward(
    statement: GraphStatement, key: str, column: Path, roles: frozenset[Role], inherited: frozenset[Role]
) -> Iterator[tuple[Path, frozenset[Role]]]:
    """List what of the made relation depends on a column: its columns, or all rows with their roles."""
    rows = inherited or roles & ROW_ROLES
    if rows or not column:
        yield (), rows
    if column and not inherited:
        if "whole-row" in roles and column[0] in statement.reads.former:
            yield column, frozenset()
        for output in statement.reads.outputs:
            if any(k == key and is_same_column(p, column) for k, p in output.origins):
                yield (output.name,), frozenset()


def _build_use(place: Place, hops: int, through: tuple[str, ...], roles: set[Role]) -> ConsumerUse:
    ordered = tuple(role for role in ROLES if role in roles)
    return ConsumerUse(
        place.consumer, place.file, place.line, place.name, place.owner, place.contact, hops, through, ordered
    )
