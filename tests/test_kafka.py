"""What a Kafka address means, where reading begins, and which options may be given; no broker is needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.adapters import kafka
from schemaman.coverage import missing
from schemaman.errors import BadReference


@pytest.mark.parametrize(
    ("source", "brokers", "topics"),
    [
        ("kafka://b:9092/t", "b:9092", ("t",)),
        (
            "kafka://b:9092,c:9092/shop.public.orders,shop.*",
            "b:9092,c:9092",
            ("shop.public.orders", "shop.*"),
        ),
        ("kafka://[::1]:9092/*", "[::1]:9092", ("*",)),
    ],
)
def test_an_address_names_brokers_and_topics(source: str, brokers: str, topics: tuple[str, ...]) -> None:
    assert kafka.find(source) == kafka.Topics(brokers, topics)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kafka://", "names no broker or no topic"),
        ("kafka://b:9092", "names no broker or no topic"),
        ("kafka:///t", "names no broker or no topic"),
        ("kafka://b:9092/,", "names no broker or no topic"),
        ("kafka://b:9092/a/b", "'a/b' cannot be the name of a topic"),
        ("kafka://b:9092/..", "cannot be the name of a topic"),
        ("kafka://b:9092/" + "t" * 250, "cannot be the name of a topic"),
        ("kafka://me:hush@b:9092/t", "no place in an address"),
        ("kafka://b:9092/t?sasl.password=hush", "an address has no options"),
    ],
)
def test_an_address_that_is_none(source: str, message: str) -> None:
    with pytest.raises(BadReference, match=message) as fault:
        kafka.find(source)
    assert "hush" not in fault.value.message


@given(
    st.integers(0, 50),
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 70), st.integers(0, 9)), max_size=6),
)
def test_reading_begins_at_the_last_known_offset_or_before(
    low: int, size: int, pieces: list[tuple[int, int]]
) -> None:
    known: list[tuple[int, int]] = []
    for first, length in sorted(pieces):
        if not known or first > known[-1][1] + 1:
            known.append((first, first + length))
    end = low + size
    start = kafka.start_of(low, end, tuple(known))
    lacking = missing(low, end - 1, tuple(known)) if size else ()
    assert low <= start <= end
    assert all(first >= start for first, _ in lacking)
    if lacking and lacking[0][0] > low:
        assert start == lacking[0][0] - 1
