"""Which table is which after a step: what MariaDB and Db2 do not number is told by their statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tests.truth.tables import Tables, TrueColumn, TrueTable

_PAIR = r"(?:RENAME TABLE|,) (?:\w+\.)?(\w+) TO (?:\w+\.)?(\w+)"
_ALONE = r"ALTER TABLE (?:\w+\.)?(\w+) RENAME TO (?:\w+\.)?(\w+)"
_COLUMN = r"(?:RENAME COLUMN (\w+) TO|CHANGE(?: COLUMN)?(?: IF EXISTS)? (\w+)) (\w+)"
_SPAN = 1000
"""More than a step has tables, and a table columns."""


def who_is_who(
    before: Tables, changed: Sequence[TrueTable], dropped: Iterable[tuple[str, str]], text: str, step: int
) -> Tables:
    """All tables after a step, with the identities and numbers of before where table and column stayed."""
    renamed = [(m[1], m[2]) for p in (_PAIR, _ALONE) for m in re.finditer(p, text)]
    columns = {m[3]: m[1] or m[2] for m in re.finditer(_COLUMN, text)}
    if "RENAME COLUMN on" in text:
        columns |= _the_one_renamed(before, changed)
    after = {name: table for name, table in before.items() if name not in set(dropped)}
    after |= {table.name: table for table in changed}
    for old, new in renamed:
        for name in [n for n in after if n[1] == new]:
            was = before[(name[0], old)]
            numbered = _numbered(was, after[name], columns, step)
            after[name] = replace(after[name], columns=numbered, identity=was.identity)
    for place, table in enumerate(changed):
        if any(table.name[1] == new for _, new in renamed):
            continue
        known = before.get(table.name)
        identity = step * _SPAN + place if known is None else known.identity
        after[table.name] = replace(table, columns=_numbered(known, table, columns, step), identity=identity)
    return after


def without_later_keys(changed: Iterable[TrueTable], text: str) -> Tables:
    """The tables that a step makes before it gives them a unique index, as they were in between."""
    return {
        t.name: replace(t, key=())
        for t in changed
        if re.search(rf"CREATE TABLE {t.name[1]} .*CREATE UNIQUE INDEX \w+ ON {t.name[1]}\(", text)
    }


def _the_one_renamed(before: Tables, changed: Sequence[TrueTable]) -> dict[str, str]:
    """New name → old name, where a step says no more than that it renames a column."""
    (table,) = changed
    names, known = [c.name for c in table.columns], [c.name for c in before[table.name].columns]
    (new,), (old,) = [n for n in names if n not in known], [n for n in known if n not in names]
    return {new: old}


def _numbered(
    known: TrueTable | None, table: TrueTable, renamed: dict[str, str], step: int
) -> tuple[TrueColumn, ...]:
    numbers = {c.name: c.number for c in known.columns} if known is not None else {}
    fresh = (step * _SPAN + place for place in range(len(table.columns)))
    return tuple(
        replace(c, number=numbers.get(c.name) or numbers.get(renamed.get(c.name, "")) or next(fresh))
        for c in table.columns
    )
