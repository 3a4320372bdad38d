"""The `[[target]]` entries of `schemaman.toml`: which tables go where, and how the lake calls them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from string import Formatter
from typing import Any

from schemaman.ddl import quote_name
from schemaman.errors import BadReference
from schemaman.policy import nearest
from schemaman.policy_entries import patterns
from schemaman.schema import TableId
from schemaman.targets._spark_sql import table_parts

_PLACES = ("stream", "server", "database", "schema", "table")
_PATH = re.compile(r"`?(/|[A-Za-z][A-Za-z0-9+.-]*:/)")
_PART = re.compile(r"`(?:[^`]|``)+`|[^.`]+")
"""A part of a name, in back-ticks or not."""


@dataclass(frozen=True, slots=True)
class TargetSetting:
    """A `[[target]]`: which tables go where. One of `table` and `path` is set.

    `tables` are patterns over the table's full name or any suffix of it; `table` and `path` may
    hold `{stream}`, `{server}`, `{database}`, `{schema}`, `{table}`.
    """

    name: str
    format: str
    tables: tuple[str, ...]
    table: str | None = None
    path: str | None = None

    def holds(self, table: TableId) -> bool:
        """Whether this target follows a table."""
        return any(fits(table, pattern) for pattern in self.tables)

    def address(self, table: TableId) -> str:
        """The lake table, or the path in the form of a `lake:` REF, that follows a table.

        In a path each name is one step: a source table called `../t` leaves no folder. In a name it is no
        more than a piece of one part: a table called `a.b` is in no namespace of its own.
        """
        names = {place: getattr(table, place) for place in _PLACES}
        if self.table is None or _PATH.match(self.table):
            return _placed(self.table or self.path or "", names)
        return _PART.sub(lambda part: _named(part[0], names), self.table)


def _placed(path: str, names: Mapping[str, str]) -> str:
    """A path with each name as one step of it."""
    return path.format(**{place: _step(name) for place, name in names.items()})


def _named(part: str, names: Mapping[str, str]) -> str:
    """A part of a lake table's name with names of the source in it, in back-ticks if they need them."""
    if _PATH.match(part):
        return _placed(part, {place: _quoted(name) for place, name in names.items()})
    if part.startswith("`"):
        return part.format(**{place: _quoted(name) for place, name in names.items()})
    told = part.format(**names)
    return quote_name(told) if re.search("[.`]", told) else told


def _quoted(name: str) -> str:
    """A name as it stands between back-ticks."""
    return name.replace("`", "``")


def _step(name: str) -> str:
    """A name as part of a path, which it cannot lead out of."""
    told = name.replace("/", "_")
    return "_" * len(told) if set(told) == {"."} else told


def fits(table: TableId, pattern: str) -> bool:
    """Whether a table, by its whole name or any end of it, is one that a pattern with `*` and `?` means."""
    suffixes = (".".join(table.parts[i:]) for i in range(len(table.parts)))
    return any(fnmatchcase(name, pattern) for name in (str(table), *suffixes))


def targets(value: object) -> tuple[TargetSetting, ...]:
    """The targets of all entries, in their order. Raises `ValueError`."""
    if not isinstance(value, list | tuple):
        raise ValueError("targets are written as [[target]]")
    found = tuple(_target(entry, number) for number, entry in enumerate(value, 1))
    names = [t.name for t in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two targets are called {name!r}")
    return found


def _target(entry: Any, number: int) -> TargetSetting:
    if not isinstance(entry, dict):
        raise ValueError(f"target {number} is not a table")
    known = ("name", "format", "tables", "table", "path")
    for key in entry:
        if key not in known:
            hint = nearest(key, known) or f"known keys: {', '.join(known)}"
            raise ValueError(f"target {number} has an unknown key {key!r}; {hint}")
    for key in ("name", "format"):
        if key not in entry:
            raise ValueError(f"target {number} has no {key}")
    if ("table" in entry) == ("path" in entry):
        raise ValueError(f"target {entry['name']!r} needs either table or path")
    address = _text(entry.get("table", entry.get("path")))
    for _, place, form, conversion in Formatter().parse(address):
        if place is not None and place not in _PLACES:
            raise ValueError(f"target {entry['name']!r}: {{{place}}} is none of {', '.join(_PLACES)}")
        if form or conversion:
            raise ValueError(f"target {entry['name']!r}: write {{{place}}} alone, without a format")
    if "table" in entry and not _PATH.match(address):
        try:
            table_parts(address)
        except BadReference as error:
            raise ValueError(f"target {entry['name']!r}: {error.message}") from error
    return TargetSetting(
        name=_text(entry["name"]),
        format=_text(entry["format"]),
        tables=patterns(entry.get("tables", "*")),
        table=entry.get("table"),
        path=entry.get("path"),
    )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"expected a text, found {value!r}")
