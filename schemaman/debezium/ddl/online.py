"""Online schema changes: copies of a table under names of their own, and the swap that puts one in place.

Source: gh-ost, doc/shared-key.md and doc/cut-over.md: `_t_gho`, `_t_ghc`, `_t_del`, `_t_<time>_del`;
Percona Toolkit, pt-online-schema-change: `_t_new`, `_t_old`, with more underscores in front if taken.
"""

from __future__ import annotations

import re

from schemaman.debezium.observation import Observation

DATABASE_NAMED_CONNECTORS = ("mysql", "mariadb", "vitess")
"""Connectors whose tables have a database in front of their names and no schema; these tools are for them."""

_WORK = re.compile(r"_(.+)_gh[oc]\Z", re.DOTALL)
_COPY = re.compile(r"_(.+)_gho\Z|_+(.+)_new\Z", re.DOTALL)
_REMAINS = re.compile(r"_(.+?)(?:_\d{14})?_del\Z|_+(.+)_old\Z", re.DOTALL)


def find_ghost_original(name: str) -> str | None:
    """The table that a name belongs to which only gh-ost gives; None for any other."""
    return _match_table(_WORK, name)


def is_working_copy(said: Observation) -> bool:
    """Whether events are of a table that gh-ost works on, and that has no history of its own."""
    return said.connector in DATABASE_NAMED_CONNECTORS and find_ghost_original(said.table.table) is not None


def is_sentry(ddl: str | None) -> bool:
    """Whether a statement creates the empty table with which gh-ost holds the name for what it removes."""
    return ddl is not None and "ghost-cut-over-sentry" in ddl


def find_copy_original(name: str) -> str | None:
    """The table of which this may be the changed copy."""
    return _match_table(_COPY, name)


def find_leftover_original(name: str) -> str | None:
    """The table of which this may be what was left behind."""
    return _match_table(_REMAINS, name)


def is_swapped_out(old: str, new: str, touched: tuple[str, ...]) -> bool:
    """Whether a rename moves a table aside for its copy.

    `touched` are the tables that the whole statement leaves behind: the old name is among them only if
    another table took it in the same statement.
    """
    return find_leftover_original(new) == old and old in touched


def is_swapped_in(old: str, new: str, touched: tuple[str, ...]) -> bool:
    """Whether a rename puts the copy of a table in its place, as the other half of `is_swapped_out`."""
    return find_copy_original(old) == new and any(find_leftover_original(name) == new for name in touched)


def _match_table(pattern: re.Pattern[str], name: str) -> str | None:
    found = pattern.match(name)
    return next(filter(None, found.groups()), None) if found else None
