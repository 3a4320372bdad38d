"""What a Kafka address means, where reading begins, and which options may be given; no broker is needed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import BadReference
from schemaman.io import kafka
from schemaman.store.offsets import find_missing


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
    assert kafka.find_topics(source) == kafka.Topics(brokers, topics)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kafka://", "the broker or the topic is missing"),
        ("kafka://b:9092", "the broker or the topic is missing"),
        ("kafka:///t", "the broker or the topic is missing"),
        ("kafka://b:9092/,", "the broker or the topic is missing"),
        ("kafka://b:9092/a/b", "'a/b' is not a valid topic name"),
        ("kafka://b:9092/..", "is not a valid topic name"),
        ("kafka://b:9092/" + "t" * 250, "is not a valid topic name"),
        ("kafka://me:hush@b:9092/t", "must not contain a user or a password"),
        ("kafka://a:9092,b:99999/t", "99999 is not a port"),
        ("kafka://b:0/t", "0 is not a port"),
        ("kafka://b:9092/t?sasl.password=hush", "an address has no options"),
    ],
)
def test_an_address_that_is_none(source: str, message: str) -> None:
    with pytest.raises(BadReference, match=message) as fault:
        kafka.find_topics(source)
    assert "hush" not in fault.value.message


@given(
    st.integers(0, 50),
    st.integers(0, 60),
    st.lists(st.tuples(st.integers(0, 70), st.integers(0, 9)), max_size=6),
    st.integers(0, 8),
)
def test_what_is_read_holds_all_that_is_missing_and_the_record_before_it(
    low: int, size: int, drawn: list[tuple[int, int]], worth: int
) -> None:
    known: list[tuple[int, int]] = []
    for first, length in sorted(drawn):
        if not known or first > known[-1][1] + 1:
            known.append((first, first + length))
    end, ranges = low + size, tuple(known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka, "_WORTH_SEEKING", worth)
        found = kafka.list_pieces(low, end, ranges)
    read = [offset for start, stop in found for offset in range(start, stop)]
    assert read == sorted(set(read))
    assert set(read) <= set(range(low, end))
    lacking = {
        offset for first, last in find_missing(low, end - 1, ranges) for offset in range(first, last + 1)
    }
    assert lacking <= set(read)
    before = {offset - 1 for offset in lacking if offset > low}
    if size and not lacking:
        before = {end - 1}
    assert before <= set(read)
    assert all(later[0] - earlier[1] >= worth for earlier, later in pairwise(found))
