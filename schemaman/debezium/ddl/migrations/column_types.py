"""Reads the type of a column in a statement, as the connector's driver or parser would name it.

Sources: the SQL references of the databases, data types; Debezium's DDL parsers and the JDBC drivers, which
name the types and fill the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemaman.debezium.connector import CONNECTORS, DeclaredColumn
from schemaman.debezium.connectors._type_expression import format_type_expression
from schemaman.debezium.ddl.migrations.token_reader import StatementNotRead, TokenReader
from schemaman.debezium.table_changes import map_column_type
from schemaman.model.types import Array, Enum, Type, Unknown

_CONTINUED: Mapping[str, tuple[str, ...]] = {
    "DOUBLE": ("PRECISION",),
    "CHARACTER": ("VARYING", "LARGE"),
    "CHAR": ("VARYING", "LARGE"),
    "NCHAR": ("VARYING", "VARCHAR"),
    "NATIONAL": ("CHARACTER", "CHAR", "VARCHAR"),
    "LONG": ("VARCHAR", "VARBINARY", "RAW", "VARGRAPHIC"),
    "BIT": ("VARYING",),
    "BINARY": ("VARYING", "LARGE"),
    "LARGE": ("OBJECT",),
}
"""The words that continue a type, by the word before."""

_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_INTERVAL_WORDS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO")


@dataclass(frozen=True, slots=True)
class UserTypes:
    """Types that earlier statements created: the labels of enums, and the types of domains, by name."""

    enums: Mapping[str, tuple[str, ...]]
    domains: Mapping[str, tuple[Type, str]]


NO_TYPES = UserTypes({}, {})


@dataclass(frozen=True, slots=True)
class _SpelledType:
    """A type as spelled: its words in capitals, its sizes, its labels; `dimensions` is that of an array."""

    words: tuple[str, ...]
    sizes: tuple[int | None, ...] = ()
    labels: tuple[str, ...] = ()
    is_max: bool = False
    dimensions: int = 0
    kept: str = ""

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def first(self) -> int | None:
        return self.sizes[0] if self.sizes else None

    @property
    def second(self) -> int | None:
        return self.sizes[1] if len(self.sizes) > 1 else None


_Named = tuple[str, int | None, int | None]
"""The name of a type, its length and its scale, as `DeclaredColumn` has them."""


def read_column_type(reader: TokenReader, types: UserTypes) -> tuple[Type, str]:
    """Read a type; return the logical type and the database's own word for it.

    Raises:
        StatementNotRead: the type is not known.
    """
    spelled = _read_spelled_type(reader)
    if not spelled.sizes and spelled.kept in types.enums:
        return _wrap(Enum(types.enums[spelled.kept]), spelled), spelled.kept
    if not spelled.sizes and spelled.kept in types.domains:
        type, source = types.domains[spelled.kept]
        return _wrap(type, spelled), source
    connector = reader.grammar.connector
    name, length, scale = _NAMED[connector](spelled)
    labels = spelled.labels or None
    column = DeclaredColumn("c", 0, name, None, length, scale, 1, True, enum_values=labels)
    mapped = map_column_type(column, CONNECTORS.get(connector))
    if isinstance(mapped, Unknown):
        raise StatementNotRead(f"the type {spelled.kept or spelled.name} is not known")
    return _wrap(mapped, spelled), format_type_expression(name, length, scale, labels) + "[]" * bool(
        spelled.dimensions
    )


def _wrap(type: Type, spelled: _SpelledType) -> Type:
    """Arrays of several dimensions have one type, whatever their number. Source: PostgreSQL, Arrays."""
    return Array(type) if spelled.dimensions else type


def _read_spelled_type(reader: TokenReader) -> _SpelledType:
    parts = [reader.peek()]
    kept = reader.read_name()
    while reader.accept("."):
        parts.append(reader.peek())
        kept = reader.read_name()
    words = [parts[-1].text.upper()]
    if words == ["CHAR"] and parts[-1].kind == "name" and reader.grammar.dollar_quotes:
        return _SpelledType(('"CHAR"',), kept=kept)
    if words == ["INTERVAL"]:
        return _read_interval(reader, kept)
    while word := reader.accept_any(*_CONTINUED.get(words[-1], ())):
        words.append(word)
    sizes, labels, is_max = _read_sizes(reader) if reader.is_next("(") else ((), (), False)
    if words[-1] in ("TIME", "TIMESTAMP"):
        if reader.is_any("WITH", "WITHOUT") and reader.peek(1).is_word("TIME", "LOCAL"):
            zone = [reader.take().text]
            zone += ["LOCAL"] * reader.accept("LOCAL")
            reader.expect("TIME", "ZONE")
            words += [*zone, "TIME", "ZONE"] if zone[0] == "WITH" else []
    elif reader.accept("FOR", "BIT", "DATA"):
        words += ["FOR", "BIT", "DATA"]
    while word := reader.accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
        words.append(word)
    return _SpelledType(tuple(words), sizes, labels, is_max, _read_dimensions(reader), kept)


def _read_dimensions(reader: TokenReader) -> int:
    """Read the dimensions of an array: `[]`, `[3]` or ARRAY. Source: PostgreSQL, Arrays."""
    dimensions = int(reader.accept("ARRAY"))
    while reader.is_next("[") and reader.grammar.dollar_quotes:
        reader.skip_brackets()
        dimensions += 1
    return dimensions


def _read_interval(reader: TokenReader, kept: str) -> _SpelledType:
    words = ["INTERVAL"]
    sizes: list[int | None] = []
    while True:
        if word := reader.accept_any(*_INTERVAL_WORDS):
            words.append(word)
        elif reader.is_next("("):
            sizes += _read_sizes(reader)[0]
        else:
            return _SpelledType(tuple(words), tuple(sizes), dimensions=_read_dimensions(reader), kept=kept)


def _read_sizes(reader: TokenReader) -> tuple[tuple[int | None, ...], tuple[str, ...], bool]:
    """Read the sizes or labels in brackets, and whether the size is `max`; `*` is None."""
    reader.expect("(")
    sizes: list[int | None] = []
    labels: list[str] = []
    is_max = False
    while True:
        token = reader.take()
        sign = -1 if token.text == "-" else 1
        token = reader.take() if token.text in ("-", "+") and token.kind == "sign" else token
        digits = token.spelled.rstrip("KMGkmg")
        if token.kind == "text":
            labels.append(token.text)
        elif token.is_word("MAX"):
            is_max = True
        elif token.text == "*" and token.kind == "sign":
            sizes.append(None)
        elif digits.isdecimal() and digits.isascii() and len(digits) <= 10:
            unit = token.spelled[len(digits) :].upper() or reader.accept_any(*_UNITS)
            sizes.append(sign * int(digits) * _UNITS.get(unit, 1))
            reader.accept_any("CHAR", "BYTE", "OCTETS", "CODEUNITS16", "CODEUNITS32")
        else:
            raise StatementNotRead(f"the size {token.spelled[:40]!r} of a type is no number")
        if not reader.accept(","):
            reader.expect(")")
            return tuple(sizes), tuple(labels), is_max


def _name_postgresql(spelled: _SpelledType) -> _Named:
    name = _POSTGRESQL.get(spelled.name, spelled.name.lower())
    match name:
        case "numeric":
            return (
                name,
                spelled.first,
                0 if spelled.first is not None and spelled.second is None else spelled.second,
            )
        case "bpchar" | "bit":
            return name, 1 if spelled.first is None and spelled.name != "BPCHAR" else spelled.first, None
        case "char":
            return name, 1, None
        case "float":
            return "float4" if spelled.first is not None and spelled.first <= 24 else "float8", None, None
        case "time" | "timetz" | "timestamp" | "timestamptz":
            return name, None, spelled.first
        case _ if name.startswith("interval"):
            return "interval", None, spelled.first
        case _:
            return name, spelled.first, None


_POSTGRESQL = {
    "BOOLEAN": "bool", "SMALLINT": "int2", "INT": "int4", "INTEGER": "int4", "BIGINT": "int8",
    "REAL": "float4", "DOUBLE PRECISION": "float8", "DECIMAL": "numeric", "DEC": "numeric",
    "CHARACTER VARYING": "varchar", "CHAR VARYING": "varchar", "NATIONAL CHARACTER VARYING": "varchar",
    "NATIONAL CHAR VARYING": "varchar", "NCHAR VARYING": "varchar",
    "CHARACTER": "bpchar", "CHAR": "bpchar", "NATIONAL CHARACTER": "bpchar", "NATIONAL CHAR": "bpchar",
    "NCHAR": "bpchar", '"CHAR"': "char", "BIT VARYING": "varbit",
    "TIME WITH TIME ZONE": "timetz", "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "SERIAL4": "serial", "SERIAL8": "bigserial", "SERIAL2": "smallserial",
}  # fmt: skip
"""The names in `pg_type` of types with other names. Source: PostgreSQL, Data Types, Table 8.1."""


def _name_mysql(spelled: _SpelledType) -> _Named:
    length = 1 if spelled.name == "BIT" and spelled.first is None else spelled.first
    return spelled.name, length, spelled.second


def _name_oracle(spelled: _SpelledType) -> _Named:
    match spelled.name:
        case "INTEGER" | "INT" | "SMALLINT":
            return "NUMBER", 38, 0
        case "NUMBER" | "DECIMAL" | "NUMERIC" | "DEC":
            if not spelled.sizes:
                return ("NUMBER", 38, None) if spelled.name == "NUMBER" else ("NUMBER", 38, 0)
            # Debezium's parser reads no scale behind an asterisk
            is_open = spelled.first is None
            return "NUMBER", 38 if is_open else spelled.first, 0 if is_open else spelled.second or 0
        case "FLOAT":
            return "FLOAT", spelled.first or 126, None
        case "REAL":
            return "FLOAT", 63, None
        case "DOUBLE PRECISION":
            return "FLOAT", 126, None
        case "VARCHAR" | "CHARACTER VARYING" | "CHAR VARYING":
            return "VARCHAR2", spelled.first, None
        case "CHARACTER":
            return "CHAR", spelled.first or 1, None
        case name if name.startswith("TIMESTAMP"):
            return name, 6 if spelled.first is None else spelled.first, None
        case name:
            return name, spelled.first, spelled.second


def _name_sqlserver(spelled: _SpelledType) -> _Named:
    name = _SQLSERVER.get(spelled.name, spelled.name.lower())
    match name:
        case "decimal" | "numeric":
            return name, 18 if spelled.first is None else spelled.first, spelled.second or 0
        case "float":
            return "real" if spelled.first is not None and spelled.first <= 24 else name, None, None
        case "time" | "datetime2" | "datetimeoffset":
            return name, None, 7 if spelled.first is None else spelled.first
        case "char" | "varchar" | "nchar" | "nvarchar" | "binary" | "varbinary":
            return name, 2147483647 if spelled.is_max else 1 if spelled.first is None else spelled.first, None
        case _:
            return name, spelled.first, spelled.second


_SQLSERVER = {
    "INTEGER": "int", "DEC": "decimal", "DOUBLE PRECISION": "float", "CHARACTER": "char",
    "CHARACTER VARYING": "varchar", "CHAR VARYING": "varchar", "BINARY VARYING": "varbinary",
    "NATIONAL CHARACTER": "nchar", "NATIONAL CHAR": "nchar", "NATIONAL CHARACTER VARYING": "nvarchar",
    "NATIONAL CHAR VARYING": "nvarchar",
}  # fmt: skip


def _name_db2(spelled: _SpelledType) -> _Named:
    is_bits = spelled.words[-3:] == ("FOR", "BIT", "DATA")
    plain = " ".join(spelled.words[:-3] if is_bits else spelled.words)
    name = _DB2.get(plain, plain)
    if is_bits:
        return f"{name} () FOR BIT DATA", 1 if spelled.first is None else spelled.first, None
    match name:
        case "CHAR" | "NCHAR" | "GRAPHIC" | "BINARY":
            return name, 1 if spelled.first is None else spelled.first, None
        case "DECIMAL" | "NUMERIC":
            return name, 5 if spelled.first is None else spelled.first, spelled.second or 0
        case "FLOAT":
            return "REAL" if spelled.first is not None and spelled.first <= 24 else "DOUBLE", None, None
        case "DECFLOAT":
            return name, 34 if spelled.first is None else spelled.first, None
        case _ if name.startswith("TIMESTAMP"):
            return name, None, 6 if spelled.first is None else spelled.first
        case _:
            return name, spelled.first, spelled.second


_DB2 = {
    "INT": "INTEGER", "DEC": "DECIMAL", "NUM": "NUMERIC", "DOUBLE PRECISION": "DOUBLE", "CHARACTER": "CHAR",
    "CHARACTER VARYING": "VARCHAR", "CHAR VARYING": "VARCHAR", "NCHAR VARYING": "NVARCHAR",
    "CHARACTER LARGE OBJECT": "CLOB", "CHAR LARGE OBJECT": "CLOB", "BINARY LARGE OBJECT": "BLOB",
    "BINARY VARYING": "VARBINARY",
}  # fmt: skip

_NAMED: Mapping[str, Callable[[_SpelledType], _Named]] = {
    "postgresql": _name_postgresql,
    "mysql": _name_mysql,
    "mariadb": _name_mysql,
    "oracle": _name_oracle,
    "sqlserver": _name_sqlserver,
    "db2": _name_db2,
}
