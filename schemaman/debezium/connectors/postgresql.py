"""PostgreSQL: no schema-change topic; events have the structure, and some facts in it are late."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemaman.debezium.connector import Connector, DeclaredColumn, NamedType, SpelledType
from schemaman.debezium.connectors import _numbers
from schemaman.debezium.records import NO_POSITION, Position, PositionKind
from schemaman.model.name_adjustment import Release, restore_misread_name
from schemaman.model.types import (
    Array,
    Binary,
    Bits,
    Boolean,
    Date,
    Floating,
    Integer,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Time,
    Timestamp,
    Type,
    Unknown,
    Uuid,
    Xml,
)

_PLAIN: dict[str, Type] = {
    "bool": Boolean(),
    "int2": Integer(16),
    "smallserial": Integer(16),
    "int4": Integer(32),
    "serial": Integer(32),
    "int8": Integer(64),
    "bigserial": Integer(64),
    "oid": Integer(64),
    "float4": Floating(32),
    "float8": Floating(64),
    "text": String(),
    "citext": String(),
    "name": String(),
    "bytea": Binary(),
    "date": Date(),
    "interval": Interval(),
    "json": Json(),
    "jsonb": Json(),
    "xml": Xml(),
    "uuid": Uuid(),
    "inet": String(),
    "cidr": String(),
    "macaddr": String(),
    "macaddr8": String(),
    "ltree": String(),
    "tsvector": String(),
    "isbn": String(),
    "money": Numeric(),
    "hstore": Map(String(), String()),
    "vector": Array(Floating(32), nullable=False),
    "halfvec": Array(Floating(32), nullable=False),
}
_PLAIN |= {f"{kind}range": String() for kind in ("int4", "int8", "num", "ts", "tstz", "date")}
_DIGITS = 19
"""The most digits of an lsn. Source: Debezium SourceInfo of PostgreSQL, int64."""

_SEQUENCE = re.compile(r'\["([0-9]{1,19})",(?:"[0-9]*"|null)\]')
"""The text of `sequence` with a commit of at most `_DIGITS` digits; another text is parsed as JSON."""

_UNBOUNDED = (None, 0, 131089, 2147483647)

_CATALOGUE_NAMES = {
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


class Postgresql(Connector):
    """The PostgreSQL connector."""

    name = "postgresql"
    title = "PostgreSQL"
    append_only = True
    late_facts = True
    sends_replica_identity = True
    repeats_null_keys = True
    key_order_release: Release = (1, 9)
    """1.4 uses the order of the table in the stream, and that of the key in a snapshot. Source: recordings of
    1.4.2 and 1.9.8 with PostgreSQL 15."""

    correct_names_release: Release = (3, 5)
    """Up to 3.4 the stream misreads names beyond ASCII; the connector finds no such table in the catalogue.
    Source: recordings of Debezium 1.4 to 3.6 against PostgreSQL 15."""

    own_source_fields = frozenset({"lsn"})
    order: tuple[str, ...] = ("sequence", "lsn")

    def declared_type(self, column: DeclaredColumn) -> Type:
        """Return the logical type of a column by its name in `pg_type`.

        No release publishes structures; one tries to when an incremental snapshot meets a table that it does
        not know. Source: Debezium PostgresValueConverter, PgIncrementalSnapshotChangeEventSource.
        """
        name = column.type_name.lower()
        length = None if column.length in _UNBOUNDED else column.length
        digits = 6 if column.scale is None else column.scale
        match name:
            case "numeric":
                scale = _numbers.restore_scale_sign(column.scale or 0)
                return Numeric() if length is None else _numbers.make_decimal(length, scale)
            case "bpchar" | "char" | "varchar":
                return String(length, fixed=name != "varchar")
            case "bit" | "varbit":
                return Boolean() if name == "bit" and column.length == 1 else Bits(length)
            case "time" | "timetz":
                return Time(digits, zoned=name == "timetz")
            case "timestamp" | "timestamptz":
                return Timestamp(digits, zoned=name == "timestamptz")
            case _ if name.startswith("_"):
                element = self.declared_type(replace(column, type_name=name[1:]))
                return Unknown(column.type_name) if isinstance(element, Unknown) else Array(element)
            case _:
                return _PLAIN.get(name, Unknown(column.type_name))

    def position(self, source: Mapping[str, object]) -> Position:
        """Read the lsn, and the lsn of the last commit from `sequence[0]`; none for incremental snapshots.

        Source: Debezium SourceInfo of PostgreSQL: `sequence` is a JSON text of two texts or nulls, since 1.5.
        """
        lsn = source.get("lsn")
        if not isinstance(lsn, int):
            return NO_POSITION
        if lsn < 0:
            raise ValueError(f"a position that cannot be read: lsn {str(lsn)[:40]}")
        return Position("lsn", str(lsn), _read_commit(source.get("sequence")))

    def read_committed_ranks(
        self, sources: Mapping[str, Sequence[object]]
    ) -> tuple[PositionKind, Sequence[tuple[int, int]]] | None:
        """Read the two numbers of positions as they are usually written."""
        lsns: Any = sources.get("lsn", ())
        sequences: Any = sources.get("sequence", ())
        if set(map(type, lsns)) != {int} or set(map(type, sequences)) != {str} or min(lsns) < 0:
            return None
        usual = [found[1] for found in map(_SEQUENCE.fullmatch, sequences) if found is not None]
        return ("lsn", list(zip(map(int, usual), lsns, strict=True))) if len(usual) == len(lsns) else None

    def stream_position(self, source: Mapping[str, object]) -> Position | None:
        """Read the stream's position from `sequence`, which is that of the stream even if the row has no lsn.

        Source: Debezium SourceInfo of PostgreSQL.
        """
        sequence = source.get("sequence")
        if not isinstance(sequence, str):
            return None
        try:
            commit, lsn = json.loads(sequence)
            commit, lsn = (None if n is None else str(int(n)) for n in (commit, lsn))
        except (ValueError, TypeError):
            return None
        last = lsn or commit
        return None if last is None else Position("lsn", last, commit)

    def name_spelled_type(self, spelled: SpelledType) -> NamedType:
        """Name a type of a statement as the connector's driver or parser would name it, with its sizes."""
        name = _CATALOGUE_NAMES.get(spelled.name, spelled.name.lower())
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

    def read_name(self, name: str) -> str:
        """Restore a name that the stream misread byte by byte."""
        return restore_misread_name(name)


def _read_commit(sequence: object) -> str | None:
    usual = _SEQUENCE.fullmatch(sequence) if isinstance(sequence, str) else None
    if usual is not None:
        return usual[1]
    try:
        first = json.loads(sequence)[0] if isinstance(sequence, str) else None
    except (ValueError, LookupError, TypeError):
        return None
    is_number = isinstance(first, str) and first.isascii() and first.isdigit() and len(first) <= _DIGITS
    return first if is_number else None


CONNECTOR: Connector = Postgresql()
