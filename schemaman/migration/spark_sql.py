"""Names, types and statements of Spark SQL, which the targets share, and the reader of Spark's schema JSON.

Law: `read_columns` gives back the columns whose JSON Spark prints for a table that `create_table` made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from schemaman.errors import BadReference
from schemaman.model.ddl import parse_type, quote_name
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    Unknown,
)

_NAME_PATTERN = r"`(?:[^`]|``)+`"
TABLE_PATTERN = rf"{_NAME_PATTERN}(?:\.{_NAME_PATTERN})*"
"""Matches the name of a table as `quote_table_name` writes it; it may have blanks and brackets."""
NAMES_PATTERN = rf"{_NAME_PATTERN}(?:, {_NAME_PATTERN})*"
"""Matches names of columns, as a statement lists them."""
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_PLAIN: dict[str, Type] = {
    "boolean": Boolean(),
    "byte": Integer(8),
    "short": Integer(16),
    "integer": Integer(32),
    "long": Integer(64),
    "float": Floating(32),
    "double": Floating(64),
    "string": String(),
    "binary": Binary(),
    "date": Date(),
    "timestamp": Timestamp(),
    "timestamp_ntz": Timestamp(zoned=False),
}


def literal(text: str) -> str:
    """Write a string literal. `${…}` is escaped against Spark's variable substitution."""
    escaped = "".join(_ESCAPES.get(ch, ch) for ch in text)
    return "'" + escaped.replace("${", "\\u0024{") + "'"


def unescape_literal(text: str) -> str:
    """Read the text of a string literal that `literal` wrote, given without its quotes."""
    texts = {code: char for char, code in _ESCAPES.items()} | {"\\u0024": "$"}
    return re.sub(r"\\(?:u0024|.)", lambda code: texts[code[0]], text)


def path_name(path: Path) -> str:
    """Write the path of a column or nested field, with back-ticks around every part."""
    return ".".join(quote_name(part) for part in path)


def type_name(type: Type) -> str:
    """Write a type as Spark SQL does.

    Raises:
        ValueError: no table format holds this type; call `Target.hold_type` first.
    """
    match type:
        case Boolean():
            return "BOOLEAN"
        case Integer(bits, True):
            return _INTEGERS[bits]
        case Floating(bits):
            return "FLOAT" if bits == 32 else "DOUBLE"
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case String(None):
            return "STRING"
        case String(length, fixed):
            return f"{'CHAR' if fixed else 'VARCHAR'}({length})"
        case Binary():
            return "BINARY"
        case Date():
            return "DATE"
        case Timestamp(_, zoned):
            return "TIMESTAMP" if zoned else "TIMESTAMP_NTZ"
        case Array(element):
            return f"ARRAY<{type_name(element)}>"
        case Map(key, value):
            return f"MAP<{type_name(key)}, {type_name(value)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(define_column(f, ': ') for f in fields)}>"
        case Unknown("variant"):
            return "VARIANT"
        case _:
            raise ValueError(f"no Spark SQL type for {type!r}")


def split_table_name(table: str) -> tuple[str, ...]:
    """Split a table name at its dots; back-ticks keep a part together.

    Raises:
        BadReference: an empty part, a back-tick that is not closed, or `${`.
    """
    refuse_variables(table)
    parts: list[str] = []
    at = 0
    while True:
        match = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)").match(table, at)
        if match is None:
            raise BadReference(
                f"{table!r} is no table name: no part of a name at character {at}",
                hint="write catalog.schema.table, with back-ticks around parts with other characters",
            )
        parts.append(match[1].replace("``", "`") if match[1] is not None else match[2])
        at = match.end()
        if at == len(table):
            return tuple(parts)
        if table[at] != ".":
            raise BadReference(f"{table!r} is no table name: expected a dot at character {at}")
        at += 1


def refuse_variables(table: str) -> None:
    """Refuse a table name or path with `${…}`, into which Spark puts settings and environment variables.

    Source: Spark `VariableSubstitution`, `spark.sql.variable.substitute`; it sees names in back-ticks, too.

    Raises:
        BadReference: the name holds `${`.
    """
    if "${" in table:
        raise BadReference(
            f"{table!r}: Spark would take ${{…}} for a variable inside any statement",
            hint="give the lake table a name without it",
        )


def quote_table_name(parts: Iterable[str]) -> str:
    """Write a table or namespace name with every part in back-ticks."""
    return ".".join(quote_name(part) for part in parts)


def format_table_name(parts: Iterable[str]) -> str:
    """Write a table name with back-ticks only around the parts that need them."""
    return ".".join(part if re.fullmatch(r"\w+", part, re.ASCII) else quote_name(part) for part in parts)


def create_table(name: str, schema: TableSchema, provider: str, properties: Mapping[str, str]) -> str:
    """Write `CREATE TABLE` with columns, NOT NULL, comments and properties."""
    columns = ",\n".join(f"  {define_column(c, ' ')}" for c in schema.columns)
    lines = [f"CREATE TABLE {name} (\n{columns}\n)", f"USING {provider}"]
    if schema.comment:
        lines.append(f"COMMENT {literal(schema.comment)}")
    if properties:
        lines.append(f"TBLPROPERTIES ({_assignments(properties)})")
    return "\n".join(lines)


