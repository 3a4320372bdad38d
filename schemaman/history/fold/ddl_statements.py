"""What statements said of columns: with their own structure, or before the next one is seen.

Law: a statement that is told again, after a restart or by a second connector, makes no column a second time,
and exchanges no names a second time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemaman.debezium.observation import Attribute, Observation
from schemaman.debezium.records import Position
from schemaman.model.schema import Column, TableId, TableSchema


class PendingStatements:
    """The statements of a table that no structure has shown yet; `has_statement`: there was one."""

    def __init__(self) -> None:
        self.has_statement = False
        self._renames: Renames = ()
        self._recreated: frozenset[str] = frozenset()
        self._done: set[tuple[Position, str | None]] = set()
        self._swapped: set[tuple[Position, str | None]] = set()

    def add_statement(self, said: Observation) -> None:
        """A statement came without a structure."""
        self._recreated = self._rename_recreated(said) | self._take_recreated_once(said)
        self._renames, self.has_statement = compose_renames(self._renames, self._take_new_renames(said)), True

    def take_renames(self, said: Observation, schema: TableSchema) -> Renames:
        """The renames behind a structure: its own statement's, else those of the ones before."""
        return self._take_new_renames(said) or select_effective_renames(self._renames, schema)

    def take_recreated(self, said: Observation) -> frozenset[str]:
        """The columns, in lower case, that were dropped and added again before a structure; told once."""
        return self._rename_recreated(said) | self._take_recreated_once(said)

    def has_recreated(self, said: Observation) -> bool:
        """Whether any column was dropped and added again before a structure."""
        return bool(self._recreated or find_recreated(said))

    def begin_table(self, said: Observation) -> None:
        """A first structure shows what they did, and its own statement too."""
        self._take_recreated_once(said)
        self._take_new_renames(said)
        self.forget_statements()

    def forget_statements(self) -> None:
        """The table they were about is gone."""
        self._renames, self._recreated = (), frozenset()

    def end_statements(self) -> None:
        """A structure shows what they did."""
        self.forget_statements()
        self.has_statement = False

    def _take_new_renames(self, said: Observation) -> Renames:
        """The renames of a statement, but for an exchange of names that was told before."""
        place = (said.first.position, said.ddl)
        if not has_name_swap(said.renames):
            return said.renames
        if place in self._swapped:
            return ()
        # what no position tells apart may be another one
        self._swapped |= {place} if said.first.position.kind != "none" else set()
        return said.renames

    def _rename_recreated(self, said: Observation) -> frozenset[str]:
        names = {old.lower(): new.lower() for old, new in said.renames}
        return frozenset(names.get(name, name) for name in self._recreated)

    def _take_recreated_once(self, said: Observation) -> frozenset[str]:
        names = find_recreated(said)
        # without a position, a second shard's word cannot be told from a second statement
        place = (said.first.position, said.ddl)
        if not names or place in self._done:
            return frozenset()
        self._done.add(place)
        return names


Renames = tuple[tuple[str, str], ...]


def complete_structure(schema: TableSchema, said: Observation, known: TableSchema | None) -> TableSchema:
    """The structure with the attributes that it is silent on: as its statement says, else as they were.

    `known` is the declared structure before, None if there is none.
    """
    open_ones = tuple(a for a in said.unstated_attributes if a != "key")
    if not open_ones:
        return schema
    stated = {(name.lower(), attribute): text for name, attribute, text in said.stated_attributes}
    before = {c.name.lower(): c for c in known.columns} if known is not None else {}
    former = {new.lower(): old.lower() for old, new in said.renames}
    fresh = find_recreated(said)

    def filled(column: Column) -> Column:
        name = column.name.lower()
        old = None if name in fresh else before.get(former.get(name, name))
        for attribute in open_ones:
            if getattr(column, attribute) is None:
                kept = None if old is None else getattr(old, attribute)
                column = _set_attribute(column, attribute, stated.get((name, attribute), kept))
        return column

    comment = schema.comment
    if "comment" in open_ones and comment is None:
        comment = stated.get(("", "comment"), known.comment if known is not None else None)
    return replace(schema, columns=tuple(filled(c) for c in schema.columns), comment=comment)


def _set_attribute(column: Column, attribute: Attribute, text: str | None) -> Column:
    return replace(column, default=text) if attribute == "default" else replace(column, comment=text)


def find_inserted_columns(known: TableSchema, schema: TableSchema) -> tuple[str, ...]:
    """New columns in front of one that stayed, where none has left; a table that only appends gains no such.

    Such a structure is of a table that was made anew, or mixes the columns of two tables.
    """
    names = set(known.names)
    if not names <= set(schema.names):
        return ()
    last = max(i for i, name in enumerate(schema.names) if name in names)
    return tuple(name for name in schema.names[:last] if name not in names)


def describe_inserted_columns(names: tuple[str, ...], table: TableId) -> str:
    """What such columns mean."""
    told = f"{', '.join(names)} stand in front of columns that were there, where this database only appends"
    if "_" in table.table:
        return f"{told}: they may be another table's, since an underscore can stand for any letter"
    return f"{told}: the table was made anew, or they are another table's"


def select_effective_renames(renames: Iterable[tuple[str, str]], schema: TableSchema) -> Renames:
    """The renames of earlier statements that a structure bears out: the new name is there, the old is not.

    An old name may be there if another column has got it: names that are exchanged or handed on.
    """
    names = {name.lower() for name in schema.names}
    kept = [(old, new) for old, new in renames if new.lower() in names]
    while True:
        given = {new.lower() for _, new in kept}
        borne = [(old, new) for old, new in kept if old.lower() not in names or old.lower() in given]
        if borne == kept:
            return tuple(kept)
        kept = borne


def compose_renames(renames: Renames, following: Renames) -> Renames:
    """Renames one after the other, as from the first names to the last."""
    step = dict(following)
    return (*((old, step.pop(new, new)) for old, new in renames), *step.items())


def find_recreated(said: Observation) -> frozenset[str]:
    """The columns that a statement drops and adds again, in lower case, by their names in the end."""
    return frozenset(name.lower() for name, attribute, _ in said.stated_attributes if attribute == "anew")


def has_name_swap(renames: Renames) -> bool:
    """Whether a column gets a name that another one gives up: the names may be the same ones as before."""
    return not {old.lower() for old, _ in renames}.isdisjoint(new.lower() for _, new in renames)
