"""Online schema changes: a tool changes a copy of a table and then swaps table and copy by renames.

Source: gh-ost, doc/shared-key.md and doc/cut-over.md: `_t_gho`, `_t_ghc`, `_t_del`, `_t_<time>_del`;
Percona Toolkit, pt-online-schema-change: `_t_new`, `_t_old`, with more underscores in front if taken, and
"The tool exits if the table has no PRIMARY KEY or UNIQUE INDEX".
"""

from __future__ import annotations

import re

from schemaman.debezium.connector import find_connector
from schemaman.debezium.observation import Observation

_WORK = re.compile(r"_(.+)_gh[oc]\Z", re.DOTALL)
_COPY = re.compile(r"_(.+)_gho\Z|_+(.+)_new\Z", re.DOTALL)
_REMAINS = re.compile(r"_(.+?)(?:_\d{14})?_del\Z|_+(.+)_old\Z", re.DOTALL)


_PERSONS = re.compile(r"_+.+_(?:new|old)\Z", re.DOTALL)
"""Names that a person chooses, too."""


def find_ghost_original(name: str) -> str | None:
    """Find the table of a working table of gh-ost by its name; None for any other name."""
    return _match_table(_WORK, name)


def find_online_original(name: str) -> str | None:
    """Find the table of any table that a tool makes and drops by itself, by its name."""
    return next(
        (found for p in (_WORK, _COPY, _REMAINS) if (found := _match_table(p, name)) is not None), None
    )


def is_working_copy(observed: Observation) -> bool:
    """Return whether events are those of gh-ost's working table, which has no history of its own."""
    return (
        find_connector(observed.connector).has_online_copies
        and find_ghost_original(observed.table.table) is not None
    )


def is_sentry(ddl: str | None) -> bool:
    """Return whether a statement creates gh-ost's sentry, an empty table that reserves a name."""
    return ddl is not None and "ghost-cut-over-sentry" in ddl


def find_copy_original(name: str) -> str | None:
    """Find the table whose changed copy may have this name."""
    return _match_table(_COPY, name)


def find_leftover_original(name: str) -> str | None:
    """Find the table whose old version may have this name after the swap."""
    return _match_table(_REMAINS, name)


def is_swapped_out(old: str, new: str, touched: tuple[str, ...], *, keyed: bool) -> bool:
    """Return whether a rename displaces a table by its copy.

    `touched` are the table names after the whole statement: the old name is among them only if another table
    took it over in the same statement. `keyed`: the table has a key. No tool copies one without, and no row
    of a copy made by hand is known as one of its table: the two are other tables.
    """
    return find_leftover_original(new) == old and old in touched and _is_of_tool(new, keyed=keyed)


def is_swapped_in(old: str, new: str, touched: tuple[str, ...], *, keyed: bool) -> bool:
    """Return whether a rename gives a copy the name of its table, as the other half of `is_swapped_out`."""
    has_leftover = any(find_leftover_original(name) == new for name in touched)
    return find_copy_original(old) == new and has_leftover and _is_of_tool(old, keyed=keyed)


def _is_of_tool(name: str, *, keyed: bool) -> bool:
    return keyed or _PERSONS.fullmatch(name) is None


def _match_table(pattern: re.Pattern[str], name: str) -> str | None:
    found = pattern.match(name)
    return next(filter(None, found.groups()), None) if found else None