def create_namespace(parts: Sequence[str]) -> str:
    """Write `CREATE NAMESPACE`, which succeeds if the namespace exists."""
    return f"CREATE NAMESPACE IF NOT EXISTS {quote_table_name(parts)}"


def add_columns(name: str, added: Sequence[tuple[Path, Column | Field]]) -> str:
    """Write `ADD COLUMNS`: each at the end of its table or struct, and nullable, as every format requires."""
    rows = [f"{path_name(path)} {type_name(c.type)}{_comment(c.comment)}" for path, c in added]
    return f"ALTER TABLE {name} ADD COLUMNS ({', '.join(rows)})"


def alter_columns(name: str, actions: Sequence[tuple[Path, str]]) -> str:
    """Write `ALTER COLUMN` with one action for each column; Spark 3.5 takes one column."""
    listed = ", ".join(f"{path_name(path)} {action}" for path, action in actions)
    return f"ALTER TABLE {name} ALTER COLUMN {listed}"


def rename_column(name: str, path: Path, new: str) -> str:
    """Write `RENAME COLUMN`; one statement renames one column."""
    return f"ALTER TABLE {name} RENAME COLUMN {path_name(path)} TO {quote_name(new)}"


def rename_table(name: str, parts: Sequence[str]) -> str:
    """Write `RENAME TO` for a table; `parts` are those of the new name without its catalogue.

    Source: Spark `RenameTableExec`, which takes all parts for the name within the catalogue of the table.
    """
    return f"ALTER TABLE {name} RENAME TO {quote_table_name(parts)}"


def drop_columns(name: str, paths: Sequence[Path]) -> str:
    """Write `DROP COLUMNS`."""
    return f"ALTER TABLE {name} DROP COLUMNS ({', '.join(path_name(p) for p in paths)})"


def comment_on_table(name: str, comment: str | None) -> str:
    """Write `COMMENT ON TABLE`."""
    return f"COMMENT ON TABLE {name} IS {'NULL' if comment is None else literal(comment)}"


def set_properties(name: str, properties: Mapping[str, str]) -> str:
    """Write `SET TBLPROPERTIES`."""
    return f"ALTER TABLE {name} SET TBLPROPERTIES ({_assignments(properties)})"


def read_set_properties(statement: str, names: Iterable[str]) -> dict[str, str]:
    """Read the properties of the given names, with their values, from a statement of `set_properties`."""
    found: dict[str, str] = {}
    for name in names:
        assignment = re.search(rf"{re.escape(literal(name))} = '((?:[^'\\]|\\.)*)'", statement)
        if assignment is not None:
            found[name] = unescape_literal(assignment[1])
    return found


def unset_properties(name: str, keys: Iterable[str]) -> str:
    """Write `UNSET TBLPROPERTIES`, which accepts missing keys."""
    return f"ALTER TABLE {name} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(literal, sorted(keys)))})"


def add_check(name: str, constraint: str, expression: str) -> str:
    """Write `ADD CONSTRAINT … CHECK`, which reads every row."""
    return f"ALTER TABLE {name} ADD CONSTRAINT {quote_name(constraint)} CHECK ({expression})"


def drop_check(name: str, constraint: str) -> str:
    """Write `DROP CONSTRAINT`."""
    return f"ALTER TABLE {name} DROP CONSTRAINT {quote_name(constraint)}"


def update_rows(name: str, assigned: Sequence[tuple[str | Path, str]], where: str) -> str:
    """Write the `UPDATE` of the rows that match `where`; columns by name or path, values as SQL."""
    named = ((path_name((to,) if isinstance(to, str) else to), value) for to, value in assigned)
    listed = ", ".join(f"{column} = {value}" for column, value in named)
    return f"UPDATE {name} SET {listed} WHERE {where}"


def count_rows(name: str, where: str) -> str:
    """Write the query for the number of rows that match `where`."""
    return f"SELECT count(*) FROM {name} WHERE {where}"


def set_identifier_fields(name: str, columns: Sequence[str]) -> str:
    """Write `SET IDENTIFIER FIELDS`, a statement of Iceberg's SQL extension."""
    return f"ALTER TABLE {name} SET IDENTIFIER FIELDS {', '.join(quote_name(c) for c in columns)}"


def drop_identifier_fields(name: str, columns: Sequence[str]) -> str:
    """Write `DROP IDENTIFIER FIELDS`."""
    return f"ALTER TABLE {name} DROP IDENTIFIER FIELDS {', '.join(quote_name(c) for c in columns)}"


def set_identifier_paths(name: str, paths: Iterable[Path]) -> str:
    """Write `SET IDENTIFIER FIELDS` for columns and nested fields."""
    return f"ALTER TABLE {name} SET IDENTIFIER FIELDS {', '.join(map(path_name, paths))}"


