"""Columns whose names mean others at the source, or did: what a table tells of them.

Law: a column that left is found again by what it was, not by its name: several may have had that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from schemaman.migration.properties.names import BEGAN_PROPERTY, DISPLACED_PROPERTY, VERSION_PROPERTY
from schemaman.migration.target import LakeTable


@dataclass(frozen=True, slots=True)
class DisplacedColumn:
    """A column of a table that gave its name away: it `was` called so in the lake.

    One that left, and still has its name while the source has called others so since, `was` called so too.
    `column` is its name at the source in the version of this id that began there, or in the last one before
    that had a column of this name; all empty where nothing tells which column it is.
    """

    was: str
    column: str = ""
    version: str = ""
    began: str = ""


def read_displaced(lake: LakeTable) -> dict[str, DisplacedColumn]:
    """The columns of the table whose names do not tell which they are, by the names that they have now."""
    names = {name.lower() for name in lake.schema.names}
    return {name: entry for name, entry in read_all_displaced(lake).items() if name.lower() in names}


def read_all_displaced(lake: LakeTable) -> dict[str, DisplacedColumn]:
    """The same of all columns of which the table tells, also of those that it has not yet, or has no more."""
    try:
        document = json.loads(lake.properties.get(DISPLACED_PROPERTY, "{}"))
    except ValueError:
        return {}
    entries = document.items() if isinstance(document, dict) else ()
    return {name: _parse_displaced(entry) for name, entry in entries}


def is_moved_out(lake: LakeTable, name: str) -> bool:
    """Whether a column of the table was moved out of the way of another one of its name."""
    entry = read_displaced(lake).get(name)
    return entry is not None and entry.was != name


def _parse_displaced(entry: object) -> DisplacedColumn:
    match entry:
        case {"was": str(was), "column": str(column), "version": str(version), "began": str(began)}:
            return DisplacedColumn(was, column, version, began)
        case _:
            return DisplacedColumn(str(entry))


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
    version, began = lake.properties.get(VERSION_PROPERTY), lake.properties.get(BEGAN_PROPERTY)
    return (
        DisplacedColumn(was)
        if version is None or began is None
        else DisplacedColumn(was, column, version, began)
    )
