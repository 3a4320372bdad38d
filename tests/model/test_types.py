"""Laws of logical types: widening over the whole square of a sample."""

from __future__ import annotations

from decimal import Decimal as Number

import pytest
from hypothesis import given

from schemaman.model.ddl import parse_type
from schemaman.model.types import Decimal, Floating, Integer, Type, count_digits, widens, without_labels
from tests.support.strategies import TYPES

WORDS = (
    "BOOLEAN · TINYINT · SMALLINT · INT · BIGINT · TINYINT UNSIGNED · SMALLINT UNSIGNED · INT UNSIGNED",
    "BIGINT UNSIGNED · FLOAT · DOUBLE · DECIMAL(3,0) · DECIMAL(5,2) · DECIMAL(10,0) · DECIMAL(10,2)",
    "DECIMAL(10,4) · DECIMAL(12,4) · DECIMAL(20,0) · DECIMAL(38,10) · NUMERIC · STRING · VARCHAR(10)",
    "VARCHAR(20) · CHAR(5) · CHAR(10) · BINARY · BINARY(4) · BINARY(8) · BITS · BITS(3) · DATE",
    "TIME(0) · TIME(6) · TIMETZ(6) · TIMESTAMP(3) · TIMESTAMP(6) · TIMESTAMP_NTZ(0) · TIMESTAMP_NTZ(3)",
    "INTERVAL · INTERVAL YEAR TO MONTH · INTERVAL DAY TO SECOND",
    "TIMESTAMP_NTZ(6) · UUID · JSON · XML · ENUM · ENUM('a') · ENUM('a','b') · SET",
    "SET('a') · SET('b','a') · UNKNOWN('box') · UNKNOWN('circle') · ARRAY<INT> · ARRAY<BIGINT>",
    "ARRAY<INT NOT NULL> · MAP<STRING, INT> · MAP<STRING, BIGINT NOT NULL> · STRUCT<a: INT>",
    "STRUCT<a: BIGINT> · STRUCT<a: INT NOT NULL> · STRUCT<a: INT, b: INT>",
)
SAMPLE = tuple(parse_type(word) for line in WORDS for word in line.split("·"))


def test_widening_is_reflexive_and_transitive_over_the_whole_square() -> None:
    onward = {a: {b for b in SAMPLE if widens(a, b)} for a in SAMPLE}
    assert all(a in onward[a] for a in SAMPLE)
    broken = [(a, b, c) for a in SAMPLE for b in onward[a] for c in onward[b] if c not in onward[a]]
    assert broken == []


def test_types_that_widen_into_each_other_are_the_same_but_for_the_order_of_labels() -> None:
    both = [(a, b) for a in SAMPLE for b in SAMPLE if a != b and widens(a, b) and widens(b, a)]
    assert both == []


@given(TYPES)
def test_every_type_widens_into_itself(type: Type) -> None:
    assert widens(type, type)


@given(TYPES)
def test_labels_leave_for_good(type: Type) -> None:
    bare = without_labels(type)
    assert without_labels(bare) == bare


def _range(type: Integer) -> tuple[int, int]:
    return (-(2 ** (type.bits - 1)), 2 ** (type.bits - 1) - 1) if type.signed else (0, 2**type.bits - 1)


INTEGERS = tuple(Integer(bits, signed) for bits in (8, 16, 32, 64) for signed in (True, False))


@pytest.mark.parametrize("old", INTEGERS, ids=str)
def test_an_integer_widens_exactly_where_its_extremes_fit(old: Integer) -> None:
    low, high = _range(old)
    for new in INTEGERS:
        assert widens(old, new) == (_range(new)[0] <= low and high <= _range(new)[1])
    for precision in range(1, 25):
        assert widens(old, Decimal(precision, 2)) == (len(str(max(high, -low))) <= precision - 2)
    for bits, mantissa in ((32, 24), (64, 53)):
        assert widens(old, Floating(bits)) == (max(high, -low) <= 2**mantissa)


@pytest.mark.parametrize("type", INTEGERS, ids=str)
def test_digits_hold_the_largest_value(type: Integer) -> None:
    assert count_digits(type) == max(len(str(abs(n))) for n in _range(type))


@pytest.mark.parametrize("old", [Decimal(5, 2), Decimal(10, 0), Decimal(4, 4)], ids=str)
@pytest.mark.parametrize(
    "new", [Decimal(7, 2), Decimal(7, 4), Decimal(6, 4), Decimal(12, 2), Decimal(9, 5)], ids=str
)
def test_a_decimal_widens_exactly_where_its_largest_value_fits(old: Decimal, new: Decimal) -> None:
    largest = Number(10**old.precision - 1).scaleb(-old.scale)
    smallest = Number(1).scaleb(-old.scale)
    fits = largest < Number(10) ** (new.precision - new.scale) and smallest >= Number(1).scaleb(-new.scale)
    assert widens(old, new) == fits
