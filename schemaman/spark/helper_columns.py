"""The columns of staged rows that help to write them, under names that the table has not.

Law: no name here is one of the table's columns, whatever the case of its letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schemaman.schema import Column

_NAMES = ("kept", "needs_row", "behind", "unread", "since", "reason", "places")


@dataclass(frozen=True, slots=True)
class HelperColumns:
    """The names of the helping columns.

    `kept`: the numbers of the columns that stay as the table has them. `needs_row`: the table must have the
    row already, and behind the order `behind`, where one is told: there a record of the row waits.
    `unread`: where the record stands that nobody understood and that may have the value, and where the one
    that lacks it (`unread.span`): a row of the table from between the two has it.
    `since`: where the oldest value stands of a column that left the source. `reason`: why the row cannot be
    written. `places`: the records that it was made of.
    """

    kept: str
    needs_row: str
    behind: str
    unread: str
    since: str
    reason: str
    places: str


def helper_columns(columns: Iterable[Column]) -> HelperColumns:
    """Names that none of the columns of a table has: two underscores before each, or as many as it takes."""
    taken = {column.name.lower() for column in columns}
    before = "__"
    while any(before + name in taken for name in _NAMES):
        before += "_"
    return HelperColumns(*(before + name for name in _NAMES))