def drop_identifier_paths(name: str, paths: Iterable[Path]) -> str:
    """Write `DROP IDENTIFIER FIELDS` for columns and nested fields."""
    return f"ALTER TABLE {name} DROP IDENTIFIER FIELDS {', '.join(map(path_name, paths))}"


def format_identifiers(columns: Iterable[str]) -> str:
    """Format identifier fields as a property that can be compared: Iceberg keeps a set, in no order."""
    return json.dumps(sorted(columns), ensure_ascii=False)


def read_columns(text: str) -> tuple[Column, ...]:
    """Read the columns of a table from the JSON that Spark prints for its schema.

    A type that no target creates is `Unknown`. Source: Spark `DataType.fromJson`; VARCHAR and CHAR are in
    the metadata `__CHAR_VARCHAR_TYPE_STRING` (Spark `CharVarcharUtils`).
    """
    return tuple(
        Column(f.name, f.type, f.nullable, comment=f.comment) for f in _read_fields(json.loads(text))
    )


def read_defaults(text: str) -> dict[str, str]:
    """Read the defaults of columns from the JSON that Spark prints for a table's schema.

    Source: Spark `ResolveDefaultColumns.CURRENT_DEFAULT_COLUMN_METADATA_KEY`; Delta and Iceberg both set it.
    """
    metadata = {str(f["name"]): f.get("metadata", {}) for f in json.loads(text)["fields"]}
    return {
        name: str(each["CURRENT_DEFAULT"]) for name, each in metadata.items() if "CURRENT_DEFAULT" in each
    }


def define_column(column: Column | Field, separator: str) -> str:
    """Define a column, or with the separator `: ` a nested field, with NOT NULL and comment."""
    null = "" if column.nullable else " NOT NULL"
    return f"{quote_name(column.name)}{separator}{type_name(column.type)}{null}{_comment(column.comment)}"


def _comment(comment: str | None) -> str:
    return f" COMMENT {literal(comment)}" if comment else ""


def _assignments(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in sorted(properties.items()))


def _read_fields(struct: Mapping[str, object]) -> tuple[Field, ...]:
    found: list[Field] = []
    fields = struct["fields"]
    assert isinstance(fields, list)
    for field in fields:
        metadata = field.get("metadata", {})
        type = _restore_sizes(_read_type(field["type"]), metadata.get("__CHAR_VARCHAR_TYPE_STRING", ""))
        found.append(Field(field["name"], type, field["nullable"], metadata.get("comment") or None))
    return tuple(found)


def _restore_sizes(type: Type, written: str) -> Type:
    """Restore CHAR and VARCHAR in a type from the text that Spark keeps of the whole column's type.

    The text names fields without quotes, so the type says where each name ends. A text that does not fit the
    type restores nothing. Source: Spark `StructType.catalogString`, `CharVarcharUtils`.
    """
    try:
        restored, rest = _take_type(type, written)
    except ValueError:
        return type
    return type if rest else restored


def _take_type(type: Type, text: str) -> tuple[Type, str]:
    """Take a type from the beginning of a text; return it, and the rest of the text."""
    match type:
        case Struct(fields):
            text = _take(text, "struct<")
            found: list[Field] = []
            for number, field in enumerate(fields):
                inner, text = _take_type(field.type, _take(text, f"{',' * (number > 0)}{field.name}:"))
                found.append(replace(field, type=inner))
            return Struct(tuple(found)), _take(text, ">")
        case Array(element):
            inner, text = _take_type(element, _take(text, "array<"))
            return replace(type, element=inner), _take(text, ">")
        case Map(key, value):
            first, text = _take_type(key, _take(text, "map<"))
            second, text = _take_type(value, _take(text, ","))
            return replace(type, key=first, value=second), _take(text, ">")
        case _:
            plain = re.match(r"[a-z_]+(?:\([^)]*\))?", text)
            if plain is None:
                raise ValueError(text)
            sized = re.fullmatch(r"(?:var)?char\(\d+\)", plain[0])
            return parse_type(plain[0]) if sized else type, text[plain.end() :]


def _take(text: str, words: str) -> str:
    if not text.startswith(words):
        raise ValueError(text)
    return text[len(words) :]


def _read_type(document: object) -> Type:
    if isinstance(document, str):
        decimal = re.fullmatch(r"decimal\((\d+),(-?\d+)\)", document)
        if decimal:
            return Decimal(int(decimal[1]), int(decimal[2]))
        return _PLAIN.get(document, Unknown(document))
    assert isinstance(document, dict)
    match document["type"]:
        case "struct":
            return Struct(_read_fields(document))
        case "array":
            return Array(_read_type(document["elementType"]), document["containsNull"])
        case "map":
            return Map(
                _read_type(document["keyType"]),
                _read_type(document["valueType"]),
                document["valueContainsNull"],
            )
        case other:
            return Unknown(str(other))
