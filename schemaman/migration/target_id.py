"""One name for one target table, however it is spelled: by it leases are taken and journals kept.

Law: a canonical address is its own, and names the same table to an engine.
"""

from __future__ import annotations

from functools import cache

from schemaman.errors import BadReference, UnknownName
from schemaman.migration.spark_sql import format_table_name, split_table_name
from schemaman.migration.target import TARGETS


def target_id(format: str, table: str) -> str:
    """The name of a target table in journals and leases; a text that names no table stays as it is."""
    return f"{format}:{_canonicalize_table(format, table)}"


def canonicalize_target(target: str) -> str:
    """The present `target_id` of a name that a journal of any age holds."""
    format, colon, table = target.partition(":")
    return target_id(format, table) if colon else target


@cache
def _canonicalize_table(format: str, table: str) -> str:
    """The canonical address of a table, as its format writes it; without a format, its name in parts."""
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
