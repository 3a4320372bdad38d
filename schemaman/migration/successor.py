"""Successors: the lake tables that take the rows of one source table one after the other.

Law: a table that has a successor keeps its name and all its rows. Nothing is moved, so a reader of the table
sees at each moment what it saw before, and the newer rows are in the successor.
The same holds for its view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from schemaman.errors import BadReference
from schemaman.migration.properties.table_record import Predecessor, read_record
from schemaman.migration.spark_sql import format_table_name, split_table_name
from schemaman.migration.target import LakeTable

_NUMBER = re.compile(r"__(\d+)`?/?$")
Inspect = Callable[[str], LakeTable | None]
"""Reads a lake table by its address; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class LakeTableAt:
    """A lake table and its address as users name it."""

    address: str
    lake: LakeTable


def name_successor(address: str, number: int) -> str:
    """Name the table of this number among the tables of one source: `orders__2` is the second of `orders`.

    A path gets the number at its end, and so does the last part of a name.
    """
    if "/" in address and not address.endswith("`"):
        return f"{address.rstrip('/')}__{number}"
    try:
        *parts, last = split_table_name(address)
    except BadReference:
        return f"{address}__{number}"
    return format_table_name((*parts, f"{last.rstrip('/')}__{number}"))


def is_numbered(address: str) -> bool:
    """Whether an address may be that of a successor."""
    return _NUMBER.search(address) is not None


def name_successor_view(view: str, lake: LakeTable, address: str) -> str:
    """Name the view of a lake table: a successor has a view of its own, with the number of its address.

    The view of the first table keeps its rows, as that table does.
    """
    number = _NUMBER.search(address)
    if number is None or read_record(lake.properties).predecessor is None:
        return view
    return name_successor(view, int(number[1]))


def find_first_address(inspect: Inspect, address: str, source: str) -> str:
    """Find the address of the first lake table of a source, which may have no table yet.

    It is the address itself, unless a successor of another source has it: `orders__2` of the source then
    gets `orders__2__2`.
    """
    first, number = address, 1
    while (lake := inspect(address)) is not None:
        record = read_record(lake.properties)
        if record.predecessor is None or record.source in (None, source):
            break
        number += 1
        address = name_successor(first, number)
    return address


def list_successors(inspect: Inspect, address: str, source: str = "") -> tuple[LakeTableAt, ...]:
    """List the lake table and its successors, the newest last; empty if there is no such table.

    `source` is the source table whose tables they are; without it the first one is at the address itself. A
    successor that does not exist any more ends the list before it.
    """
    found: list[LakeTableAt] = []
    address = find_first_address(inspect, address, source) if source else address
    while address and all(each.address != address for each in found):
        lake = inspect(address)
        if lake is None:
            break
        found.append(LakeTableAt(address, lake))
        address = read_record(lake.properties).successor
    return tuple(found)


def choose_address(
    inspect: Inspect,
    tables: tuple[LakeTableAt, ...],
    predecessor: Predecessor,
    taken: Collection[str] = (),
) -> tuple[str, LakeTable | None]:
    """Choose the address of the next successor, and the table that is there already.

    Such a table was begun for the same predecessor and version, and was not linked yet. A name of another
    table is left out, and so are the addresses of `taken`, where no table may be yet.
    """
    number, lowered = len(tables) + 1, {address.lower() for address in taken}
    while True:
        address = name_successor(tables[0].address, number)
        lake = inspect(address)
        is_begun = lake is not None and read_record(lake.properties).predecessor == predecessor
        if is_begun or (lake is None and address.lower() not in lowered):
            return address, lake
        number += 1
