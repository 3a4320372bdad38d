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
from tests.support.memory_lake import MemoryTable
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
            for at, values in _read_rows(address, sink.tables[each.address]).items():
                # a successor may have rows of the table before it
                rows[at] = rows.get(at, Counter()) | values
    for table in sink.tables.values():
        for at, values in _read_rows("", table).items():
            rows[at] = rows.get(at, Counter()) + values
    return Reading(moment, rows, frozenset(names))


def _read_rows(where: str, table: MemoryTable) -> dict[tuple[str, Any], Counter[tuple[str, ...]]]:
    rows: dict[tuple[str, Any], Counter[tuple[str, ...]]] = {}
    for row in table.read() if table.live is not None else ():
        if not row.get(DELETED):
            values = sorted(repr(v) for n, v in row.items() if not n.startswith("_row_") and v is not None)
            rows.setdefault((where, row["id"]), Counter())[tuple(values)] += 1
    return rows


def list_faults(before: Reading, during: list[Reading], after: Reading) -> list[str]:
    """The rows that a reader saw at a moment with a value that they had neither before nor after.

    A table that has not its name all the time is read as one of all.
    """
    found = []
    always = before.names.intersection(after.names, *(reading.names for reading in during))
    for reading in during:
        for at in {*before.rows, *after.rows, *reading.rows}:
            old, seen, new = (r.rows.get(at, Counter()) for r in (before, reading, after))
            values = map(_values, (old, seen, new))
            # of two tables with one row, as a table and the copy of it are, one may still be as before
            then, now, later = values if at[0] else (Counter({*each}) for each in values)
            lost, alien = (then & later) - now, now - (then | later)
            is_followed = not at[0] or at[0] in always
            if is_followed and (lost or alien or now.total() < min(then.total(), later.total())):
                found.append(f"{at} after {reading.moment}: {seen}, before {old}, then {new}")
    return found


def _values(rows: Counter[tuple[str, ...]]) -> Counter[str]:
    found = Counter[str]()
    for values, count in rows.items():
        found.update({value: count * number for value, number in Counter(values).items()})
    return found


def list_gaps(before: Reading, during: list[Reading], after: Reading) -> list[str]:
    """The moments at which a name had no table that had one before and after."""
    always = before.names & after.names
    return [f"{name} after {r.moment}" for r in during for name in sorted(always - r.names)]
