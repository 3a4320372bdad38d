"""Keys as bytes: equal where the values are, whatever their size."""

from __future__ import annotations

from decimal import Decimal as Number

import pytest

pytest.importorskip("pyarrow")

from schemaman.model.schema import Column
from schemaman.model.types import Decimal
from schemaman.sink.values.values import EXACT
from schemaman.spark.arrow_types import encode_key

SMALL, LARGE = "5", "12345678901234567890123456789012345678"


@pytest.mark.parametrize(("scale", "text"), [(0, LARGE), (18, "10000000000"), (18, "-99999999999.5")])
def test_a_key_of_up_to_38_digits_has_bytes(scale: int, text: str) -> None:
    key = (Column("id", Decimal(38, scale)),)
    found = encode_key(key, {"id": Number(text)})
    assert found == repr((f"{EXACT.quantize(Number(text), Number((0, (1,), -scale)))}",)).encode()
    assert found != encode_key(key, {"id": Number(SMALL)})


def test_equal_numbers_of_different_scales_are_one_key() -> None:
    key = (Column("id", Decimal(38, 2)),)
    assert encode_key(key, {"id": Number("5")}) == encode_key(key, {"id": Number("5.00")})
