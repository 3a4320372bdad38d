"""Collects what DDL statements state about columns, with their own schema or before the next one.

Law: a repeated statement, after a restart or from a second connector, adds no column a second time, and swaps
no names a second time.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.observation import Attribute, Observation
from schemaman.debezium.records import Position
from schemaman.history.fold.timeline import Point
from schemaman.model.schema import Column, TableId, TableSchema


class PendingStatements:
    """The statements of a table that no structure has shown yet; `has_statement`: there was one.

    `unseen` is the point of the newest one after which no record has shown a schema, None if there is none.
    """

    def __init__(self) -> None:
        self.has_statement = False
        self.unseen: Point | None = None
        self._renames: Renames = ()
        self._recreated: frozenset[str] = frozenset()
        self._done: set[tuple[Position, str | None]] = set()
        self._swapped: set[tuple[Position, str | None]] = set()

    def add_statement(self, point: Point) -> None:
        """Keep a statement without a schema."""
        observation = point.observation
        self.unseen = point
        self._recreated = self._rename_recreated(observation) | self._take_recreated_once(observation)
        self._renames, self.has_statement = (
            compose_renames(self._renames, self._take_new_renames(observation)),
            True,
        )

    @property
    def has_column_changes(self) -> bool:
        """Whether a statement renamed columns, or dropped and added them again, before the next structure."""
        return bool(self._renames or self._recreated)

    def take_renames(self, observation: Observation, schema: TableSchema) -> Renames:
        """The renames that lead to a schema: those of its own statement, else of earlier statements."""
        if not (observation.renames or self._renames):
            return ()
        return self._take_new_renames(observation) or select_effective_renames(self._renames, schema)

    def take_recreated(self, observation: Observation) -> frozenset[str]:
        """The columns, in lower case, that were dropped and added again before a schema; returned once."""
        return self._rename_recreated(observation) | self._take_recreated_once(observation)

    def has_recreated(self, observation: Observation) -> bool:
        """Whether any column was dropped and added again before a structure."""
        return bool(self._recreated or find_recreated(observation))

    def begin_table(self, observation: Observation) -> None:
        """A first structure shows what they did, and its own statement too."""
        self._take_recreated_once(observation)
        self._take_new_renames(observation)
        self.forget_statements()

    def forget_statements(self) -> None:
        """Forget the statements, because their table was dropped."""
        self._renames, self._recreated = (), frozenset()

    def end_statements(self) -> None:
        """A structure shows what they did."""
        self.forget_statements()
        self.has_statement = False

    def _take_new_renames(self, observation: Observation) -> Renames:
        """The renames of a statement, without a swap of names that was already applied."""
        if not observation.renames:
            return ()
        statement = (observation.first.position, observation.ddl)
        if not has_name_swap(observation.renames):
            return observation.renames
        if statement in self._swapped:
            return ()
        # an equal statement without a position may be another one
        self._swapped |= {statement} if observation.first.position.kind != "none" else set()
        return observation.renames

    def _rename_recreated(self, observation: Observation) -> frozenset[str]:
        if not self._recreated:
            return frozenset()
        names = {old.lower(): new.lower() for old, new in observation.renames}
        return frozenset(names.get(name, name) for name in self._recreated)

    def _take_recreated_once(self, observation: Observation) -> frozenset[str]:
        if not observation.stated_attributes:
            return frozenset()
        names = find_recreated(observation)
        # without a position, a second shard's word cannot be told from a second statement
        statement = (observation.first.position, observation.ddl)
        if not names or statement in self._done:
            return frozenset()
        self._done.add(statement)
        return names


Renames = tuple[tuple[str, str], ...]


def complete_structure(
    schema: TableSchema, observation: Observation, known: TableSchema | None
) -> TableSchema:
    """Return the schema with its missing attributes: those of its statement, else the previous ones.

    `known` is the previous declared schema, None if there is none.
    """
    unstated = tuple(a for a in observation.unstated_attributes if a != "key")
    if not unstated:
        return schema
    stated = {(name.lower(), attribute): text for name, attribute, text in observation.stated_attributes}
    before = {c.name.lower(): c for c in known.columns} if known is not None else {}
    old_names = {new.lower(): old.lower() for old, new in observation.renames}
    fresh = find_recreated(observation)

    def filled(column: Column) -> Column:
        name = column.name.lower()
        old = None if name in fresh else before.get(old_names.get(name, name))
        for attribute in unstated:
            if getattr(column, attribute) is None:
                old_value = None if old is None else getattr(old, attribute)
                column = _set_attribute(column, attribute, stated.get((name, attribute), old_value))
        return column

    comment = schema.comment
    if "comment" in unstated and comment is None:
        comment = stated.get(("", "comment"), known.comment if known is not None else None)
    return replace(schema, columns=tuple(filled(c) for c in schema.columns), comment=comment)


def _set_attribute(column: Column, attribute: Attribute, text: str | None) -> Column:
    return replace(column, default=text) if attribute == "default" else replace(column, comment=text)


def find_inserted_columns(known: TableSchema, schema: TableSchema) -> tuple[str, ...]:
    """Find new columns before an unchanged one, if none was dropped; append-only tables cannot gain such.

    Such a schema belongs to a recreated table, or mixes the columns of two tables.
    """
    names = set(known.names)
    if not names <= set(schema.names):
        return ()
    last = max(i for i, name in enumerate(schema.names) if name in names)
    return tuple(name for name in schema.names[:last] if name not in names)


def describe_inserted_columns(names: tuple[str, ...], table: TableId) -> str:
    """What such columns mean."""
    message = f"{', '.join(names)} are in front of existing columns, but this database only appends columns"
    if "_" in table.table:
        return f"{message}: they may belong to another table, since an underscore matches any letter"
    return f"{message}: the table was recreated, or they belong to another table"


def select_effective_renames(renames: Renames, schema: TableSchema) -> Renames:
    """Select the renames of earlier statements that a schema confirms: it has the new name and not the old.

    It may have the old name if another column has taken it: in a swap or a chain of renames.
    """
    if not renames:
        return ()
    names = {name.lower() for name in schema.names}
    kept = [(old, new) for old, new in renames if new.lower() in names]
    while True:
        reused = {new.lower() for _, new in kept}
        effective = [(old, new) for old, new in kept if old.lower() not in names or old.lower() in reused]
        if effective == kept:
            return tuple(kept)
        kept = effective


def compose_renames(renames: Renames, following: Renames) -> Renames:
    """Renames one after the other, as from the first names to the last."""
    step = dict(following)
    return (*((old, step.pop(new, new)) for old, new in renames), *step.items())


def find_recreated(observation: Observation) -> frozenset[str]:
    """The columns that a statement drops and adds again, in lower case, by their names in the end."""
    return frozenset(
        name.lower() for name, attribute, _ in observation.stated_attributes if attribute == "anew"
    )


def has_name_swap(renames: Renames) -> bool:
    """Whether a column gets a name that another one gives up: the names may be the same ones as before."""
    return not {old.lower() for old, _ in renames}.isdisjoint(new.lower() for _, new in renames)
