"""The tables that statements are applied to, and the types and defaults of events."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass, field

from schemaman.debezium.ddl.migrations.column_definitions import StatedDefault
from schemaman.debezium.ddl.migrations.grammar import SqlGrammar
from schemaman.debezium.ddl.migrations.token_reader import Parts
from schemaman.model.schema import Column, Scalar, TableId, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Floating,
    Integer,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
)


@dataclass(frozen=True, slots=True)
class ScriptPlace:
    """Where a statement stands: the name of its file, and its line from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class UnreadStatement:
    """A statement that was not applied: its place, beginning, text, why, and its table if that is known."""

    place: ScriptPlace
    beginning: str
    reason: str
    table: TableId | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class HoldBack:
    """A statement after which no change of a table reaches the connector: its place, words, publication.

    `is_certain` is false if the table may have been in no such publication, or may be in another one.
    """

    place: ScriptPlace
    words: str
    publication: str = ""
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table while statements are applied.

    `accepted` is its structure before all of them, None for a new table. `is_emitted`: the types are those of
    events, not those that the database declares. The columns have ids, which a renamed column keeps.
    `constraints` maps the names of constraints to `primary` or `other`. `places` are those of the last
    statement about a column, by its id; `key_place` that about the key, `place` that about the table, and
    `truncated` that of the last TRUNCATE. `primary` is the primary key, or whatever the accepted key is;
    `uniques` are known unique indexes by name. `held_back` is the statement after which the connector gets no
    changes of the table.
    """

    id: TableId
    schema: TableSchema
    accepted: TableSchema | None
    accepted_id: TableId | None
    is_emitted: bool = False
    constraints: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[int, ScriptPlace] = field(default_factory=dict)
    key_place: ScriptPlace | None = None
    place: ScriptPlace | None = None
    primary: Parts = ()
    uniques: tuple[tuple[str, Parts], ...] = ()
    truncated: ScriptPlace | None = None
    held_back: HoldBack | None = None

    @property
    def key(self) -> Parts:
        """The primary key, else the first unique index by name. Source: Debezium JdbcConnection."""
        return self.primary or next((columns for _, columns in sorted(self.uniques)), ())


@dataclass(frozen=True, slots=True)
class DroppedTable:
    """A table that a statement drops; `place` is that of the statement."""

    table: KnownTable
    place: ScriptPlace


def is_emitted(schema: TableSchema, grammar: SqlGrammar) -> bool:
    """Return whether the types of a structure can be those of events: no size is declared."""
    return not any(_is_declared(column.type, grammar) for column in schema.columns)


def _is_declared(type: Type, grammar: SqlGrammar) -> bool:
    match type:
        case String(length, fixed):
            return length is not None or fixed
        case Binary(length):
            return length is not None
        case Integer(_, signed):
            return not signed
        case Decimal(precision, 0):
            return grammar.small_numbers and precision <= _INTEGER_DIGITS
        case Time(precision, _) | Timestamp(precision, _):
            return precision not in (3, 6, 9)
        case Array(element, _):
            return _is_declared(element, grammar)
        case _:
            return False


_INTEGER_DIGITS = 18


def list_qualifiers(id: TableId) -> tuple[str, ...]:
    """List the names before that of a table, the nearest first: schema and database, or database alone."""
    return (id.schema, id.database) if id.schema else (id.database,)


def name_default_key(table: KnownTable) -> str:
    """Return the name that PostgreSQL gives a primary key."""
    id = table.accepted_id or table.id
    return f"{id.table}_pkey"


def emit_default(default: StatedDefault, column: Column) -> Scalar:
    """Return a default as events have it; an expression of a NOT NULL column is sent as the zero of its type.

    Source: Debezium PostgresDefaultValueConverter; recordings of shop tables in `fixtures/captures`.
    """
    if not default.is_literal:
        return None if column.nullable else _ZEROS.get(type(column.type), "")
    text = default.text or ""
    try:
        match column.type:
            case Boolean():
                return text.lower() in ("true", "t", "1", "yes", "y", "on")
            case Integer():
                return int(text)
            case Floating():
                return float(text)
            case Decimal(_, scale):
                return f"{decimal.Decimal(text):.{min(scale, 1000)}f}"
            case _:
                return text
    except (ValueError, ArithmeticError):
        return text


_ZEROS: Mapping[type, Scalar] = {
    Integer: 0, Floating: 0.0, Boolean: False, Decimal: "0", Timestamp: 0, Time: 0, Date: 0,
    Uuid: "00000000-0000-0000-0000-000000000000",
}  # fmt: skip
