"""The types of statements: each is what the connector declares and emits, as the sheets of types have it."""

from __future__ import annotations

import pytest

from schemaman.debezium.ddl.migrations.column_types import UserTypes, read_column_type
from schemaman.debezium.ddl.migrations.grammar import GRAMMARS
from schemaman.debezium.ddl.migrations.script import ScriptStatement, read_tokens
from schemaman.debezium.ddl.migrations.token_reader import StatementNotRead, TokenReader
from schemaman.model.ddl import format_type
from tests.support.type_sheets import rows


def read(sql: str, connector: str) -> tuple[str, str]:
    """The logical type of a type in SQL, and that in events."""
    grammar = GRAMMARS[connector]
    reader = TokenReader(read_tokens(ScriptStatement(sql, 1), grammar), grammar)
    type, source = read_column_type(reader, UserTypes({}, {}))
    assert reader.has_ended, sql
    return format_type(type), format_type(grammar.find_emitted_type(type, source))


def spell(connector: str, attributes: dict[str, object]) -> str:
    """A type as a statement would write it, from the parts that the driver of the database names."""
    name, length, scale = str(attributes["type_name"]), attributes.get("length"), attributes.get("scale")
    if name == "char" and connector == "postgresql":
        return '"char"'
    array = "[]" if name.startswith("_") else ""
    name = name.removeprefix("_").removesuffix(" identity")
    sized = f"{name}({length})" if length is not None else name
    if length in (2147483647, 1073741823):
        return (
            f"{name}(max)" if connector == "sqlserver" and name.startswith(("var", "nvar")) else name + array
        )
    if "()" in name:
        precision = f"({length},{scale})" if scale is not None else f"({length})"
        return name.replace(" ()", precision).replace("()", precision)
    match name.lower():
        case "decimal" | "numeric":
            return f"{name}({length},{scale})" + array if length != 131089 else name + array
        case "time" | "timetz" | "timestamp" | "timestamptz" | "datetime2" | "datetimeoffset" if (
            scale is not None
        ):
            return f"{name}({scale})" + array if connector != "sqlserver" or name != "timestamp" else name
        case "timestamp with time zone":
            return f"TIMESTAMP({scale}) WITH TIME ZONE"
        case "char" | "varchar" | "bpchar" | "bit" | "varbit" | "nchar" | "nvarchar" | "binary" | "varbinary":
            return name if connector == "sqlserver" and name == "bit" else sized + array
        case "graphic" | "vargraphic" | "decfloat":
            return sized
        case _:
            return name + array


@pytest.mark.parametrize("connector", sorted(GRAMMARS))
def test_a_type_of_a_statement_is_that_of_the_connector(connector: str) -> None:
    checked, declared = 0, None
    for row in rows(connector):
        if row.witness == "declared":
            declared = (
                row if "sql" in row.attributes or connector not in ("mysql", "mariadb", "oracle") else None
            )
            if declared is None:
                continue
            sql = row.attributes.get("sql") or spell(connector, row.attributes)
            if row.type.startswith("UNKNOWN"):
                with pytest.raises(StatementNotRead):
                    read(sql, connector)
                declared = None
                continue
            if row.attributes["type_name"] == "_bit":
                declared = None  # its records lack the length
                continue
            assert read(sql, connector)[0] == row.type, (row, sql)
            checked += 1
        elif row.witness == "emitted" and not row.told and declared is not None and row.type != "-":
            sql = declared.attributes.get("sql") or spell(connector, declared.attributes)
            if declared.attributes["type_name"] != "xml":
                assert read(sql, connector)[1] == row.type, (row, sql)
            declared = None
    assert checked >= 25
