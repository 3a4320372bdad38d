"""What Debezium's default modes put on the wire for a PostgreSQL column, as logical types in words.

Source: Debezium PostgreSQL connector, "Data type mappings", with `decimal.handling.mode=precise`,
`time.precision.mode=adaptive`, `binary.handling.mode=bytes`, `hstore.handling.mode=json`,
`interval.handling.mode=numeric`; each line was also seen in a recording.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.truth.tables import TrueColumn

_WIRE = (
    (r"bit\(1\)", "BOOLEAN"),
    (r"bit\((\d+)\)", "BITS({})"),
    (r"bit varying\((\d+)\)", "BITS({})"),
    (r"numeric\((\d+),(\d+)\)", "DECIMAL({},{})"),
    (r"numeric\(5,-2\)", "DECIMAL(7,0)"),
    (r"numeric", "NUMERIC"),
    (r"money", "DECIMAL(38,2)"),
    (
        r"(?:character varying|character|text|citext|name|inet|cidr|macaddr8?|int4range|tsrange)(?:\(\d+\))?",
        "STRING",
    ),
    (r"tsvector", "STRING"),
    (r"smallint", "SMALLINT"),
    (r"integer", "INT"),
    (r"bigint|oid", "BIGINT"),
    (r"real", "FLOAT"),
    (r"double precision", "DOUBLE"),
    (r"boolean", "BOOLEAN"),
    (r"bytea", "BINARY"),
    (r"date", "DATE"),
    (r"time\([0-3]\) without time zone", "TIME(3)"),
    (r"time(?:\([4-6]\))? without time zone", "TIME(6)"),
    (r"time with time zone", "TIMETZ(6)"),
    (r"timestamp\([0-3]\) without time zone", "TIMESTAMP_NTZ(3)"),
    (r"timestamp(?:\([4-6]\))? without time zone", "TIMESTAMP_NTZ(6)"),
    (r"timestamp(?:\(\d\))? with time zone", "TIMESTAMP(6)"),
    (r"interval", "INTERVAL DAY TO SECOND"),
    (r"uuid", "UUID"),
    (r"jsonb?|hstore", "JSON"),
    (r"xml", "XML"),
    (r"point", "STRUCT<x: DOUBLE NOT NULL, y: DOUBLE NOT NULL, wkb: BINARY, srid: INT>"),
)


def on_the_wire(column: TrueColumn) -> str:
    """The logical type in words, enum labels left out; `?type` for one that this table does not know."""
    element = column.type.removesuffix("[]")
    if column.labels or element.startswith("shop."):
        word = "ENUM"
    else:
        word = next((_filled(w, m) for p, w in _WIRE if (m := re.fullmatch(p, element))), f"?{element}")
    if element == column.type:
        return word
    # The items of an array are optional, but for an array of enums.
    return f"ARRAY<{word}{' NOT NULL' if word == 'ENUM' else ''}>"


_MYSQL = (
    (r"(?:VAR)?CHAR\(\d+\)", "STRING"),
    (r"BINARY\(\d+\)", "BINARY"),
    (r"TINYINT(?: UNSIGNED)?", "SMALLINT"),
    (r"(?:BIG)?INT UNSIGNED", "BIGINT"),
    (r"FLOAT", "DOUBLE"),
    (r"TIME\([0-6]\)", "TIME(6)"),
    (r"TIMESTAMP_NTZ\([0-3]\)", "TIMESTAMP_NTZ(3)"),
    (r"TIMESTAMP\([0-6]\)", "TIMESTAMP(6)"),
)
"""What the MySQL connector 1.4 makes of a declared type. Source: Debezium MySQL connector, "Data type
mappings", `time.precision.mode=adaptive_time_microseconds`, `bigint.unsigned.handling.mode=long`."""


def as_mysql_emits(declared: Callable[[TrueColumn], str]) -> Callable[[TrueColumn], str]:
    """The same oracle where a connector publishes no structures, so that the types of events stand."""

    def on_the_wire(column: TrueColumn) -> str:
        word = declared(column)
        return next((wire for pattern, wire in _MYSQL if re.fullmatch(pattern, word)), word)

    return on_the_wire


def _filled(word: str, match: re.Match[str]) -> str:
    return word.format(*match.groups())
