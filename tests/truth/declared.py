"""What a Db2 or MariaDB catalogue calls a type, as the dialect of that connector reads it."""

from __future__ import annotations

import re
from collections.abc import Callable

from schemaman.debezium.connector import DeclaredColumn
from schemaman.debezium.connectors import db2, mariadb
from schemaman.model.ddl import format_type
from schemaman.model.types import without_labels
from tests.truth.tables import TrueColumn

_WRITTEN = re.compile(r"([a-z ]+?)(?:\((.*)\))?( unsigned)?")


def declared_by(connector: str) -> Callable[[TrueColumn], str]:
    """The logical type in words of a column as the catalogue describes it."""
    return _db2 if connector == "db2" else _mariadb


def _db2(column: TrueColumn) -> str:
    return _words(db2.CONNECTOR.declared_type(_column(column, column.type, column.size, column.scale)))


def _mariadb(column: TrueColumn) -> str:
    if column.type == "longtext" and column.collation == "utf8mb4_bin":
        # MariaDB documentation, "JSON Data Type": an alias of LONGTEXT COLLATE utf8mb4_bin
        return _words(mariadb.CONNECTOR.declared_type(_column(column, "JSON", None, None)))
    match = _WRITTEN.fullmatch(column.type)
    assert match is not None, column.type
    name, inside, unsigned = match[1], match[2] or "", match[3] or ""
    if name in ("enum", "set"):
        labels = tuple(label.strip("'") for label in inside.split(","))
        made = _column(column, name.upper(), None, None, labels)
    else:
        length, _, scale = inside.partition(",")
        made = _column(column, (name + unsigned).upper(), _number(length), _number(scale))
    return _words(mariadb.CONNECTOR.declared_type(made))


def _column(
    column: TrueColumn,
    name: str,
    length: int | None,
    scale: int | None,
    labels: tuple[str, ...] | None = None,
) -> DeclaredColumn:
    return DeclaredColumn(column.name, 0, name, name, length, scale, 1, column.nullable, enum_values=labels)


def _number(text: str) -> int | None:
    return int(text) if text else None


def _words(type) -> str:
    return format_type(without_labels(type))
