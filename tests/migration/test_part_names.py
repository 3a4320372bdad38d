"""Parts of split columns that give up their names: what the table records goes along."""

from __future__ import annotations

from schemaman.migration.part_names import record_new_names
from schemaman.migration.properties.displaced_columns import format_displaced
from schemaman.migration.properties.names import DISPLACED_PROPERTY, SPLIT_PROPERTY
from schemaman.migration.properties.table_record import (
    DisplacedColumn,
    SplitColumn,
    format_split,
    read_record,
)
from schemaman.migration.target import LakeTable
from schemaman.model.schema import TableSchema

LEFT = DisplacedColumn("label", "label", "v1", '{"offset":1}')
OTHER = DisplacedColumn("place", "place", "v1", '{"offset":1}')


def test_what_is_said_of_a_part_is_not_said_of_the_next_column_of_its_name() -> None:
    part = SplitColumn("label", "v2", '{"offset":2}', holds="former")
    properties = {
        SPLIT_PROPERTY: format_split({"label": part, "label__3": part}),
        DISPLACED_PROPERTY: format_displaced({"label": LEFT, "place": OTHER}),
    }
    lake = LakeTable("t", TableSchema(()), "iceberg", "", properties=properties)
    record = read_record({**properties, **record_new_names(lake, {"label": "label__3"})})
    assert {name: (each.was, each.column) for name, each in record.displaced.items()} == {
        "label__3": ("label__3", "label"),
        "place": ("place", "place"),
    }
