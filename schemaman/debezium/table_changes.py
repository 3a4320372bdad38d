"""The schema of a table in `tableChanges`, and the id of the table there."""

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
    """Split a table's id such as `"db"."t"` into its parts, which are quoted, with quotes inside doubled.

    Source: Debezium TableId.toDoubleQuotedString.

    Raises:
        UnreadableInput: the text is no table id, or has more than three parts.
    """
    if not _ID.fullmatch(id):
        raise UnreadableInput(f"the table id {id!r} cannot be read")
    parts = tuple(_unquote(part) for part in re.findall(_PART, id))
    if len(parts) > 3:
        raise UnreadableInput(f"the table id {id!r} has more than three parts")
    return parts


def _unquote(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part


def read_declared_schema(table: Struct, comment: str | None, connector: Connector) -> TableSchema:
    """Read the schema in a `table` member; `comment` is the table's comment beside that member, if any.

    Source: Debezium ConnectTableChangeSerializer and JsonTableChangeSerializer. The second leaves out sizes
    that are not set, and has the table's comment beside the table.

    Raises:
        UnreadableInput: the table has no columns, or a member has another type than it must have.
    """
    columns = [_read_column(c) for c in read_structs(table, "columns")]
    if not columns:
        raise UnreadableInput("tableChanges declares a table without columns")
    return TableSchema(
        columns=tuple(_make_column(c, connector) for c in sorted(columns, key=lambda c: c.position)),
        key=read_texts(table, "primaryKeyColumnNames"),
        comment=read_text(table, "comment") or comment,
    )


def list_unstated_attributes(table: Struct, schema: TableSchema) -> tuple[Attribute, ...]:
    """List the attributes that this structure does not have, so that their absence means nothing.

    Defaults exist since 2.0, in the connector's own schema history since 1.8. Comments exist with
    `include.schema.comments` alone, so that a structure without any comment may lack them. Source: Debezium
    release notes.
    """
    members = {name for column in read_structs(table, "columns") for name in column}
    with_defaults = members & {"defaultValueExpression", "hasDefaultValue"}
    with_comments = schema.comment is not None or any(c.comment is not None for c in schema.columns)
    return (*(() if with_defaults else ("default",)), *(() if with_comments else ("comment",)))


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
        # a column without labels has null or an empty list
        enum_values=tuple(unquote_label(v) for v in read_texts(column, "enumValues")) or None,
    )


def _read_size(column: Struct, name: str) -> int | None:
    """Read a length or a scale; a length of -1 is none.

    Source: Debezium Column.UNSET_INT_VALUE; lengths are Java integers.
    """
    value = read_number(column, name)
    if value is None or (name == "length" and value == -1):
        return None
    if not (0 if name == "length" else -16384) <= value < 2**31:
        raise UnreadableInput(f"a column with a {name} of {value}")
    return value


def unquote_label(value: str) -> str:
    """Remove the quotes of a label, which has the form of the statement."""
    quoted = len(value) > 1 and value[0] == value[-1] == "'"
    return value[1:-1].replace("''", "'") if quoted else value


def map_column_type(column: DeclaredColumn, connector: Connector) -> Type:
    """Map a declared column to its logical type; `Unknown` if its sizes are impossible for the type."""
    type = connector.declared_type(column)
    try:
        sound = parse_type(format_type(type)) == type
    except SchemamanError:
        sound = False
    return type if sound else Unknown(column.type_name)


def _make_column(column: DeclaredColumn, connector: Connector) -> Column:
    return Column(
        name=column.name,
        type=map_column_type(column, connector),
        nullable=column.nullable,
        default=column.default,
        comment=column.comment,
        source_type=format_type_expression(column.type_name, column.length, column.scale, column.enum_values),
    )
