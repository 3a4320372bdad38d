"""Which type of the lake may hold which type of a source without losing anything; in the words of both.

Sources: PostgreSQL 15 documentation, chapter 8; MariaDB documentation, "Data Types"; Spark SQL, "Data Types".
"""

from __future__ import annotations

import re

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_INTEGERS = {
    "tinyint": 8, "smallint": 16, "mediumint": 32, "int": 32, "integer": 32, "oid": 64, "bigint": 64,
    "year": 16,
}  # fmt: skip
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def inside(type: str) -> str:
    """The element of an ARRAY<…>."""
    return type[type.index("<") + 1 : type.rindex(">")]


def holds(lake: str, source: str) -> bool:
    """Whether every value of a source type is one of a lake type, exactly."""
    lake = lake.upper().strip()
    if source.endswith("[]"):
        return lake.startswith("ARRAY<") and holds(inside(lake), source[:-2])
    word = re.split(r"[ (]", source)[0]
    if lake == "STRING":
        return word not in _NEVER_TEXT and not (word in ("numeric", "decimal") and _fits(source))
    if word in _INTEGERS:
        return _holds_integer(lake, _INTEGERS[word], "unsigned" in source)
    if word in ("numeric", "decimal"):
        return _holds_decimal(lake, source)
    if word == "money":
        return lake.startswith("DECIMAL(")
    if word in ("timestamp", "datetime"):
        zoned = source.endswith("with time zone") or (word == "timestamp" and "time zone" not in source)
        return lake == ("TIMESTAMP" if zoned else "TIMESTAMP_NTZ")
    return lake.split("<")[0] in _OTHERS.get("bit(1)" if source == "bit(1)" else word, ())


_OTHERS: dict[str, tuple[str, ...]] = {
    "boolean": ("BOOLEAN",), "bit(1)": ("BOOLEAN",), "bit": ("BINARY",), "bytea": ("BINARY",),
    "blob": ("BINARY",), "binary": ("BINARY",), "varbinary": ("BINARY",), "real": ("FLOAT", "DOUBLE"),
    "float": ("FLOAT", "DOUBLE"), "double": ("DOUBLE",), "date": ("DATE", "TIMESTAMP_NTZ"),
    "hstore": ("MAP",), "point": ("STRUCT",), "interval": ("BIGINT",), "time": ("BIGINT",),
}  # fmt: skip


_NEVER_TEXT = {*_INTEGERS, *_OTHERS, "timestamp", "datetime"} - {"hstore", "interval", "time", "bit"}
"""What has a type of its own in every lake: as text it would be another type."""


def _fits(source: str) -> bool:
    """Whether a number of this precision and scale has a DECIMAL that holds it."""
    told = [int(part) for part in re.findall(r"-?\d+", source)]
    return bool(told) and told[0] - min(told[1], 0) <= 38 and told[1] <= told[0]


def _holds_integer(lake: str, bits: int, unsigned: bool) -> bool:
    if lake in _BITS:
        return _BITS[lake] > bits if unsigned else _BITS[lake] >= bits
    if found := re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", lake):
        return int(found[1]) - int(found[2]) >= _DIGITS[bits] + (unsigned and bits == 64)
    return lake == "DOUBLE" and bits <= 32


def _holds_decimal(lake: str, source: str) -> bool:
    told = [int(part) for part in re.findall(r"-?\d+", source)]
    found = re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", lake)
    if not told or not found:
        return False
    precision, scale = told
    behind = int(found[2])
    return behind >= scale and int(found[1]) - behind >= precision - scale
