"""Values in the forms that a projection may choose: each tells its value exactly, or the value is unfit."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.migration.type_mapping import VARIANT
from schemaman.model.ddl import parse_type
from schemaman.model.types import Json
from schemaman.sink.values.to_lake import fit_value
from schemaman.sink.values.to_lake_options import format_json
from schemaman.sink.values.values import OutOfRange, UnfitColumn

NOON = datetime.fromisoformat("2024-02-29T12:00:00.000005")
NUMBERS = st.integers(0, 59)


def held(value, source: str, lake: str):
    return fit_value(value, parse_type(source), parse_type(lake), "c")


@pytest.mark.parametrize(
    ("value", "source", "lake", "wanted"),
    [
        ("10:20:30.5", "TIME(6)", "BIGINT", 37230500000),
        ("24:00:00", "TIME(6)", "BIGINT", 86400000000),
        ("-838:59:59", "TIME(0)", "BIGINT", -3020399000000),
        (NOON, "TIMESTAMP_NTZ(6)", "TIMESTAMP", NOON.replace(tzinfo=UTC)),
        (NOON, "TIMESTAMP_NTZ(6)", "STRING", "2024-02-29T12:00:00.000005"),
        (2**64 - 1, "BIGINT UNSIGNED", "STRING", "18446744073709551615"),
        (7, "BIGINT UNSIGNED", "BIGINT", 7),
        ("a,b", "SET('a','b')", "ARRAY<STRING>", ["a", "b"]),
        ("", "SET('a','b')", "ARRAY<STRING>", []),
        ((1, None), "ARRAY<INT>", "STRING", "[1,null]"),
        ({"wkb": b"\x01", "srid": 4326}, "STRUCT<wkb: BINARY NOT NULL, srid: INT>", "BINARY", b"\x01"),
        ({"wkb": None, "srid": None}, "STRUCT<wkb: BINARY, srid: INT>", "BINARY", None),
        (Decimal("0.1"), "NUMERIC", "DOUBLE", 0.1),
        (Decimal("0.10"), "NUMERIC", "DECIMAL(38,10)", Decimal("0.1000000000")),
        (Decimal("NaN"), "NUMERIC", "STRING", "NaN"),
    ],
)
def test_a_value_has_the_form_that_was_chosen(value, source: str, lake: str, wanted) -> None:
    assert held(value, source, lake) == wanted


def test_a_uuid_is_sixteen_bytes() -> None:
    text = "00112233-4455-6677-8899-aabbccddeeff"
    told = held(text, "UUID", "BINARY")
    assert isinstance(told, bytes)
    assert str(UUID(bytes=told)) == text


@pytest.mark.parametrize(
    ("value", "source", "lake"),
    [
        ("10:20:30.1234567", "TIME(7)", "BIGINT"),
        ("noon", "TIME(6)", "BIGINT"),
        (OutOfRange("infinity"), "TIMESTAMP_NTZ(6)", "TIMESTAMP"),
        (2**64 - 1, "BIGINT UNSIGNED", "BIGINT"),
        (Decimal("1e400"), "NUMERIC", "DOUBLE"),
        (Decimal("1.12345678901"), "NUMERIC", "DECIMAL(38,10)"),
        ("no uuid", "UUID", "BINARY"),
        (object(), "ARRAY<INT>", "STRING"),
    ],
)
def test_what_the_form_cannot_tell_is_unfit(value, source: str, lake: str) -> None:
    assert isinstance(held(value, source, lake), UnfitColumn)


@given(hours=st.integers(0, 838), minutes=NUMBERS, seconds=NUMBERS, micros=st.integers(0, 999_999))
def test_microseconds_tell_the_time_again(hours: int, minutes: int, seconds: int, micros: int) -> None:
    digits = f"{micros:06}".rstrip("0")
    text = f"{hours:02}:{minutes:02}:{seconds:02}" + (f".{digits}" if digits else "")
    total = held(text, "TIME(6)", "BIGINT")
    assert total == ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_nested_values_as_json_are_read_back_digit_by_digit(value) -> None:
    told = json.loads(str(format_json(value)), parse_float=Decimal, parse_int=Decimal)
    assert told == _plain(value)


def _plain(value):
    match value:
        case bool() | None | str():
            return value
        case int():
            return Decimal(value)
        case tuple():
            return [_plain(one) for one in value]
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case _:
            return value


def test_what_json_has_no_word_for_is_text() -> None:
    day = {
        "at": NOON,
        "day": date(2024, 2, 29),
        "raw": b"\xff",
        "far": OutOfRange("infinity"),
        "nan": float("nan"),
    }
    assert json.loads(str(format_json(day))) == {
        "at": "2024-02-29T12:00:00.000005", "day": "2024-02-29", "raw": "ff", "far": "infinity", "nan": "nan",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": [1, 2.5, null, {"b": "x"}]}', None),
        ("12345678901234567890123456789012345678", None),
        ("1.5e3", None),
        (r'"\ud83d\ude00"', None),
        ("12345678901234567890123456789012345678901", "a VARIANT cannot hold the number"),
        ("1e400", "a VARIANT cannot hold the number"),
        ("1e-400", "a VARIANT cannot hold the number"),
        ("7" * 5_000, "a VARIANT cannot hold the number"),
        ('{"a": 1, "a": 2}', "a document with a key that comes twice"),
        ("[NaN]", "a document with NaN, which is no JSON"),
        ('{"a": ', "not a JSON document that a VARIANT can hold"),
        (r'{"a": "\ud800"}', "half a surrogate pair"),
        ("[" * 600 + "]" * 600, "nested too deeply"),
        (f'"{"x" * (5 << 20)}"', "too large for a VARIANT"),
    ],
)
def test_a_document_is_held_as_a_variant_exactly_or_not_at_all(text: str, reason: str | None) -> None:
    found = fit_value(text, Json(), VARIANT, "d")
    if reason is None:
        assert found == text
    else:
        assert isinstance(found, UnfitColumn)
        assert reason in found.reason
