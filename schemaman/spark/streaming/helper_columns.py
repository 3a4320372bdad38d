"""The columns of staged rows that help to write them, under names that the table has not.

Law: no name here is one of the table's columns, whatever the case of its letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schemaman.schema import Column

_NAMES = ("kept", "words", "needs_row", "behind", "anew", "unread", "unsent", "since", "reason", "places")


@dataclass(frozen=True, slots=True)
class HelperColumns:
    """The names of the helping columns.

    `kept`: the numbers of the columns that stay as the table has them. `words`: the orders of values, by the
    numbers of their columns, where others of the row are newer: a row of the table that is not older keeps
    its own. `needs_row`: the table must have the row already, and behind the order `behind`, where one is
    told: there a record of the row waits; and behind `anew`, where the row began anew. `unsent`: from there
    on the table must not have it as a row that is gone.
    `unread`: where the record stands that nobody understood and that may have the value, and where the one
    that lacks it (`unread.span`): a row of the table from between the two has it.
    `since`: where the oldest value stands of a column that left the source. `reason`: why the row cannot be
    written. `places`: the records that it was made of.
    """

    kept: str
    words: str
    needs_row: str
    behind: str
    anew: str
    unread: str
    unsent: str
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
