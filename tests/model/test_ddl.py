"""Laws of the text form: what is written is read back, and what cannot be read says where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import BadReference
from schemaman.model.ddl import format_type, parse_type
from schemaman.model.types import Decimal, Integer, String, Timestamp, Type
from tests.support.strategies import TYPES


@given(TYPES)
def test_a_type_is_read_as_it_was_written(type: Type) -> None:
    assert parse_type(format_type(type)) == type


@given(TYPES, TYPES)
def test_two_types_never_share_a_text(a: Type, b: Type) -> None:
    assert (format_type(a) == format_type(b)) == (a == b)


@given(TYPES)
def test_case_and_spaces_do_not_matter_outside_quotes(type: Type) -> None:
    text = format_type(type)
    if "'" not in text and "`" not in text and "STRUCT" not in text:
        assert parse_type("  " + text.lower().replace(",", " , ").replace("<", " < ")) == type


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("int", Integer(32)),
        ("integer", Integer(32)),
        ("Long", Integer(64)),
        ("decimal", Decimal(10, 0)),
        ("decimal(7)", Decimal(7, 0)),
        ("varchar", String()),
        ("char(3)", String(3, fixed=True)),
        ("timestamp", Timestamp(6)),
        ("timestamp_ntz", Timestamp(6, zoned=False)),
    ],
)
def test_other_spellings(text: str, type: Type) -> None:
    assert parse_type(text) == type


@pytest.mark.parametrize(
    "text",
    ["", "x", "INT INT", "DECIMAL(", "DECIMAL()", "DECIMAL(a)", "DECIMAL(1,2", "ARRAY", "ARRAY<", "ARRAY<INT",
     "MAP<INT>", "MAP<INT, INT", "STRUCT<a>", "STRUCT<a: >", "STRUCT<a: INT", "ENUM('a'", "ENUM(a)",
     "UNKNOWN()", "UNKNOWN('a','b')", "VARCHAR('a')", "DECIMAL(1,2,3)", "'INT'", "INT NOT NULL",
     "CHAR(-1)", "TIME(1,2)",
     "STRUCT<a: INT, a: INT>"],
)  # fmt: skip
def test_what_is_no_type_says_so(text: str) -> None:
    with pytest.raises(BadReference, match=r"expected .* at character"):
        parse_type(text)


@given(st.text(max_size=20))
def test_any_text_is_a_type_or_a_plain_refusal(text: str) -> None:
    try:
        type = parse_type(text)
    except BadReference:
        return
    assert parse_type(format_type(type)) == type
