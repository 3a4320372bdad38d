"""Waivers: what people accept for a while is shown, and fails nothing until its day is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.compat.waivers import (
    Waiver,
    find_scope,
    list_remarks,
    parse_waivers,
    select_unexpired,
    to_text,
)
from schemaman.errors import BadConfiguration

WORDS = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1)
WAIVERS = st.builds(Waiver, WORDS, WORDS, WORDS, WORDS, WORDS, st.dates())
WHOLE = Waiver("1abc", "column-removed", "shop.t", "no reader left", "ann", date(2027, 1, 31))


@given(st.lists(WAIVERS, max_size=3))
def test_waivers_are_read_as_they_were_appended(waivers: list[Waiver]) -> None:
    assert parse_waivers("".join(map(to_text, waivers))) == tuple(waivers)


@pytest.mark.parametrize(
    "text",
    [
        "[[waive]", "[[waiver]]", "waive = 1", "[[waive]]", to_text(WHOLE).replace("owner", "ovner"),
        to_text(WHOLE).replace("2027-01-31", '"2027-01-31"'), to_text(WHOLE).replace('"ann"', '""'),
        to_text(WHOLE).replace("2027-01-31", "2027-01-31T00:00:00Z"), to_text(WHOLE) + "more = 1",
        "a = " + "[" * 5000,
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(BadConfiguration, match=r"w\.toml"):
        parse_waivers(text, "w.toml")


def test_a_waiver_stands_until_its_day_is_over_and_the_longest_counts() -> None:
    longer = Waiver("1abc", "column-removed", "shop.t", "still nobody", "ben", date(2027, 2, 28))
    assert select_unexpired([longer, WHOLE], date(2027, 1, 31)) == {"1abc": longer}
    assert select_unexpired([WHOLE], date(2027, 1, 31)) == {"1abc": WHOLE}
    assert select_unexpired([WHOLE], date(2027, 2, 1)) == {}


def test_expired_and_unused_waivers_are_named() -> None:
    used, gone, over = (
        Waiver(name, "column-dropped", "shop.orders", "nobody reads it", "ann", date(2026, 12, day))
        for name, day in (("a", 9), ("b", 9), ("c", 1))
    )
    today = date(2026, 12, 2)
    (expired, unused) = list_remarks((used, gone, over), {"a", "c"}, today, whole="source")[::-1]
    assert "waiver of c (column-dropped, shop.orders) expired on 2026-12-01" in expired
    assert "waiver of b (column-dropped, shop.orders) is unused" in unused
    assert len(list_remarks((used, gone, over), {"a", "c"}, today, whole=None)) == 1
    longer = replace(over, expires=date(2026, 12, 9))
    assert list_remarks((used, over, longer), {"a", "c"}, today, whole="source") == ()


def test_a_check_of_the_source_says_nothing_about_waivers_of_files() -> None:
    day = date(2026, 12, 9)
    file, table = (Waiver("a", "default-removed", name, "old", "ann", day) for name in ("order", "shop.o"))
    assert [find_scope(waiver) for waiver in (file, table)] == ["files", "source"]
    assert "order) is unused" in list_remarks((file, table), (), day, whole="files")[0]
    assert "shop.o) is unused" in list_remarks((file, table), (), day, whole="source")[0]
