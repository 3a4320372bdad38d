"""Schemas of rows in Avro: each structure has its own, also if another one equals it."""

from collections.abc import Sequence

import pytest

from schemaman.compat.avro.schema import NO_DEFAULT, RecordOf
from schemaman.compat.avro.tables import make_row_schema
from schemaman.model.schema import Column, Scalar, TableSchema
from schemaman.model.types import Boolean, Integer, Type


@pytest.mark.parametrize(
    ("type", "fitting", "others"),
    [(Boolean(), True, (1, 1.0)), (Integer(32), 0, (False, 0.0)), (Integer(64), 1, (True, 1.0))],
)
def test_defaults_that_are_equal_in_python(type: Type, fitting: Scalar, others: Sequence[Scalar]) -> None:
    def read_default(value: Scalar) -> object:
        row = make_row_schema(TableSchema((Column("a", type, default=value),))).root
        assert isinstance(row, RecordOf)
        return row.fields[0].default

    found = [read_default(value) for value in (*others, fitting, *others)]
    assert found[len(others)] is fitting
    assert all(default in (None, NO_DEFAULT) for default in found[: len(others)] + found[len(others) + 1 :])
