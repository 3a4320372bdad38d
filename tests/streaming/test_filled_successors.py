"""Successors that are filled from the table before them: what proves it, and what keeps one empty."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import ChangeKind, Policy, PolicyRule
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import OP, ORDER
from schemaman.migration.settings import read_policies
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import alive_in, keyless, told
from tests.streaming.test_rollback_of_autopilot import take_back_if_able
from tests.support.memory_sink import MemorySink

FILLING = Policy(profile="autopilot", rules=(PolicyRule("auto", ("fill-successor",)),))
KEYED = [
    told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 2}), told(2, {"id": 1, "n": 5}, "u"),
    told(3, {"id": 2, "n": 2}, "d"), told(5, {"id": 3, "n": 3}),
]  # fmt: skip
LOG = [keyless(6, {"id": 7, "n": 1}), keyless(7, {"id": 7, "n": 1}), keyless(8, {"id": 7, "n": 2})]


@pytest.fixture(params=["delta", "iceberg"])
def lake(store: SqlStore, request: pytest.FixtureRequest) -> MemorySink:
    """A sink that fills successors, and nobody who answers."""
    return MemorySink(store, lambda _: None, request.param, FILLING, lambda _: False)


def take(lake: MemorySink, records: list[Record], size: int) -> None:
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    lake.take([])
    assert lake.withheld() == {}


@pytest.mark.parametrize("size", [1, 3, 9])
def test_a_log_begins_with_the_live_rows_of_the_table_that_lost_its_key(lake: MemorySink, size: int) -> None:
    take(lake, [*KEYED, *LOG], size)
    first, second = lake.lake()
    assert read_record(second.live.properties).is_filled
    assert [row["id"] for row in alive_in(first)] == [1, 3]
    assert [(row["id"], row["n"], row[OP]) for row in second.rows] == [
        (1, 5, "r"), (3, 3, "r"), (7, 1, "c"), (7, 1, "c"), (7, 2, "c"),
    ]  # fmt: skip
    orders = {row["id"]: row[ORDER] for row in first.rows}
    assert all(row[ORDER] == orders[row["id"]] for row in second.rows[:2])


@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_log_of_created_rows_is_folded_into_a_table_with_the_new_key(lake: MemorySink, size: int) -> None:
    log = [keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 2, "n": 2}), keyless(2, {"id": 4, "n": 2})]
    keyed = [told(3, {"id": 1, "n": 3}, "u"), told(4, {"id": 2, "n": 2}, "d"), told(5, {"id": 3, "n": 3})]
    take(lake, [*log, *keyed], size)
    first, second = lake.lake()
    assert len(first.rows) == 3
    assert sorted(alive_in(second), key=repr) == [{"id": 1, "n": 3}, {"id": 3, "n": 3}, {"id": 4, "n": 2}]
    assert len(second.rows) == 4


UNPROVEN: dict[str, tuple[list[Record], str]] = {
    "an update": ([keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 1, "n": 2}, "u")], "other than created"),
    "a delete": ([keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 1, "n": 1}, "d")], "other than created"),
    "no value": ([keyless(0, {"id": None, "n": 1})], "no value in the new key"),
    "one key twice": ([keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 1, "n": 2})], "the same new key"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_a_log_that_does_not_prove_its_rows_is_not_folded(lake: MemorySink, name: str) -> None:
    log, reason = UNPROVEN[name]
    take(lake, [*log, told(2, {"id": 1, "n": 3}), told(3, {"id": 2, "n": 3})], 1)
    _, second = lake.lake()
    filled = read_record(second.live.properties).filled
    assert filled is not None
    assert reason in filled.reason
    assert alive_in(second) == [{"id": 1, "n": 3}, {"id": 2, "n": 3}]
    assert sum("read both tables" in note for note in lake.notes) == 1


def test_a_successor_has_the_dropped_columns_of_the_rows_that_it_gets(lake: MemorySink) -> None:
    keyed = [told(n, {"id": n, "k": n + 1}, key=("k",)) for n in (1, 2)]
    take(lake, [*keyed, keyless(6, {"id": 1}), keyless(7, {"id": 2})], 1)
    _, second = lake.lake()
    assert [(row["id"], row["k"], row[OP]) for row in second.rows] == [
        (1, 2, "r"), (2, 3, "r"), (1, None, "c"), (2, None, "c"),
    ]  # fmt: skip


def test_rows_that_come_late_into_the_older_table_are_filled_in_as_well(lake: MemorySink) -> None:
    """They changed before the key was lost, and came once the successor had been filled."""
    late = [told(2, {"id": 1, "n": 6}, "u"), told(3, {"id": 2, "n": 2}, "d"), told(4, {"id": 4, "n": 4})]
    others = [r for r in KEYED if r.offset not in (2, 3)]
    moved = [replace(r, partition=1, offset=n) for n, r in enumerate(late)]
    take(lake, [*others, *LOG], 1)
    take(lake, moved, 1)
    first, second = lake.lake()
    assert {row["id"]: row["n"] for row in alive_in(first)} == {1: 6, 3: 3, 4: 4}
    newest = {row["id"]: row for row in sorted(second.rows, key=lambda row: row[ORDER])}
    assert {id: (row["n"], row[OP]) for id, row in newest.items()} == {
        1: (6, "r"), 2: (2, "d"), 3: (3, "r"), 4: (4, "r"), 7: (2, "c"),
    }  # fmt: skip


def test_a_record_that_is_delivered_again_is_not_filled_in_twice(lake: MemorySink) -> None:
    take(lake, [*KEYED, *LOG], 1)
    (_, second) = lake.lake()
    rows = Counter(map(repr, alive_in(second)))
    again = [replace(r, offset=20 + n) for n, r in enumerate(KEYED)]
    take(lake, again, 1)
    assert Counter(map(repr, alive_in(lake.lake()[1]))) == rows


def test_a_late_delete_of_a_log_that_was_folded_is_said_to_be_missing(lake: MemorySink) -> None:
    log = [keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 2, "n": 2})]
    take(lake, [*log, told(4, {"id": 1, "n": 3}, "u"), told(5, {"id": 3, "n": 3})], 1)
    take(lake, [replace(keyless(2, {"id": 2, "n": 2}, "d"), partition=1, offset=0)], 1)
    record = read_record(lake.lake()[1].live.properties)
    assert record.is_filled
    assert record.filled is not None
    assert "other than created" in record.filled.late
    assert any("came late" in note for note in lake.notes)


@pytest.mark.parametrize(
    ("word", "levels"),
    [("wait", ("block", "block")), ("successor", ("auto", "block")), ("fill", ("auto", "auto"))],
)
def test_a_word_says_what_becomes_of_a_table_whose_key_is_lost(word: str, levels: tuple[str, str]) -> None:
    policy = Policy(profile="autopilot", rules=read_policies([{"on-key-lost": word}]))
    kinds: tuple[ChangeKind, ...] = ("on-key-lost", "fill-successor")
    assert tuple(policy.find_ruling(kind, "t", "lake", "delta").level for kind in kinds) == levels


def test_another_key_has_no_filling() -> None:
    with pytest.raises(ValueError, match="unknown level 'fill'"):
        read_policies([{"on-key-changed": "fill"}])


def test_what_is_larger_than_the_bound_waits_and_is_filled_once_it_may_be(store: SqlStore) -> None:
    bounded = replace(FILLING, max_rewrite="1")
    lake = MemorySink(store, lambda _: None, "iceberg", bounded, lambda _: False)
    take(lake, [*KEYED, *LOG], 9)
    assert any("300 bytes would be rewritten, and max_rewrite is 1 byte" in note for note in lake.notes)
    assert len(lake.lake()[1].rows) == 3
    lake.policy = replace(FILLING, max_rewrite="1GB")
    take(lake, [keyless(9, {"id": 8, "n": 2})], 1)
    assert [row[OP] for row in lake.lake()[1].rows] == ["c", "c", "c", "r", "r", "c"]


def test_without_a_rule_only_a_stated_change_is_filled(store: SqlStore) -> None:
    policy = Policy(profile="autopilot", max_rewrite="1GB")
    lake = MemorySink(store, lambda _: None, "iceberg", policy, lambda _: False)
    take(lake, [*KEYED, *LOG], 9)
    assert len(lake.lake()[1].rows) == 3


def test_a_rollback_takes_no_rows_out_and_says_how_to_see_that_none_is_newer(store: SqlStore) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", FILLING, lambda _: False)
    take(lake, [*KEYED, *LOG], 9)
    (run,) = [
        line.run
        for line in Registry(store, lambda: 0).journal()
        if line.state == "started" and '"fill-successor"' in line.statement
    ]
    (refusal,) = take_back_if_able(lake, "iceberg", run).refusals
    query = refusal.instead.rpartition(": ")[2]
    opened = lake.open_lake()
    assert all(opened.inspect(table.live.name, "iceberg") for table in lake.lake())
    assert opened.query(query) == ((3,),)
