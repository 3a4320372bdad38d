"""Selects tables by patterns with `*` and `?`."""

from __future__ import annotations

from fnmatch import fnmatchcase

from schemaman.model.schema import TableId


def is_matched(table: TableId, pattern: str) -> bool:
    """Whether the whole name of a table, or any suffix of it, matches a pattern with `*` and `?`."""
    suffixes = (".".join(table.parts[i:]) for i in range(len(table.parts)))
    return any(fnmatchcase(name, pattern) for name in (str(table), *suffixes))
