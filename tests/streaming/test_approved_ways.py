"""Changes beside the ordinary plan, once a person has approved them, and the bound for reading a table."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.errors import BadConfiguration
from schemaman.migration.plan_file import from_text, plan_hash, to_text
from schemaman.migration.policy import ChangeKind, Level, Policy, PolicyRule
from schemaman.migration.row_columns import DELETED
from schemaman.migration.settings import read_policies
from schemaman.store.sql.store import SqlStore
from tests.streaming.automatic_ways import WAYS
from tests.streaming.test_autopilot import told
from tests.support.memory_sink import MemorySink


def make_sink(store: SqlStore, approved: set[str], **policy: Any) -> MemorySink:
    """A sink that applies the plans whose hashes are approved."""
    rules = tuple(
        PolicyRule(level, (kind.replace("_", "-"),)) for kind, level in policy.pop("levels").items()
    )
    made = Policy(profile="autopilot", rules=rules, **policy)
    return MemorySink(store, lambda _: None, "iceberg", made, lambda plan: plan_hash(plan) in approved)


def approve(sink: MemorySink, approved: set[str]) -> None:
    """A person reads the plan of the report as a file, and approves it."""
    (plan,) = sink.plans.values()
    approved.add(plan_hash(from_text(to_text(plan))))


def list_living(sink: MemorySink, *names: str) -> list[tuple[object, ...]]:
    """The living rows of the only table."""
    (table,) = sink.tables.values()
    return sorted(tuple(row[n] for n in names) for row in table.read() if not row.get(DELETED))


def test_another_key_waits_for_its_approval_and_rows_of_the_old_key_go_on(store: SqlStore) -> None:
    approved: set[str] = set()
    sink = make_sink(store, approved, levels={"change_key": "approve"})
    for batch in WAYS["another key that rows prove"].batches[:2]:
        sink.take(batch.records)
    assert list_living(sink, "id", "n") == [(1, 1), (2, 2)]
    assert set(sink.withheld()) == {("srv.public.t", 0, 3), ("srv.public.t", 0, 4)}
    approve(sink, approved)
    # A late row of the old key makes a new version of the table: the approval still holds.
    sink.take([told(2, {"id": 1, "n": 5}, "u")])
    sink.take([])
    assert list_living(sink, "id", "n") == [(1, 5), (3, 3), (9, 2)]
    assert sink.withheld() == {}


def test_columns_are_united_once_that_is_approved_and_rows_go_on_meanwhile(store: SqlStore) -> None:
    approved: set[str] = set()
    sink = make_sink(store, approved, levels={"unite_columns": "approve"})
    for batch in WAYS["columns united after an answer"].batches[:3]:
        sink.decisions = batch.decide(store)
        sink.take(batch.records)
    assert list_living(sink, "id", "old", "new") == [(1, 2, None), (2, 3, 4), (3, None, 5)]
    assert sink.withheld() == {}
    assert any("needs approval" in note and "both keep their values" in note for note in sink.notes)
    approve(sink, approved)
    sink.take([told(4, {"id": 4, "z": 1, "new": 6})])
    assert list_living(sink, "id", "new") == [(1, 2), (2, 4), (3, 5), (4, 6)]


@pytest.mark.parametrize(("most", "is_read"), [("1 GB", True), ("1", False)])
def test_a_table_beyond_max_scan_keeps_its_key_and_only_rows_of_the_next_key_wait(
    store: SqlStore, most: str, is_read: bool
) -> None:
    sink = make_sink(store, set(), levels={}, max_scan=most)
    first, second, *_ = WAYS["another key that rows prove"].batches
    sink.take(first.records)
    sink.take([told(2, {"id": 1, "n": 1}, "u"), *second.records])
    waiting = sink.withheld()
    assert set(waiting) == (set() if is_read else {("srv.public.t", 0, 3), ("srv.public.t", 0, 4)})
    assert all("would be read, and max_scan is 1 byte" in reason for reason in waiting.values())
    sink.policy = Policy(profile="autopilot")
    sink.take([])
    assert list_living(sink, "id", "n") == [(1, 1), (3, 3), (9, 2)]


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("reuse-name", "ignore"),
        ("reorder", "block"),
        ("set-not-null", "block"),
        ("set-not-null", "quarantine"),
        ("truncate", "approve"),
    ],
)
def test_a_level_without_an_effect_is_refused(kind: ChangeKind, level: Level) -> None:
    with pytest.raises(ValueError, match=f"{kind} cannot be {level}; it may be "):
        read_policies([{kind: level}])
    with pytest.raises(BadConfiguration, match=f"{kind} cannot be {level}"):
        Policy(rules=(PolicyRule(level, (kind,)),))


@pytest.mark.parametrize(
    ("pattern", "level", "kind", "expected"),
    [
        ("*", "approve", "truncate", "block"),
        ("*", "approve", "split-column", "block"),
        ("on-*", "ignore", "on-key-lost", "block"),
        ("rename-*", "quarantine", "rename-unanswered", "block"),
        ("*", "approve", "narrow", "ignore"),
        ("*", "quarantine", "change-comment", "auto"),
        ("*", "block", "set-not-null", "ignore"),
        ("*", "auto", "rename-suspected", "approve"),
    ],
)
def test_a_pattern_leaves_no_destructive_kind_automatic(
    pattern: str, level: Level, kind: ChangeKind, expected: Level
) -> None:
    policy = Policy(profile="autopilot", rules=(PolicyRule(level, (pattern,)),))
    assert policy.find_ruling(kind, "t", "lake", "delta").level == expected
