"""A reader of the lake in memory, as the documentation says: living rows, and values wherever they are.

A row is known by its `id`. What it has are its values, whatever columns they are in: so a renamed column, and
the parts of a split one, read alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from schemaman.migration.row_columns import DELETED
from schemaman.migration.successor import list_successors
from tests.support.memory_sink import MemorySink

Rows = Mapping[tuple[str, Any], Counter[tuple[str, ...]]]
"""The values of the rows by where they were read and their id."""


@dataclass(frozen=True)
class Reading:
    """What was read at one moment."""

    moment: str
    rows: Rows
    names: frozenset[str]


def read_lake(sink: MemorySink, moment: str) -> Reading:
    """Read every source table through its lake table and successors, and then all tables as one."""
    lake, rows, names = sink.open_lake(), dict[tuple[str, Any], Counter[tuple[str, ...]]](), set[str]()
    for source in sink.store.tables():
        address = sink._follower(source).lake_table
        for each in list_successors(partial(lake.inspect, format=sink.format), address):
            names.add(address)
            _add(rows, address, sink.tables[each.address].read())
    for table in sink.tables.values():
        _add(rows, "", table.read() if table.live is not None else [])
    return Reading(moment, rows, frozenset(names))


def _add(
    rows: dict[tuple[str, Any], Counter[tuple[str, ...]]], where: str, found: list[dict[str, Any]]
) -> None:
    for row in found:
        if not row.get(DELETED):
            values = sorted(repr(v) for n, v in row.items() if not n.startswith("_row_") and v is not None)
            rows.setdefault((where, row["id"]), Counter())[tuple(values)] += 1


def list_faults(before: Reading, during: list[Reading], after: Reading) -> list[str]:
    """The rows that a reader saw at a moment with a value that they had neither before nor after.

    A table that has not its name all the time is read as one of all.
    """
    found = []
    always = before.names.intersection(after.names, *(reading.names for reading in during))
    for reading in during:
        for at in {*before.rows, *after.rows, *reading.rows}:
            old, seen, new = (r.rows.get(at, Counter()) for r in (before, reading, after))
            least = min(_count_values(old), _count_values(new))
            lost = (_values(old) & _values(new)) - _values(seen)
            alien = _values(seen) - (_values(old) | _values(new))
            is_followed = not at[0] or at[0] in always
            if is_followed and (lost or alien or _count_values(seen) < least):
                found.append(f"{at} after {reading.moment}: {seen}, before {old}, then {new}")
    return found


def _values(rows: Counter[tuple[str, ...]]) -> Counter[str]:
    found = Counter[str]()
    for values, count in rows.items():
        found.update({value: count * number for value, number in Counter(values).items()})
    return found


def _count_values(rows: Counter[tuple[str, ...]]) -> int:
    return sum(_values(rows).values())


def list_gaps(before: Reading, during: list[Reading], after: Reading) -> list[str]:
    """The moments at which a name had no table that had one before and after."""
    always = before.names & after.names
    return [f"{name} after {r.moment}" for r in during for name in sorted(always - r.names)]
