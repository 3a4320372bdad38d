"""The canonical name of a target table, which leases and journals use for all of its spellings.

Law: the canonical form of a canonical address is itself, and an engine finds the same table by it.
"""

from __future__ import annotations

from functools import cache

from schemaman.errors import BadReference, UnknownName
from schemaman.migration.spark_sql import format_table_name, split_table_name
from schemaman.migration.target import TARGETS


def target_id(format: str, table: str) -> str:
    """Return the name of a target table in journals and leases; a text that names no table is kept."""
    return f"{format}:{_canonicalize_table(format, table)}"


def canonicalize_target(target: str) -> str:
    """Return the present `target_id` for a name in a journal of any age."""
    format, colon, table = target.partition(":")
    return target_id(format, table) if colon else target


@cache
def _canonicalize_table(format: str, table: str) -> str:
    """Return the canonical address of a table by its format; without a format, its name in parts."""
    try:
        return TARGETS.get(format).canonical_name(table)
    except UnknownName:
        pass
    except BadReference:
        return table
    try:
        return format_table_name(split_table_name(table))
    except BadReference:
        return table
