"""Columns of Arrow are listed as Arrow lists them, whatever their type, their nulls and their slices."""

import pyarrow as arrow
import pytest

from schemaman.ingest.column_rows import list_integers

MOMENTS = [1_700_000_000_123, 0, -1]
SOME = [1, None, 3]


@pytest.mark.parametrize(
    "column",
    [
        arrow.array(MOMENTS, arrow.int64()),
        arrow.array(MOMENTS, arrow.timestamp("us")),
        arrow.array(MOMENTS, arrow.timestamp("ns", tz="UTC")),
        arrow.array(SOME, arrow.int64()),
        arrow.array(SOME, arrow.timestamp("ms")),
        arrow.array([1, 2, 3], arrow.int32()),
        arrow.array([None, None], arrow.timestamp("ms")),
        arrow.array([], arrow.int64()),
        arrow.array([], arrow.timestamp("ms")),
        arrow.array([5, *MOMENTS], arrow.int64()).slice(1, 2),
        arrow.array([None, *MOMENTS], arrow.timestamp("us")).slice(1),
        arrow.array([None, None, 1], arrow.int64()).slice(0, 2),
    ],
    ids=lambda column: f"{column.type} of {len(column)}",
)
def test_integers_are_those_that_arrow_lists(column):
    assert list(list_integers(column)) == column.cast("int64").to_pylist()
