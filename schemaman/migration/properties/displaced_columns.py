"""Columns whose names mean others at the source, or did: what a table tells of them.

Law: a column that left is found again by what it was, not by its name: several may have had that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict

from schemaman.migration.properties.table_record import DisplacedColumn, read_record
from schemaman.migration.target import LakeTable


def read_displaced(lake: LakeTable) -> dict[str, DisplacedColumn]:
    """The columns of the table whose names do not tell which they are, by the names that they have now."""
    names, recorded = {name.lower() for name in lake.schema.names}, read_record(lake.properties).displaced
    return {name: entry for name, entry in recorded.items() if name.lower() in names}


def is_moved_out(lake: LakeTable, name: str) -> bool:
    """Whether a column of the table was moved out of the way of another one of its name."""
    entry = read_displaced(lake).get(name)
    return entry is not None and entry.was != name


def format_displaced(columns: Mapping[str, DisplacedColumn]) -> str:
    """Such columns as the property keeps them."""
    document = {name: asdict(entry) if entry.column else entry.was for name, entry in columns.items()}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def displace_column(lake: LakeTable, was: str, column: str) -> DisplacedColumn:
    """A column that gets out of the way now, known by the stamp that the table bears.

    `column` is its name at the source. One that got out of the way before stays what it was.
    """
    before = read_displaced(lake).get(was)
    if before is not None:
        return DisplacedColumn(was, before.column, before.version, before.began)
    record = read_record(lake.properties)
    if record.version is None or record.began is None:
        return DisplacedColumn(was)
    return DisplacedColumn(was, column, record.version, record.began)
