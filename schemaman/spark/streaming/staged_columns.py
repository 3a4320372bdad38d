"""The columns of staged rows: those of the table, those that remember positions, and some that help to write.

Law: what staging makes and what the statements read is told here alone, in Spark's words and in Arrow's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as arrow

from schemaman.migration.row_columns import list_row_columns
from schemaman.migration.spark_sql import type_name
from schemaman.migration.type_mapping import VARIANT
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column
from schemaman.model.types import Array, Map, String, Struct, Type
from schemaman.sink.row_mapping import RowMap
from schemaman.spark.arrow_types import to_arrow_type

_RECORD_ARROW = arrow.struct([
    ("topic", arrow.string()), ("partition", arrow.int32()), ("offset", arrow.int64())
])  # fmt: skip


def make_staged_ddl(to: RowMap) -> str:
    """The columns of staged rows in Spark's words; the last ones help to write them."""
    members = [f"{quote_name(c.name)} {_format_staged_type(c.type)}" for c in list_staged_columns(to)]
    helpers = make_staged_helpers(to)
    members += [
        f"{quote_name(helpers.kept)} array<int>",
        f"{quote_name(helpers.words)} map<int, string>",
        f"{quote_name(helpers.needs_row)} boolean",
        f"{quote_name(helpers.behind)} string",
        f"{quote_name(helpers.anew)} string",
        f"{quote_name(helpers.unread)} string",
        f"{quote_name(helpers.unsent)} string",
        f"{quote_name(helpers.since)} string",
        f"{quote_name(helpers.reason)} string",
        f"{quote_name(helpers.places)} array<struct<topic: string, partition: int, offset: bigint>>",
    ]
    return ", ".join(members)


def make_staged_helpers(to: RowMap) -> HelperColumns:
    """The columns of staged rows that help to write; where `reason` is not null a row cannot be written."""
    return make_helper_columns(list_staged_columns(to))


def _format_staged_type(type: Type) -> str:
    """A type in Spark's words; a VARIANT travels as text, since Arrow has none."""
    match type:
        case Array(element):
            return f"ARRAY<{_format_staged_type(element)}>"
        case Map(key, value):
            return f"MAP<{_format_staged_type(key)}, {_format_staged_type(value)}>"
        case Struct(fields):
            return (
                f"STRUCT<{', '.join(f'{quote_name(f.name)}: {_format_staged_type(f.type)}' for f in fields)}>"
            )
        case _:
            return type_name(String() if type == VARIANT else type)


def list_staged_columns(to: RowMap) -> tuple[Column, ...]:
    """The columns of the table as rows are staged for it: its own, then those that remember positions."""
    return (*to.columns, *list_row_columns(to.key))


def make_staged_schema(to: RowMap) -> arrow.Schema:
    """The columns of staged rows in Arrow's words."""
    helpers = make_staged_helpers(to)
    return arrow.schema(
        [
            *((c.name, to_arrow_type(c.type)) for c in list_staged_columns(to)),
            (helpers.kept, arrow.list_(arrow.int32())),
            (helpers.words, arrow.map_(arrow.int32(), arrow.string())),
            (helpers.needs_row, arrow.bool_()),
            (helpers.behind, arrow.string()),
            (helpers.anew, arrow.string()),
            (helpers.unread, arrow.string()),
            (helpers.unsent, arrow.string()),
            (helpers.since, arrow.string()),
            (helpers.reason, arrow.string()),
            (helpers.places, arrow.list_(_RECORD_ARROW)),
        ]
    )


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


def make_helper_columns(columns: Iterable[Column]) -> HelperColumns:
    """Names that none of the columns of a table has: two underscores before each, or as many as it takes."""
    taken = {column.name.lower() for column in columns}
    before = "__"
    while any(before + name in taken for name in _NAMES):
        before += "_"
    return HelperColumns(*(before + name for name in _NAMES))
