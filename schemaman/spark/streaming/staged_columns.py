"""The columns of staged rows: those of the table, those that remember positions, and some that help to write.

Law: what staging makes and what the statements read is told here alone, in Spark's words and in Arrow's.
"""

from __future__ import annotations

import pyarrow as arrow

from schemaman.ddl import quote_name
from schemaman.lake_rows import RowMap
from schemaman.representation import VARIANT
from schemaman.schema import Column
from schemaman.spark.arrow_types import arrow_type
from schemaman.spark.helper_columns import HelperColumns, helper_columns
from schemaman.targets._spark_sql import type_name
from schemaman.types import Array, Map, String, Struct, Type
from schemaman.upserts import row_columns

_PLACE_ARROW = arrow.struct([
    ("topic", arrow.string()), ("partition", arrow.int32()), ("offset", arrow.int64())
])  # fmt: skip


def staged_ddl(to: RowMap) -> str:
    """The columns of staged rows in Spark's words; the last ones help to write them."""
    members = [f"{quote_name(c.name)} {_staged_type(c.type)}" for c in staged_columns(to)]
    helpers = staged_helpers(to)
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


def staged_helpers(to: RowMap) -> HelperColumns:
    """The columns of staged rows that help to write; where `reason` is not null a row cannot be written."""
    return helper_columns(staged_columns(to))


def _staged_type(type: Type) -> str:
    """A type in Spark's words; a VARIANT travels as text, since Arrow has none."""
    match type:
        case Array(element):
            return f"ARRAY<{_staged_type(element)}>"
        case Map(key, value):
            return f"MAP<{_staged_type(key)}, {_staged_type(value)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{quote_name(f.name)}: {_staged_type(f.type)}' for f in fields)}>"
        case _:
            return type_name(String() if type == VARIANT else type)


def staged_columns(to: RowMap) -> tuple[Column, ...]:
    """The columns of the table as rows are staged for it: its own, then those that remember positions."""
    return (*to.columns, *row_columns(to.key))


def staged_schema(to: RowMap) -> arrow.Schema:
    """The columns of staged rows in Arrow's words."""
    helpers = staged_helpers(to)
    return arrow.schema([
        *((c.name, arrow_type(c.type)) for c in staged_columns(to)),
        (helpers.kept, arrow.list_(arrow.int32())),
        (helpers.words, arrow.map_(arrow.int32(), arrow.string())),
        (helpers.needs_row, arrow.bool_()),
        (helpers.behind, arrow.string()),
        (helpers.anew, arrow.string()),
        (helpers.unread, arrow.string()),
        (helpers.unsent, arrow.string()),
        (helpers.since, arrow.string()),
        (helpers.reason, arrow.string()),
        (helpers.places, arrow.list_(_PLACE_ARROW)),
    ])
