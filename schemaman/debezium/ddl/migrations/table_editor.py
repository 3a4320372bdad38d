"""Changes of known tables by the actions of one statement; the caller keeps them only if all were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, assert_never

from schemaman.debezium.ddl.migrations.column_definitions import (
    ColumnDefinition,
    StatedDefault,
    TableConstraint,
)
from schemaman.debezium.ddl.migrations.column_types import NO_TYPES, UserTypes
from schemaman.debezium.ddl.migrations.grammar import SqlGrammar
from schemaman.debezium.ddl.migrations.known_tables import (
    DroppedTable,
    HoldBack,
    KnownTable,
    ScriptPlace,
    emit_default,
    list_qualifiers,
    name_default_key,
)
from schemaman.debezium.ddl.migrations.publications import PublicationChange, Publications, TableList
from schemaman.debezium.ddl.migrations.table_actions import (
    Action,
    AddAction,
    CommentAction,
    ConstraintAction,
    DefaultAction,
    DropAction,
    DropConstraintAction,
    DropKeyAction,
    LoggedAction,
    ModifyAction,
    NullableAction,
    OptionalAction,
    RenameAction,
    RenameConstraintAction,
    RenameTableAction,
    SchemaAction,
)
from schemaman.debezium.ddl.migrations.token_reader import Parts, StatementNotRead
from schemaman.model.schema import Column, Scalar, TableId
from schemaman.model.types import String


@dataclass(frozen=True, slots=True)
class SqlSession:
    """What earlier statements of the session and of the database set: schema, types, publications."""

    schema: str
    temporary: frozenset[str] = frozenset()
    types: UserTypes = NO_TYPES
    publications: Publications = field(default_factory=dict)


class TableEditor:
    """Edits tables by their numbers; `place` is that of the statement, `next_id` gives ids of new columns.

    `subject` is the number of the table that the statement is about, 0 before it is known.
    """

    def __init__(
        self,
        grammar: SqlGrammar,
        tables: Mapping[int, KnownTable],
        session: SqlSession,
        place: ScriptPlace,
        next_id: Callable[[], int],
    ) -> None:
        self.grammar = grammar
        self.tables = dict(tables)
        self.session = session
        self.place = place
        self.next_id = next_id
        self.dropped: list[DroppedTable] = []
        self.subject = 0

    def find_table(self, parts: Parts, *, is_optional: bool = False) -> int | None:
        """Find the number of a table; None for a temporary one, or for an absent one if that is allowed."""
        if parts[-1] in self.session.temporary:
            return None
        found = self.list_matches(parts)
        if len(found) == 1:
            return found[0]
        name = ".".join(parts)
        if found:
            raise StatementNotRead(f"several accepted tables are called {name}")
        if is_optional:
            return None
        raise StatementNotRead(f"the accepted state has no table {name}")

    def list_matches(self, parts: Parts) -> list[int]:
        """List the numbers of the tables that a name may mean."""
        same = self.grammar.is_same_name
        *qualifiers, name = parts
        found = [
            number
            for number, table in self.tables.items()
            if (
                same(table.id.table, name)
                or (not table.id.parts[1:] and table.id.table.lower() == name.lower())
            )
            and all(
                not own or same(own, stated)
                for own, stated in zip(list_qualifiers(table.id), reversed(qualifiers), strict=False)
            )
        ]
        if len(found) > 1 and not qualifiers:
            near = [n for n in found if list_qualifiers(self.tables[n].id)[0] == self.session.schema]
            return near or found
        return found

    def make_id(self, parts: Parts) -> TableId:
        """Make the id of a new table, beside the accepted ones."""
        *qualifiers, name = parts
        schema = qualifiers[-1] if qualifiers else self.session.schema
        ids = [table.id for table in self.tables.values()]
        near = next((id for id in ids if list_qualifiers(id)[0] == schema), ids[0] if ids else None)
        if near is None:
            return TableId("", "", schema if qualifiers else "", name)
        if near.schema:
            return replace(near, schema=schema or near.schema, table=name)
        return replace(near, database=qualifiers[-1] if qualifiers else near.database, table=name)

    def drop_table(self, number: int) -> None:
        """Drop a table; an accepted one is kept among the dropped."""
        table = self.tables.pop(number)
        if table.accepted is not None:
            self.dropped.append(DroppedTable(table, self.place))

    def rename_table(self, number: int | None, parts: Parts) -> None:
        """Give a table another name. Raises `StatementNotRead` if it is taken."""
        if number is None:
            return
        self.subject = number
        table = self.tables[number]
        levels = list_qualifiers(table.id)
        stated = parts[:-1] or ((levels[0],) if levels[0] else ())
        other = self.list_matches((*stated, parts[-1]))
        if other and other != [number]:
            raise StatementNotRead(f"a table {'.'.join(parts)} already exists")
        id = replace(table.id, table=parts[-1])
        if len(parts) > 1:
            id = replace(id, schema=parts[-2]) if table.id.schema else replace(id, database=parts[-2])
        self.tables[number] = replace(table, id=id, place=self.place)

    def apply_action(self, number: int, action: Action) -> None:
        """Apply an action of ALTER TABLE. Raises `StatementNotRead`."""
        match action:
            case AddAction(definition, is_optional):
                if is_optional and self._find_column(number, definition.name) is not None:
                    return
                self.add_column(number, definition)
            case ConstraintAction(constraint):
                self.add_constraints(number, [constraint])
            case DropAction(name, is_optional):
                self._drop_column(number, name, is_optional)
            case DropConstraintAction(name):
                self._drop_constraint(number, name)
            case DropKeyAction():
                self.set_key(number, (), self.tables[number].uniques)
            case RenameAction(old, new):
                self.rename_column(number, old, new)
            case ModifyAction(old, definition, is_whole):
                self._modify_column(number, old, definition, is_whole)
            case NullableAction(name, nullable):
                self.edit_column(number, name, nullable=nullable)
            case DefaultAction(name, default):
                column = self._require_column(number, name)
                self.edit_column(number, name, default=self._make_default(number, default, column))
            case RenameTableAction(parts):
                self.rename_table(number, parts)
            case SchemaAction(schema):
                self.rename_table(number, (schema, self.tables[number].id.table))
            case RenameConstraintAction(old, new):
                kinds = dict(self.tables[number].constraints)
                if old in kinds:
                    kinds[new] = kinds.pop(old)
                elif old == name_default_key(self.tables[number]):
                    kinds[new] = "primary"
                self.tables[number] = replace(self.tables[number], constraints=kinds)
            case OptionalAction(name, inner):
                if self._find_column(number, name) is not None:
                    self.apply_action(number, inner)
            case LoggedAction(is_logged):
                self.hold_back(number, None if is_logged else HoldBack(self.place, "SET UNLOGGED"))
            case CommentAction(comment):
                self.set_schema(number, comment=comment or None)
            case _:
                assert_never(action)

    def hold_back(self, number: int, held_back: HoldBack | None, publication: str = "") -> None:
        """Mark a table as held back from the connector, or remove the mark that a publication made."""
        table = self.tables[number]
        if held_back is not None:
            self.tables[number] = replace(table, held_back=held_back)
        elif table.held_back is not None and table.held_back.publication == publication:
            self.tables[number] = replace(table, held_back=None)

    def change_publication(self, change: PublicationChange) -> None:
        """Mark the tables that a statement takes out of publications."""
        for name in change.names:
            known = self.session.publications.get(name)
            listed = self._list_tables(change.tables)
            published = self._list_tables(known or TableList(is_all=True))
            match change.verb:
                case "create" | "add":
                    for number in listed:
                        self.hold_back(number, None, name)
                    out = set[int]()
                case "drop":
                    out = listed
                case "set":
                    for number in listed:
                        self.hold_back(number, None, name)
                    out = published - listed
                case _:
                    out = published
            is_certain = known is not None or change.verb == "drop"
            for number in out:
                self.hold_back(number, HoldBack(self.place, change.words, name, is_certain))
            publications = {n: tables for n, tables in self.session.publications.items() if n != name}
            if change.verb in ("create", "set"):
                publications[name] = change.tables
            elif change.verb == "add" and known is not None:
                publications[name] = TableList(
                    known.tables + change.tables.tables, known.schemas + change.tables.schemas, known.is_all
                )
            self.session = replace(self.session, publications=publications)

    def _list_tables(self, listed: TableList) -> set[int]:
        """List the numbers of the tables of a list; a table that is not known is none."""
        found = {number for parts in listed.tables for number in self.list_matches(parts)}
        return found.union(
            n
            for n, table in self.tables.items()
            if listed.is_all or list_qualifiers(table.id)[0] in listed.schemas
        )

    def _find_column(self, number: int, name: str) -> Column | None:
        columns = self.tables[number].schema.columns
        return next((c for c in columns if self.grammar.is_same_name(c.name, name)), None)

    def _require_column(self, number: int, name: str) -> Column:
        column = self._find_column(number, name)
        if column is None:
            raise StatementNotRead(f"the accepted table {self.tables[number].id} has no column {name}")
        return column

    def add_column(self, number: int, definition: ColumnDefinition) -> None:
        """Add a column with its key. Raises `StatementNotRead`."""
        table = self.tables[number]
        if self._find_column(number, definition.name) is not None:
            raise StatementNotRead(f"the table {table.id} already has a column {definition.name}")
        column = self._fill(number, Column(definition.name, String(), id=self.next_id()), definition, True)
        columns = list(table.schema.columns)
        columns.insert(self._find_place(number, definition.place), column)
        self._set_columns(number, columns)
        self._mark(number, column)
        self._add_column_key(number, definition)

    def _add_column_key(self, number: int, definition: ColumnDefinition) -> None:
        if definition.is_primary:
            self.add_constraints(
                number, [TableConstraint("primary", definition.constraint, (definition.name,))]
            )
        elif definition.is_unique:
            self.add_constraints(
                number, [TableConstraint("unique", definition.constraint, (definition.name,))]
            )

    def _find_place(self, number: int, after: str | None) -> int:
        columns = self.tables[number].schema.columns
        if after is None:
            return len(columns)
        return 0 if not after else columns.index(self._require_column(number, after)) + 1

    def _modify_column(self, number: int, old: str, definition: ColumnDefinition, is_whole: bool) -> None:
        column = self._require_column(number, old)
        if definition.name != old:
            self.rename_column(number, old, definition.name)
            column = self._require_column(number, definition.name)
        changed = self._fill(number, column, definition, is_whole)
        columns = [changed if c.id == column.id else c for c in self.tables[number].schema.columns]
        if definition.place is not None:
            columns.remove(changed)
            names = [c.name for c in columns]
            after = self._require_column(number, definition.place).name if definition.place else None
            columns.insert(names.index(after) + 1 if after is not None else 0, changed)
        self._set_columns(number, columns)
        self._mark(number, changed)
        self._add_column_key(number, definition)

    def _fill(self, number: int, column: Column, definition: ColumnDefinition, is_whole: bool) -> Column:
        """Return a column with what its definition states; `is_whole`: what it omits is reset."""
        table = self.tables[number]
        is_key = column.name in table.primary
        if definition.type is not None:
            emitted = self.grammar.find_emitted_type(definition.type, definition.source_type)
            is_new = column.source_type is not None or table.accepted is None or column.emitted_name is None
            column = replace(
                column,
                type=emitted if table.is_emitted else definition.type,
                source_type=definition.source_type if is_new else None,
            )
        resets = is_whole or (definition.type is not None and self.grammar.retype_nullable)
        if definition.nullable is not None:
            column = replace(column, nullable=definition.nullable and not is_key)
        elif resets:
            column = replace(column, nullable=not is_key)
        if definition.default is not None:
            column = replace(column, default=self._make_default(number, definition.default, column))
        elif is_whole:
            is_serial = (definition.source_type or "").endswith("serial") and table.is_emitted
            column = replace(column, default=0 if is_serial else None)
        if definition.comment is not None or is_whole:
            column = replace(column, comment=definition.comment or None)
        return column

    def _make_default(self, number: int, default: StatedDefault | None, column: Column) -> Scalar:
        if default is None or (default.is_literal and default.text is None):
            return None
        if self.tables[number].is_emitted:
            return emit_default(default, column)
        return default.text if default.is_literal else default.sql

    def _drop_column(self, number: int, name: str, is_optional: bool) -> None:
        if is_optional and self._find_column(number, name) is None:
            return
        column = self._require_column(number, name)
        table = self.tables[number]
        self._set_columns(number, [c for c in table.schema.columns if c.id != column.id])
        self._mark(number, column)
        rest = tuple(k for k in table.primary if k != column.name)
        primary = table.primary if rest == table.primary else rest if self.grammar.key_shrinks else ()
        kept = tuple(unique for unique in table.uniques if column.name not in unique[1])
        self.set_key(number, primary, kept)

    def rename_column(self, number: int, old: str, new: str) -> None:
        """Rename a column, also in keys. Raises `StatementNotRead`."""
        column = self._require_column(number, old)
        other = self._find_column(number, new)
        if other is not None and other.id != column.id:
            raise StatementNotRead(f"the table {self.tables[number].id} already has a column {new}")
        self.edit_column(number, old, name=new)
        table = self.tables[number]
        uniques = tuple((n, _rename_in(columns, column.name, new)) for n, columns in table.uniques)
        self.set_key(number, _rename_in(table.primary, column.name, new), uniques)

    def edit_column(self, number: int, name: str, /, **attributes: Any) -> None:
        """Set attributes of a column. Raises `StatementNotRead`."""
        column = self._require_column(number, name)
        if attributes.get("nullable") and column.name in self.tables[number].primary:
            raise StatementNotRead(f"the column {name} is part of the key")
        if "name" in attributes and column.emitted_name is not None:
            attributes["emitted_name"] = attributes["name"]
        changed = replace(column, **attributes)
        columns = self.tables[number].schema.columns
        self._set_columns(number, [changed if c.id == column.id else c for c in columns])
        self._mark(number, changed)

    def add_constraints(self, number: int, constraints: Iterable[TableConstraint]) -> None:
        """Add constraints, the primary key first. Raises `StatementNotRead`."""
        ordered = sorted(constraints, key=lambda c: c.kind != "primary")
        for constraint in ordered:
            table = self.tables[number]
            kinds = {**table.constraints, **({constraint.name: "other"} if constraint.name else {})}
            if constraint.kind == "primary":
                kinds[constraint.name or name_default_key(table)] = "primary"
                names = tuple(self._require_column(number, name).name for name in constraint.columns)
                for name in names:
                    self.edit_column(number, name, nullable=False)
                self.set_key(number, names, self.tables[number].uniques)
            elif constraint.kind == "unique":
                names = tuple(self._require_column(number, name).name for name in constraint.columns)
                name = constraint.name or self._name_unique(table, names)
                kinds[name] = "unique"
                self.set_key(number, table.primary, (*table.uniques, (name, names)))
            self.tables[number] = replace(self.tables[number], constraints=kinds)

    def _drop_constraint(self, number: int, name: str) -> None:
        table = self.tables[number]
        kind = table.constraints.get(name) or ("primary" if name == name_default_key(table) else "")
        if kind == "primary":
            self.set_key(number, (), table.uniques)
        elif kind == "unique":
            self.set_key(number, table.primary, tuple(u for u in table.uniques if u[0] != name))
        elif not kind and table.schema.key and not OTHER_CONSTRAINT.search(name):
            raise StatementNotRead(f"the constraint {name} may be the primary key")
        rest = {key: value for key, value in table.constraints.items() if key != name}
        self.tables[number] = replace(self.tables[number], constraints=rest, place=self.place)

    def set_schema(self, number: int, /, **attributes: Any) -> None:
        """Set attributes of the structure of a table."""
        table = self.tables[number]
        self.tables[number] = replace(table, schema=replace(table.schema, **attributes), place=self.place)

    def _set_columns(self, number: int, columns: Iterable[Column]) -> None:
        self.set_schema(number, columns=tuple(columns))

    def set_key(self, number: int, primary: Parts, uniques: tuple[tuple[str, Parts], ...]) -> None:
        """Set the primary key and the unique indexes, and the key that follows from them."""
        table = replace(self.tables[number], primary=primary, uniques=uniques)
        if table.key != table.schema.key:
            table = replace(table, key_place=self.place)
        self.tables[number] = table
        self.set_schema(number, key=table.key)

    def _name_unique(self, table: KnownTable, columns: Parts) -> str:
        """Name a unique constraint as PostgreSQL does, with a number if the name is taken."""
        base = "_".join((table.id.table, *columns, "key"))
        names = {name for name, _ in table.uniques}
        return next(n for i in count() if (n := f"{base}{i or ''}") not in names)

    def _mark(self, number: int, column: Column) -> None:
        """Keep the place of the statement as that of a column."""
        table = self.tables[number]
        if column.id is not None:
            self.tables[number] = replace(table, places={**table.places, column.id: self.place})


OTHER_CONSTRAINT = re.compile(
    r"f_?k(ey)?\b|(^|_)fk|_key$|(^|_)(uq|uk|unique|uniq|ck|chk|check|excl|df|def|idx|ix|nn|not_null)(_|$)|"
    r"(^|_)ref(_|$)",
    re.IGNORECASE,
)
"""Names of constraints that by their usual words are no primary keys."""


def _rename_in(names: Parts, old: str, new: str) -> Parts:
    return tuple(new if name == old else name for name in names)
