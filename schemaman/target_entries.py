"""The `[[target]]` entries of `schemaman.toml`: which tables go where, and how the lake calls them."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from string import Formatter
from typing import Any

from schemaman.policy import nearest
from schemaman.policy_entries import patterns
from schemaman.schema import TableId

_PLACES = ("stream", "server", "database", "schema", "table")


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

        In a path each name is one step: a source table called `../t` leaves no folder.
        """
        names = {place: getattr(table, place) for place in _PLACES}
        if self.table is not None:
            return self.table.format(**names)
        return (self.path or "").format(**{place: _step(name) for place, name in names.items()})


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
    for _, place, _, _ in Formatter().parse(address):
        if place is not None and place not in _PLACES:
            raise ValueError(f"target {entry['name']!r}: {{{place}}} is none of {', '.join(_PLACES)}")
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
