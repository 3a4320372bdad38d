"""Columns whose names others have by now, in a mirror: each keeps its values, wherever batches end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, Rename, format_coordinates
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_late_schema_changes import ID, A, B, created, ddl, live, mirror, row
from tests.streaming.test_policy import DEFAULTS
from tests.support.memory_sink import MemorySink, careful
from tests.support.records import node, row_event, struct

KEY = struct("srv.public.t.Key", id=node("int32"))
Rows = dict[int, dict[str, Any]]


def told(offset: int, lsn: int, **image: object) -> Record:
    """A created row of PostgreSQL, with its schema."""
    fields = {
        n: node("string" if isinstance(v, str) else "int32", optional=n != "id") for n, v in image.items()
    }
    return row_event(fields, "c", image, offset=offset, lsn=lsn)


def stated(*turns: tuple[str, Sequence[Any]]) -> list[Record]:
    """A table of MySQL that changes before each row: a statement, and the columns behind `id` after it."""
    records = []
    for number, (text, columns) in enumerate(turns):
        begun = created(*columns) if not number else ddl(number, 100 + 200 * number, text, ID, *columns)
        image = {"id": number + 1} | {name: f"{name}{number + 1}" for name, *_ in columns}
        records += [begun, row(number, 200 + 200 * number, image, told=True)]
    return records


AGAIN = "ALTER TABLE t ADD a VARCHAR(20)"
GONE = "ALTER TABLE t DROP a"
BOTH = (B, A)
STREAMS = {
    "dropped, and one of its name added": stated(("", (A, B)), (GONE, (B,)), (AGAIN, BOTH)),
    "both in one statement": stated(("", (A, B)), ("ALTER TABLE t DROP a, ADD a VARCHAR(20)", BOTH)),
    "three of one name": stated(("", (A, B)), (GONE, (B,)), (AGAIN, BOTH), (GONE, (B,)), (AGAIN, BOTH)),
    "two of one name, and none at the end": stated(("", (A, B)), (GONE, (B,)), (AGAIN, BOTH), (GONE, (B,))),
    "one of another type": [
        told(0, 100, id=1, a="a", b="b"), told(1, 105, id=2, b="B"), told(2, 110, id=3, b="C", a=7)
    ],
}  # fmt: skip


EXCHANGED = [told(0, 100, id=1, a="a", b="b"), told(1, 110, id=2, b="B", a="A")]
"""Two columns in another order: they exchanged their names, or one or both were dropped and made anew."""


def outcome(lake: MemorySink) -> Rows:
    return {
        id: {n: v for n, v in sorted(values.items()) if v is not None} for id, values in live(lake).items()
    }


def test_the_values_of_each_are_in_a_column_of_its_own(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take(STREAMS["three of one name"])
    assert outcome(lake) == {
        1: {"a__old": "a1", "b": "b1"},
        2: {"b": "b2"},
        3: {"a__old2": "a3", "b": "b3"},
        4: {"b": "b4"},
        5: {"a": "a5", "b": "b5"},
    }


@pytest.mark.parametrize("late", range(2))
def test_late_rows_of_a_column_that_gave_its_name_away_find_it(store: SqlStore, late: int) -> None:
    first, row, *others = STREAMS["three of one name"]
    changes = [first, *(r for r in others if r.topic == "srv")]
    rows = [r for r in others if r.topic != "srv"]
    lake = mirror(store)
    # Whether the table was mirrored when it had the column, or only once it was gone.
    lake.take([first, row] if late else changes)
    lake.take([*changes, *reversed(rows)])
    lake.take([row])
    lake.take([])
    assert lake.withheld() == {}
    rows_now = outcome(lake)
    assert rows_now[1] == {"a__old" if late else "a__old2": "a1", "b": "b1"}
    assert rows_now[3] == {"a__old2" if late else "a__old": "a3", "b": "b3"}
    assert rows_now[5] == {"a": "a5", "b": "b5"}
    lake.take([replace(row, offset=99)])
    assert lake.withheld() == {}


def test_one_that_left_is_found_by_its_place_where_two_versions_were_shown_alike(store: SqlStore) -> None:
    """The table was made of rows alone: what it remembers names both, once rows show the second one, too."""
    begun, first, *others = STREAMS["dropped, and one of its name added"]
    last = others.pop()
    lake = mirror(store)
    lake.take([first])
    lake.take([begun, *(r for r in others if r.topic == "srv")])
    lake.take([row(7, 250, {"id": 7, "a": "a7", "b": "b7"}, told=True)])
    lake.take([last])
    lake.take([row(8, 260, {"id": 8, "a": "a8", "b": "b8"}, told=True)])
    assert outcome(lake) == {
        1: {"a__old": "a1", "b": "b1"},
        3: {"a": "a3", "b": "b3"},
        7: {"a__old": "a7", "b": "b7"},
        8: {"a__old": "a8", "b": "b8"},
    }
    assert lake.withheld() == {}


def test_a_kept_column_takes_no_values_of_one_that_came_and_went_under_its_name(store: SqlStore) -> None:
    lake, records = mirror(store), STREAMS["two of one name, and none at the end"]
    lake.take(records[:4])
    assert outcome(lake)[1] == {"a": "a1", "b": "b1"}
    lake.take(records[4:])
    assert outcome(lake)[1] == {"a__old": "a1", "b": "b1"}
    assert outcome(lake)[3] == {"a": "a3", "b": "b3"}


def test_where_the_policy_gives_no_name_away_the_old_rows_wait_until_it_does(store: SqlStore) -> None:
    lake = MemorySink(
        store, lambda _: None, "delta", Policy(rules=(PolicyRule("block", ("reuse-name",)),)), modes=DEFAULTS
    )
    lake.take(STREAMS["dropped, and one of its name added"])
    assert list(outcome(lake)) == [2, 3]
    assert list(lake.withheld()) == [("srv.shop.t", 0, 0)]
    (note,) = lake.notes
    assert "another column has its name now (reuse-name = block" in note
    lake.policy = Policy()
    lake.take([])
    assert lake.withheld() == {}
    assert outcome(lake)[1] == {"a__old": "a1", "b": "b1"}


def test_a_name_that_a_kept_column_has_is_given_away_on_a_persons_word_alone(store: SqlStore) -> None:
    lake, records = mirror(store), STREAMS["two of one name, and none at the end"]
    lake.approve = lambda _: False
    lake.take(records[:4])
    lake.take(records[4:])
    (plan,) = lake.plans.values()
    assert any("reuse-name" in approval for approval in plan.approvals_needed)
    assert len(lake.withheld()) == 2
    lake.approve = lambda _: True
    lake.take([])
    assert lake.withheld() == {}
    assert outcome(lake)[3] == {"a": "a3", "b": "b3"}


def both_ways(store: SqlStore, *renames: tuple[str, str]) -> Decisions:
    (history,) = filter(None, map(store.history, store.tables()))
    version = history.latest
    answers = (
        Rename(str(history.table), a, b, version.id, format_coordinates(version.at)) for a, b in renames
    )
    return Decisions(tuple(answers))


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        ((("a", "b"), ("b", "a")), {"b": "a", "a": "b"}),
        ((("b", "b"),), {"a__old": "a", "b": "b"}),
        ((("a", "a"),), {"a": "a", "b__old": "b"}),
        ((("a", "a"), ("b", "b")), {"a": "a", "b": "b"}),
    ],
)
@pytest.mark.parametrize("cut", [0, 1])
def test_names_that_may_have_been_exchanged_wait_for_the_answer(
    store: SqlStore, answer: tuple[tuple[str, str], ...], first: dict[str, str], cut: int
) -> None:
    lake = mirror(store)
    lake.approve = careful
    lake.take(EXCHANGED[:cut])
    lake.take(EXCHANGED[cut:])
    (reason,) = lake.withheld().values()
    assert "a, b were all recreated, or swapped names" in reason or "reuse-name = approve" in reason
    lake.decisions = both_ways(store, *answer)
    lake.approve = lambda _: True
    lake.take([])
    assert lake.withheld() == {}
    assert outcome(lake) == {1: first, 2: {"b": "B", "a": "A"}}


def test_the_policy_may_say_that_names_always_mean_other_columns(store: SqlStore) -> None:
    reused = Policy(rules=(PolicyRule("auto", ("reuse-name",)),))
    lake = MemorySink(store, lambda _: None, "delta", reused, modes=DEFAULTS)
    lake.take(EXCHANGED)
    assert lake.withheld() == {}
    assert outcome(lake) == {1: {"a__old": "a", "b__old": "b"}, 2: {"b": "B", "a": "A"}}


def answered(store: SqlStore, *steps: tuple[int, str, str]) -> Decisions:
    """Renames, each in the step to the version of this number."""
    (history,) = filter(None, map(store.history, store.tables()))
    versions = {version.number: version for version in history.versions}
    return Decisions(
        tuple(
            Rename(str(history.table), a, b, versions[number].id, format_coordinates(versions[number].at))
            for number, a, b in steps
        )
    )


def test_an_exchange_behind_another_one_is_asked_for_as_well(store: SqlStore) -> None:
    twice = [*EXCHANGED, told(2, 120, id=3, a="a3", b="b3")]
    lake = mirror(store)
    lake.approve = careful
    lake.take(twice)
    assert list(lake.withheld()) == [("srv.public.t", 0, 0), ("srv.public.t", 0, 1)]
    lake.decisions = answered(store, (3, "a", "b"), (3, "b", "a"))
    lake.take([])
    assert outcome(lake)[2] == {"a": "B", "b": "A"}
    lake.decisions = answered(store, (2, "a", "b"), (2, "b", "a"), (3, "a", "b"), (3, "b", "a"))
    lake.take([])
    assert lake.withheld() == {}
    assert outcome(lake) == {1: {"a": "a", "b": "b"}, 2: {"a": "B", "b": "A"}, 3: {"a": "a3", "b": "b3"}}


@pytest.mark.parametrize("cut", range(1, 8))
def test_a_dropped_column_does_not_get_the_name_of_one_that_was_renamed_since(
    store: SqlStore, cut: int
) -> None:
    c = ("c", "VARCHAR", 12, 20)
    renamed = ("ALTER TABLE t RENAME COLUMN a TO c", (B, c))
    records = stated(("", (A, B)), (GONE, (B,)), (AGAIN, BOTH), renamed)
    lake = mirror(store)
    lake.take(records[:cut] if cut < 7 else records)
    lake.take(records[cut:])
    assert lake.withheld() == {}
    assert outcome(lake)[3]["c"] == "a3"
    assert outcome(lake)[4] == {"b": "b4", "c": "c4"}
    (value,) = outcome(lake)[1].keys() - {"b"}
    assert (value in ("a", "a__old"), outcome(lake)[1][value]) == (True, "a1")


def test_a_row_that_stands_between_two_that_are_remembered_is_of_the_version_that_was_there(
    store: SqlStore,
) -> None:
    """One partition alone tells that the column left; rows of the other go on with one of its name."""
    lake = mirror(store)
    gone = replace(told(0, 110, id=2, b="B"), partition=1)
    lake.take([told(0, 100, id=1, a="a", b="b"), gone])
    first, between, last = (told(n, 110 + 10 * n, id=2 + n, a=f"a{n}", b="b") for n in (1, 2, 3))
    lake.take([first, between, last])
    assert lake.withheld() == {}
    assert outcome(lake)[4] == {"a": "a2", "b": "b"}
    assert [row.get("a__old") for row in outcome(lake).values()] == ["a", None, None, None, None]


def test_a_name_that_came_back_before_any_row_had_it_leaves_earlier_rows_as_they_are(store: SqlStore) -> None:
    """The first version has some of the newest one's fields, and none of its rows comes that late."""
    added = ("ALTER TABLE t ADD b VARCHAR(20)", BOTH)
    *first, row = stated(("", (A,)), added, (GONE, (B,)), (AGAIN, BOTH))
    lake = mirror(store)
    lake.take(first[:-2])
    lake.take(first[-2:])
    lake.take([row])
    assert (lake.stopped, lake.withheld()) == (set(), {})
    assert outcome(lake) == {
        1: {"a__old": "a1"},
        2: {"a__old": "a2", "b": "b2"},
        3: {"b": "b3"},
        4: {"a": "a4", "b": "b4"},
    }


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_columns_at_one_place_with_types_of_other_kinds_may_be_others_of_their_names(
    store: SqlStore, format: str, size: int
) -> None:
    """`a` was dropped, `b` got its name, and `c` that of `b`: no value is under another name."""
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    records = [told(n, 100 + n, id=n, a=n, b="b", c=n) for n in (0, 1)]
    records += [told(n, 100 + n, id=n, a="a", b=n) for n in (2, 3)]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert lake.withheld() == {}
    rows = {row["id"]: (row["a"], row["b"], row["a__old"], row["b__old"]) for row in lake.lake()[0].rows}
    assert rows == {n: (None, None, n, "b") for n in (0, 1)} | {n: ("a", n, None, None) for n in (2, 3)}
    for old, new in (("b", "a"), ("c", "b")):
        assert any(f"whether {old} became {new}" in note for note in lake.notes)


@pytest.mark.parametrize("values", [("a", 7), (7, "b")])
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("size", [1, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_dropped_column_leaves_its_name_to_one_of_another_type(
    store: SqlStore, format: str, size: int, behind: bool, values: tuple[object, object]
) -> None:
    """`a` was dropped and `b` got its name, or `b` was dropped and `a` got another type: this is asked."""
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    a, b = values
    both = {"b": b, "a": a} if behind else {"a": a, "b": b}
    records = [told(n, 100 + n, id=n, **(both if n < 2 else {"a": b})) for n in range(4)]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert lake.withheld() == {}
    rows = {row["id"]: (row["a"], row["a__old"], row["b"]) for row in lake.lake()[0].rows}
    assert rows == {n: (None, a, b) if n < 2 else (b, None, None) for n in range(4)}
    assert any("whether b became a" in note for note in lake.notes)
