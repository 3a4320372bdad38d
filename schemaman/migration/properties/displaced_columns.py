"""Columns whose names mean others at the source, or did: what a table tells of them.

Law: a column that left is found again by what it was, not by its name: several may have had that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from schemaman.migration.properties.names import BEGAN_PROPERTY, RETIRED_PROPERTY, VERSION_PROPERTY
from schemaman.migration.target import Live


@dataclass(frozen=True, slots=True)
class Retired:
    """A column of a table that gave its name away: it `was` called so in the lake.

    One that left, and still has its name while the source has called others so since, `was` called so too.
    `column` is its name at the source in the version of this id that began there, or in the last one before
    that had a column of this name; all empty where nothing tells which column it is.
    """

    was: str
    column: str = ""
    version: str = ""
    began: str = ""


def retired(live: Live) -> dict[str, Retired]:
    """The columns of the table whose names do not tell which they are, by the names that they have now."""
    names = {name.lower() for name in live.schema.names}
    return {name: entry for name, entry in retired_before(live).items() if name.lower() in names}


def retired_before(live: Live) -> dict[str, Retired]:
    """The same of all columns of which the table tells, also of those that it has not yet, or has no more."""
    try:
        told = json.loads(live.properties.get(RETIRED_PROPERTY, "{}"))
    except ValueError:
        return {}
    entries = told.items() if isinstance(told, dict) else ()
    return {name: _retired(entry) for name, entry in entries}


def moved_out(live: Live, name: str) -> bool:
    """Whether a column of the table was moved out of the way of another one of its name."""
    entry = retired(live).get(name)
    return entry is not None and entry.was != name


def _retired(entry: object) -> Retired:
    match entry:
        case {"was": str(was), "column": str(column), "version": str(version), "began": str(began)}:
            return Retired(was, column, version, began)
        case _:
            return Retired(str(entry))


def retired_text(columns: Mapping[str, Retired]) -> str:
    """Such columns as the property keeps them."""
    told = {name: asdict(entry) if entry.column else entry.was for name, entry in columns.items()}
    return json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def moved_away(live: Live, was: str, column: str) -> Retired:
    """A column that gets out of the way now, known by the stamp that the table bears.

    `column` is its name at the source. One that got out of the way before stays what it was.
    """
    before = retired(live).get(was)
    if before is not None:
        return Retired(was, before.column, before.version, before.began)
    version, began = live.properties.get(VERSION_PROPERTY), live.properties.get(BEGAN_PROPERTY)
    return Retired(was) if version is None or began is None else Retired(was, column, version, began)
