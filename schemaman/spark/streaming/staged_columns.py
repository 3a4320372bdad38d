"""The columns of staged rows: those of the table, those with positions, and helper columns for writing.

Law: only this module defines the columns between staging and statements, as Spark types and as Arrow types.
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
from schemaman.model.types import Array, Field, Map, String, Struct, Type
from schemaman.sink.row_mapping import RowMap
from schemaman.spark.arrow_types import to_arrow_type

_RECORD_ARROW = arrow.struct([
    ("topic", arrow.string()), ("partition", arrow.int32()), ("offset", arrow.int64())
])  # fmt: skip


def make_table_ddl(to: RowMap) -> str:
    """The columns of staged rows as Spark DDL, without helper columns."""
    return ", ".join(f"{quote_name(c.name)} {_format_staged_type(c.type)}" for c in list_staged_columns(to))


def make_staged_ddl(to: RowMap) -> str:
    """The columns of staged rows as Spark DDL; the last ones are helper columns."""
    helpers = make_staged_helpers(to)
    members = [
        make_table_ddl(to),
        f"{quote_name(helpers.kept)} array<int>",
        f"{quote_name(helpers.words)} map<int, string>",
        f"{quote_name(helpers.needs_row)} boolean",
        f"{quote_name(helpers.behind)} string",
        f"{quote_name(helpers.anew)} string",
        f"{quote_name(helpers.unread)} string",
        f"{quote_name(helpers.unsent)} string",
        f"{quote_name(helpers.since)} string",
        f"{quote_name(helpers.fresh)} string",
        f"{quote_name(helpers.alike)} string",
        f"{quote_name(helpers.first)} string",
        f"{quote_name(helpers.last)} string",
        f"{quote_name(helpers.alone)} boolean",
        *(f"{quote_name(helpers.parts)} {_format_staged_type(type)}" for type in _make_parts_type(to)),
        f"{quote_name(helpers.reason)} string",
        f"{quote_name(helpers.places)} array<struct<topic: string, partition: int, offset: bigint>>",
    ]
    return ", ".join(members)


def make_staged_helpers(to: RowMap) -> HelperColumns:
    """The helper columns of staged rows; a row with a `reason` cannot be written."""
    return make_helper_columns(list_staged_columns(to))


def _format_staged_type(type: Type) -> str:
    """A type as Spark DDL; a VARIANT is sent as text, because Arrow has no such type."""
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
    """The columns of the table for staging: its own, then those with positions."""
    return (*to.columns, *list_row_columns(to.key))


def make_staged_schema(to: RowMap) -> arrow.Schema:
    """The columns of staged rows as an Arrow schema."""
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
            (helpers.fresh, arrow.string()),
            (helpers.alike, arrow.string()),
            (helpers.first, arrow.string()),
            (helpers.last, arrow.string()),
            (helpers.alone, arrow.bool_()),
            *((helpers.parts, to_arrow_type(type)) for type in _make_parts_type(to)),
            (helpers.reason, arrow.string()),
            (helpers.places, arrow.list_(_RECORD_ARROW)),
        ]
    )


def _make_parts_type(to: RowMap) -> tuple[Struct, ...]:
    """The type of the columns of keys, if keys may be read late; see `HelperColumns`."""
    fields = tuple(Field(c.name, c.type) for c in to.columns if c.name in to.key_parts)
    return (Struct(fields),) if fields else ()


_NAMES = (
    "kept", "words", "needs_row", "behind", "anew", "unread", "unsent", "since", "fresh", "alike", "first",
    "last", "alone", "parts", "reason", "places",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HelperColumns:
    """The names of the helper columns.

    `kept`: the numbers of the columns whose values in the table stay. `words`: the orders of values, by the
    numbers of their columns, if other values of the row are newer; a row of the table that is not older keeps
    its own value. `needs_row`: the table must already have the row. The row must be after the order `behind`
    if a record of the row waits there, and after `anew` if the row was inserted again. `unsent`: the order
    from which on the table must not have the row as deleted.
    `unread`: the span between an undecodable record that may have a value and the record that lacks it
    (`unread.span`); a row of the table from within the span has the value.
    `since`: the order of the oldest value of a dropped column. `fresh`: the table must have
    no live row from before this order. `alike`: it must have one, with the same values in the columns of
    keys, or none that conflicts (`uncertain_keys`). `first`: the order of the first change
    with the claim of this name. `last`: that of the last change with one of these claims, whose columns of
    keys are `parts`: the table must have no row that conflicts and is newer. `alone`: no older record may
    wait that has the same key.
    `reason`: why the row cannot be written.
    `places`: the records of the row.
    """

    kept: str
    words: str
    needs_row: str
    behind: str
    anew: str
    unread: str
    unsent: str
    since: str
    fresh: str
    alike: str
    first: str
    last: str
    alone: str
    parts: str
    reason: str
    places: str


def make_helper_columns(columns: Iterable[Column]) -> HelperColumns:
    """Make names that no column of a table has: each with two underscores in front, or more if needed."""
    taken = {column.name.lower() for column in columns}
    before = "__"
    while any(before + name in taken for name in _NAMES):
        before += "_"
    return HelperColumns(*(before + name for name in _NAMES))
