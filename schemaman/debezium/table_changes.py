"""The structure of a table as a schema change declares it, and the id that names the table there."""

from __future__ import annotations

import re

from schemaman.debezium.connector import Connector, DeclaredColumn
from schemaman.debezium.connectors._type_expression import format_type_expression
from schemaman.debezium.json_fields import (
    Struct,
    read_number,
    read_structs,
    read_text,
    read_texts,
    require_value,
)
from schemaman.debezium.observation import Attribute
from schemaman.errors import SchemamanError, UnreadableInput
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type, Unknown

_PART = r'(?:"(?:[^"]|"")*"|[^".]+)'
_ID = re.compile(rf"{_PART}(?:\.{_PART})*")


def split_table_id(id: str) -> tuple[str, ...]:
    """The parts of a table's id such as `"db"."t"`, whose parts are quoted and quotes inside doubled.

    Source: Debezium TableId.toDoubleQuotedString.

    Raises:
        UnreadableInput: it is none, or has more than three parts.
    """
    if not _ID.fullmatch(id):
        raise UnreadableInput(f"the table id {id!r} cannot be read")
    parts = tuple(_unquote(part) for part in re.findall(_PART, id))
    if len(parts) > 3:
        raise UnreadableInput(f"the table id {id!r} has more than three parts")
    return parts


def _unquote(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def read_declared_schema(table: Struct, comment: str | None, dialect: Connector) -> TableSchema:
    """The structure that a `table` member declares; `comment` is the table's, where it stands outside.

    Source: Debezium ConnectTableChangeSerializer and JsonTableChangeSerializer, of which the second leaves
    out sizes that are not set, and has the table's comment beside the table.

    Raises:
        UnreadableInput: it has no columns, or members that are not what they must be.
    """
    columns = [_read_column(c) for c in read_structs(table, "columns")]
    if not columns:
        raise UnreadableInput("tableChanges declares a table without columns")
    return TableSchema(
        columns=tuple(_make_column(c, dialect) for c in sorted(columns, key=lambda c: c.position)),
        key=read_texts(table, "primaryKeyColumnNames"),
        comment=read_text(table, "comment") or comment,
    )


def list_unstated_attributes(table: Struct, schema: TableSchema) -> tuple[Attribute, ...]:
    """The attributes of which this structure cannot tell that there are none.

    Defaults are told since 2.0, in the internal history since 1.8; comments with `include.schema.comments`
    alone, so that a structure without any of them may not tell them. Source: Debezium release notes.
    """
    members = {name for column in read_structs(table, "columns") for name in column}
    told = members & {"defaultValueExpression", "hasDefaultValue"}
    commented = schema.comment is not None or any(c.comment is not None for c in schema.columns)
    return (*(() if told else ("default",)), *(() if commented else ("comment",)))


def _read_column(column: Struct) -> DeclaredColumn:
    return DeclaredColumn(
        name=require_value(read_text(column, "name"), "name"),
        jdbc_type=require_value(read_number(column, "jdbcType"), "jdbcType"),
        type_name=require_value(read_text(column, "typeName"), "typeName"),
        type_expression=read_text(column, "typeExpression"),
        length=_read_size(column, "length"),
        scale=_read_size(column, "scale"),
        position=require_value(read_number(column, "position"), "position"),
        nullable=column.get("optional") is not False,
        comment=read_text(column, "comment"),
        default=read_text(column, "defaultValueExpression"),
        # none come as null or as an empty list
        enum_values=tuple(unquote_label(v) for v in read_texts(column, "enumValues")) or None,
    )


def _read_size(column: Struct, name: str) -> int | None:
    """A length or a scale; -1 is none. Source: Debezium Column.UNSET_INT_VALUE; lengths are Java integers."""
    value = read_number(column, name)
    if value is None or (name == "length" and value == -1):
        return None
    if not (0 if name == "length" else -16384) <= value < 2**31:
        raise UnreadableInput(f"a column with a {name} of {value}")
    return value


def unquote_label(value: str) -> str:
    """A label, which comes as the statement wrote it, in quotes."""
    quoted = len(value) > 1 and value[0] == value[-1] == "'"
    return value[1:-1].replace("''", "'") if quoted else value


def _map_type(column: DeclaredColumn, dialect: Connector) -> Type:
    """The type; unknown where its numbers are none that such a type can have."""
    type = dialect.declared_type(column)
    try:
        sound = parse_type(format_type(type)) == type
    except SchemamanError:
        sound = False
    return type if sound else Unknown(column.type_name)


def _make_column(column: DeclaredColumn, dialect: Connector) -> Column:
    return Column(
        name=column.name,
        type=_map_type(column, dialect),
        nullable=column.nullable,
        default=column.default,
        comment=column.comment,
        source_type=format_type_expression(column.type_name, column.length, column.scale, column.enum_values),
    )
