"""Laws of what a lake table records: read once, never read as something else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.migration.properties import names
from schemaman.migration.properties.column_swaps import format_swaps
from schemaman.migration.properties.displaced_columns import format_displaced
from schemaman.migration.properties.names import format_paths, format_property
from schemaman.migration.properties.table_record import (
    ColumnSwap,
    DisplacedColumn,
    TableRecord,
    read_record,
)
from schemaman.model.types import Integer, String

NAMES = st.text(min_size=1, max_size=4)
MAPS = st.dictionaries(NAMES, NAMES, max_size=3)
LISTS = st.lists(NAMES, max_size=3)


@given(
    MAPS, MAPS, st.lists(st.lists(NAMES, min_size=1, max_size=3).map(tuple), max_size=3), LISTS, LISTS, MAPS
)
def test_what_is_written_is_read(mapped, metadata, kept, foreign, key, displaced) -> None:
    entries = {name: DisplacedColumn(was, "a", "id", "{}") for name, was in displaced.items()}
    swap = ColumnSwap("a", "b", "c", Integer(32), String())
    properties = {
        names.NAMES_PROPERTY: format_property(mapped),
        names.METADATA_PROPERTY: format_property(metadata),
        names.KEPT_PROPERTY: format_paths(kept),
        names.FOREIGN_PROPERTY: format_property(foreign),
        names.KEY_PROPERTY: format_property(key),
        names.DISPLACED_PROPERTY: format_displaced(entries),
        names.RECIPE_PROPERTY: format_swaps("expand", (swap,)),
        names.FENCE_PROPERTY: "7 run-1",
    }
    record = read_record({**properties, "owner": "another"})
    assert record == TableRecord(
        key=tuple(key),
        names=mapped,
        metadata=metadata,
        kept=tuple(kept),
        foreign=tuple(foreign),
        displaced=entries,
        swaps=(swap,),
        phase="expand",
        run="run-1",
    )
    assert read_record(properties) is record


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.NAMES_PROPERTY, ["a"]),
        (names.METADATA_PROPERTY, {"op": 1}),
        (names.KEPT_PROPERTY, [[]]),
        (names.FOREIGN_PROPERTY, {"a": "b"}),
        (names.KEY_PROPERTY, "id"),
        (names.DISPLACED_PROPERTY, {"a": 1}),
        (names.RECIPE_PROPERTY, {"exchanges": [{"column": "a"}]}),
    ],
)
def test_what_cannot_be_read_is_named(name: str, value: object) -> None:
    for text in (json.dumps(value), "{", ""):
        record = read_record({name: text, names.SOURCE_PROPERTY: "s.t"})
        assert record == TableRecord(source="s.t", unreadable=(name,))
