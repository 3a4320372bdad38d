"""Reads the type of a column in a statement, as the connector's driver or parser would name it.

Sources: the SQL references of the databases, data types; Debezium's DDL parsers and the JDBC drivers, which
name the types and fill the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.debezium.connector import CONNECTORS, DeclaredColumn, SpelledType
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
    connector = CONNECTORS.get(reader.grammar.connector)
    name, length, scale = connector.name_spelled_type(spelled)
    labels = spelled.labels or None
    column = DeclaredColumn("c", 0, name, None, length, scale, 1, True, enum_values=labels)
    mapped = map_column_type(column, connector)
    if isinstance(mapped, Unknown):
        raise StatementNotRead(f"the type {spelled.kept or spelled.name} is not known")
    return _wrap(mapped, spelled), format_type_expression(name, length, scale, labels) + "[]" * bool(
        spelled.dimensions
    )


def _wrap(type: Type, spelled: SpelledType) -> Type:
    """Arrays of several dimensions have one type, whatever their number. Source: PostgreSQL, Arrays."""
    return Array(type) if spelled.dimensions else type


def _read_spelled_type(reader: TokenReader) -> SpelledType:
    parts = [reader.peek()]
    kept = reader.read_name()
    while reader.accept("."):
        parts.append(reader.peek())
        kept = reader.read_name()
    words = [parts[-1].text.upper()]
    if words == ["CHAR"] and parts[-1].kind == "name" and reader.grammar.dollar_quotes:
        return SpelledType(('"CHAR"',), kept=kept)
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
    return SpelledType(tuple(words), sizes, labels, is_max, _read_dimensions(reader), kept)


def _read_dimensions(reader: TokenReader) -> int:
    """Read the dimensions of an array: `[]`, `[3]` or ARRAY. Source: PostgreSQL, Arrays."""
    dimensions = int(reader.accept("ARRAY"))
    while reader.is_next("[") and reader.grammar.dollar_quotes:
        reader.skip_brackets()
        dimensions += 1
    return dimensions


def _read_interval(reader: TokenReader, kept: str) -> SpelledType:
    words = ["INTERVAL"]
    sizes: list[int | None] = []
    while True:
        if word := reader.accept_any(*_INTERVAL_WORDS):
            words.append(word)
        elif reader.is_next("("):
            sizes += _read_sizes(reader)[0]
        else:
            return SpelledType(tuple(words), tuple(sizes), dimensions=_read_dimensions(reader), kept=kept)


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
