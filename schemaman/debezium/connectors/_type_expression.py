"""Type expressions of databases, such as `DECIMAL(8,2)`, from the parts in Debezium's records."""

from __future__ import annotations

import re

_SIZED = re.compile(r"CHAR|BINARY(?!_)|GRAPHIC|BPCHAR|BLOB|CLOB|DECFLOAT|^(VAR)?BIT$|^BIT |^VECTOR|^RAW$")
_DECIMAL = re.compile(r"^(DEC(IMAL)?|NUMERIC|NUMBER|FIXED)\b")
_TEMPORAL = re.compile(r"^(TIME|DATETIME|INTERVAL)")
_APPROXIMATE = re.compile(r"^(FLOAT|DOUBLE)\b")
_UNBOUNDED = 2147483647
_OF_DATETIME, _OF_TIMES = 7, 12
"""The most digits of a fraction of a second in any database; a larger length is that of the printed text."""
_NO_SCALE = 255
"""Informix's scale of a decimal without one."""


def format_type_expression(
    type_name: str, length: int | None, scale: int | None, labels: tuple[str, ...] | None = None
) -> str:
    """Format a type in the database's own words: `VARCHAR(80)`, `BIGINT UNSIGNED`, `DECIMAL(8,2)`.

    Sizes without a meaning are left out: display widths of integers (only `TINYINT(1)` has a meaning), digits
    of binary floating-point numbers, lengths that mean "unbounded".
    Source: Debezium Column.length and Column.scale as each connector's driver or parser fills them.
    """
    words = type_name.strip()
    upper = words.upper()
    if upper in ("ENUM", "SET") and labels:
        quoted = ("'" + label.replace("'", "''") + "'" for label in labels)
        return f"{words}({','.join(quoted)})"
    sizes = _format_sizes(upper, length, scale)
    if not sizes or "(" in upper.replace("()", ""):
        return words.replace(" ()", "").replace("()", "")
    if "()" in upper:
        return words.replace(" ()", "()").replace("()", sizes)
    first, space, rest = words.partition(" ")
    if rest.upper().startswith(("UNSIGNED", "ZEROFILL", "WITH", "FOR BIT")):
        return f"{first}{sizes}{space}{rest}"
    return f"{words}{sizes}"


def _format_sizes(upper: str, length: int | None, scale: int | None) -> str:
    if _TEMPORAL.match(upper):
        digits = scale if scale is not None else length
        if digits is None or digits > (_OF_DATETIME if upper.startswith("DATETIME") else _OF_TIMES):
            return ""
        return "" if upper == "TIME" and not digits else f"({digits})"
    if length is None or not 0 < length < _UNBOUNDED:
        return ""
    if _DECIMAL.match(upper):
        if scale == _NO_SCALE:
            return f"({length})"
        return f"({length},{scale})" if scale is not None and length != 131089 else ""
    if _APPROXIMATE.match(upper):
        return f"({length},{scale})" if scale is not None else ""
    if upper == "TINYINT" and length == 1:
        return "(1)"
    return f"({length})" if _SIZED.search(upper) else ""
