"""What a mirror asks before it touches a table: whose it is, what the policy says, how far it was read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.migration.plan_file import from_text, plan_hash, to_text
from schemaman.migration.policy import ChangeKind, Level, Policy, PolicyRule, ProjectionRule
from schemaman.migration.properties.names import KEPT_PROPERTY, STORE_PROPERTY
from schemaman.migration.row_columns import DELETED
from schemaman.sink.values.connector_modes import ConnectorModes
from schemaman.spark.streaming.quarantine import QuarantinedTable, RetryLog
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_recordings import batches, found_of, opened, unknown
from tests.support.memory_lake import MemoryTable
from tests.support.memory_sink import EMPTYING, MemorySink
from tests.support.records import event, node, record, row_event, struct

INT, TEXT = node("int32"), node("string")
KEY = struct("srv.public.t.Key", id=INT)
DEFAULTS = ConnectorModes("precise", "adaptive_time_microseconds", "bytes", "numeric", "json", "long")
"""What the connectors do where nothing is configured. Source: Debezium, the defaults of those settings."""


def policy(**levels: Level) -> Policy:
    kinds: dict[str, ChangeKind] = {
        "truncate": "truncate", "proven": "rename-proven", "new": "new-table", "add": "add-required-column",
    }  # fmt: skip
    return Policy(rules=tuple(PolicyRule(level, (kinds[name],)) for name, level in levels.items()))


def mirror(store: SqlStore, **levels: Level) -> MemorySink:
    return MemorySink(store, lambda _: None, "delta", policy(**levels))


def told(offset: int, op: str = "c", row: dict[str, Any] | None = None, **source: Any) -> Record:
    """An event of a row, at a place of its own unless `source` says otherwise."""
    fields = {n: INT if isinstance(value, int) else TEXT for n, value in (row or {"id": 1, "n": 1}).items()}
    return row_event(fields, op, row, offset=offset, **source)


def alive(lake: MemorySink) -> list[dict[str, Any]]:
    """The rows of the only table that readers see, without what remembers positions."""
    (table,) = lake.lake()
    return [
        {name: value for name, value in row.items() if not name.startswith("_row_")}
        for row in table.rows
        if not row[DELETED]
    ]


# Whose table it is.


def test_a_table_bears_the_store_that_keeps_it_and_takes_no_rows_from_another(
    store: SqlStore, tmp_path: Path
) -> None:
    first = mirror(store)
    first.take([told(0, row={"id": 1, "n": 1})])
    (table,) = first.lake()
    assert table.live.properties[STORE_PROPERTY] == store.id
    with SqlStore.open(f"sqlite:///{tmp_path / 'other.db'}", create=True) as other:
        second = mirror(other)
        second.tables = first.tables
        second.take([told(0, row={"id": 1, "n": 1}), told(1, "u", {"id": 1, "n": 2})])
        (reason,) = set(second.withheld().values())
        assert f"the store {store.id} maintains " in reason
        assert alive(second) == [{"id": 1, "n": 1}]
    first.take([told(1, "u", {"id": 1, "n": 2})])
    assert alive(first) == [{"id": 1, "n": 2}]


# Renames that the evidence alone proves.


def test_a_rename_on_proof_is_made_where_the_policy_says_auto(store: SqlStore) -> None:
    lake = mirror(store, proven="auto")
    lake.approve = lambda _: False
    lake.take([told(0, row={"id": 1, "a": 5, "z": 1})])
    # the row from before comes once more with the ones behind it, as after a crash
    lake.take([told(1, row={"id": 2, "a": 6, "z": 1}), told(2, "u", {"id": 1, "b": 7, "z": 1})])
    (table,) = lake.lake()
    assert [s for s in lake.steps if "RENAME" in s] == [
        "ALTER TABLE `delta`.`/lake/shop.public.t` RENAME COLUMN `a` TO `b`"
    ]
    assert sorted(alive(lake), key=repr) == [{"id": 1, "b": 7, "z": 1}, {"id": 2, "b": 6, "z": 1}]
    assert lake.withheld() == {}
    assert KEPT_PROPERTY not in table.live.properties


def test_a_rename_on_proof_that_needs_approval_stops_and_then_takes_old_rows_along(store: SqlStore) -> None:
    lake = mirror(store)
    lake.approve = lambda _: False
    lake.take([told(0, row={"id": 1, "a": 5, "z": 1})])
    lake.take([told(1, row={"id": 2, "a": 6, "z": 1}), told(2, "u", {"id": 1, "b": 7, "z": 1})])
    assert alive(lake) == [{"id": 1, "a": 5, "z": 1}]
    assert all("rename-proven = approve" in reason for reason in lake.withheld().values())
    lake.approve = lambda _: True
    lake.take([])
    assert sorted(alive(lake), key=repr) == [{"id": 1, "b": 7, "z": 1}, {"id": 2, "b": 6, "z": 1}]
    # a row from before that comes late finds its column, since the journal tells of the rename
    lake.take([told(3, row={"id": 3, "a": 8, "z": 1}, lsn=101, sequence='["101","101"]')])
    assert lake.withheld() == {}
    assert {"id": 3, "b": 8, "z": 1} in alive(lake)


def test_a_rename_on_proof_that_is_blocked_stops_the_table(store: SqlStore) -> None:
    lake = mirror(store, proven="block")
    lake.take([told(0, row={"id": 1, "a": 5, "z": 1})])
    lake.take([told(1, "u", {"id": 1, "b": 7, "z": 1})])
    (reason,) = lake.withheld().values()
    assert "rename not decided" in reason
    assert alive(lake) == [{"id": 1, "a": 5, "z": 1}]


# A member of a struct that a person says was renamed.


def nested(offset: int, lsn: int, id: int, member: str, value: Any, kept: int = 1) -> Record:
    """A row with a struct, and with a list of structs, of which one member is called so."""
    inner = struct(None, **{member: node("int32", optional=True), "kept": INT})
    row = struct("srv.public.t.Value", id=INT, s=inner, l=node("array", items=inner))
    told, image = event(row, "c", lsn=lsn, sequence=f'["{lsn}","{lsn}"]'), {member: value, "kept": kept}
    told["payload"]["after"] = {"id": id, "s": image, "l": [image, image]}
    made = record(told, {"schema": KEY, "payload": {"id": id}})
    return Record(made.topic, 0, offset, 1, made.key, made.value)


def quantities(store: SqlStore) -> Decisions:
    """A person's word that `qty` became `quantity`, in the newest version of the only table."""
    (table,) = store.tables()
    history = store.history(table)
    assert history is not None
    at = (history.latest.id, format_coordinates(history.latest.at))
    pairs = ((f"{path}.qty", f"{path}.quantity") for path in ("s", "l.element"))
    return Decisions(tuple(Rename(str(table), *pair, *at) for pair in pairs))


def test_rows_from_before_a_members_rename_fill_it_under_its_new_name(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([nested(0, 100, 1, "qty", 5)])
    lake.take([nested(1, 101, 2, "qty", 6), nested(2, 102, 3, "quantity", 7)])
    assert all("rename" in reason for reason in lake.withheld().values())
    assert len(lake.withheld()) == 2
    lake.decisions = quantities(store)
    lake.take([])
    assert lake.withheld() == {}
    # one that comes late, and from before, is read as those that waited
    lake.take([nested(3, 101, 4, "qty", None, 9)])
    assert lake.withheld() == {}
    found = {row["id"]: (row["s"], dict(row["l"][0])) for row in alive(lake) if row["id"] > 1}
    told = {2: (6, 1), 3: (7, 1), 4: (None, 9)}
    wanted = {id: {"quantity": quantity, "kept": kept} for id, (quantity, kept) in told.items()}
    assert found == {id: (image, image) for id, image in wanted.items()}


# A column that may have been renamed, and a person says whether it was.


@pytest.mark.parametrize("answer", ["it was", "it was not"])
def test_an_answer_lets_what_waits_for_it_in_with_the_next_batch(store: SqlStore, answer: str) -> None:
    lake = mirror(store)
    lake.approve = lambda _: True
    lake.take([told(0, row={"id": 2, "a": "A", "z": 1}), told(1, row={"id": 1, "b": "B", "z": 1})])
    lake.take([])
    (reason,) = lake.withheld().values()
    assert "rename not decided" in reason
    (table,) = store.tables()
    history = store.history(table)
    assert history is not None
    meant = (str(table), "a", "b", history.latest.id, format_coordinates(history.latest.at))
    was = answer == "it was"
    lake.decisions = Decisions((Rename(*meant),)) if was else Decisions(not_renames=(NotRename(*meant),))
    lake.take([])
    assert lake.withheld() == {}
    # what was no rename is a column that left, which the lake keeps
    kept: list[dict[str, str | None]] = [{}, {}] if was else [{"a": None}, {"a": "A"}]
    assert sorted(alive(lake), key=lambda row: row["id"]) == [
        {"id": 1, "b": "B", "z": 1} | kept[0],
        {"id": 2, "b": "A" if was else None, "z": 1} | kept[1],
    ]


# A source table that was emptied.

FIRST, EMPTIED, THEN = told(0, row={"id": 1, "n": 1}), told(1, "t"), told(2, row={"id": 2, "n": 2})
LATER = told(3, row={"id": 3, "n": 3})


@pytest.mark.parametrize(
    ("level", "rows", "waiting"),
    [
        ("auto", [{"id": 2, "n": 2}, {"id": 3, "n": 3}], 0),
        ("ignore", [{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": 3}], 0),
        ("quarantine", [{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": 3}], 1),
        ("block", [{"id": 1, "n": 1}], 3),
    ],
)
def test_a_truncate_empties_a_table_only_as_the_policy_says(
    store: SqlStore, level: Level, rows: list[dict[str, int]], waiting: int
) -> None:
    lake = mirror(store, truncate=level)
    lake.take([FIRST])
    lake.take([EMPTIED, THEN])
    lake.take([LATER])
    assert sorted(alive(lake), key=lambda row: row["id"]) == rows
    (aside,) = lake.aside.values() or [{}]
    assert len(aside) == waiting
    assert all(f"truncate = {level}, from" in reason for reason in lake.withheld().values())
    assert len(lake.left) == (level == "ignore")
    # once it is let through, what waited comes to what it would have been
    lake.policy, lake.tried = policy(truncate="auto"), RetryLog()
    lake.take([])
    if level != "ignore":
        assert sorted(alive(lake), key=lambda row: row["id"]) == [{"id": 2, "n": 2}, {"id": 3, "n": 3}]
        assert lake.withheld() == {}


def test_a_truncate_that_nobody_speaks_of_stops_the_table(store: SqlStore) -> None:
    lake = MemorySink(store, lambda _: None, "delta", Policy())
    lake.take([FIRST, EMPTIED, THEN])
    (reason,) = set(lake.withheld().values())
    assert "truncate = block by default" in reason
    assert 'truncate = "auto"' in reason


def test_what_was_tried_to_the_end_counts_as_tried_in_vain(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([FIRST])
    (table,) = lake.lake()
    history = store.history(table.source)
    assert history is not None
    held, tried = QuarantinedTable("lake", "source", records=2, waiting=0), RetryLog()
    # who asks has not tried yet: he may fail, and then they are tried again
    assert not any(tried.is_unchanged(held, table.live, history) for _ in range(2))
    tried.record_attempt(held, table.live, history)
    assert tried.is_unchanged(held, table.live, history)
    assert not tried.is_unchanged(replace(held, records=3), table.live, history)
    assert not tried.is_unchanged(replace(held, checksum=1), table.live, history)
    assert not tried.is_unchanged(replace(held, waiting=1), table.live, history)


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("again", [False, True], ids=["once", "delivered again"])
def test_all_of_the_transaction_that_was_open_when_the_snapshot_was_taken_counts(
    store: SqlStore, size: int, again: bool
) -> None:
    """It commits first behind the snapshot, and its places lie before it. Source: Debezium, `sequence`."""
    snapshot = [
        told(i, "r", {"id": i, "n": 1}, lsn=200, sequence='[null,"200"]', snapshot="true") for i in range(4)
    ]
    written = [(0, 190), (1, 191), (9, 192), (1, 193), (3, 210)]
    first = [
        told(4 + at, "u", {"id": id, "n": lsn}, lsn=lsn, sequence=f'[null,"{lsn}"]')
        for at, (id, lsn) in enumerate(written)
    ]
    later = told(9, "u", {"id": 0, "n": 220}, lsn=220, sequence='["215","220"]')
    records = [*snapshot, *first, later]
    if again:
        records += [replace(each, offset=10 + at) for at, each in enumerate((*first, later))]
    lake = mirror(store)
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert {row["id"]: row["n"] for row in alive(lake)} == {0: 220, 1: 193, 2: 1, 3: 210, 9: 192}
    assert lake.withheld() == {}


# Tables that the policy leaves out.


@pytest.mark.parametrize(("level", "waits"), [("ignore", False), ("quarantine", True), ("block", True)])
def test_a_new_table_that_the_policy_does_not_let_be_made(store: SqlStore, level: Level, waits: bool) -> None:
    lake = mirror(store, new=level)
    lake.take([FIRST])
    assert lake.lake() == []
    assert bool(lake.aside) == waits
    (reason,) = lake.withheld().values()
    assert f"new-table = {level}" in reason


# What tells no place of its own.


def test_a_read_beside_the_stream_goes_on_where_an_earlier_batch_ended(store: SqlStore) -> None:
    lake = mirror(store)
    nowhere = {"lsn": None, "sequence": None, "snapshot": "incremental"}
    lake.take([told(0, row={"id": 1, "n": 1})])
    lake.take([told(1, "r", {"id": 1, "n": 2}, **nowhere)])
    assert alive(lake) == [{"id": 1, "n": 2}]
    # another process knows it from the history
    again = mirror(store)
    again.tables, again.sources = lake.tables, lake.sources
    again.take([told(2, "r", {"id": 1, "n": 3}, **nowhere)])
    assert alive(again) == [{"id": 1, "n": 3}]
    again.take([told(3, "u", {"id": 1, "n": 4}), told(1, "r", {"id": 1, "n": 2}, **nowhere)])
    assert alive(again) == [{"id": 1, "n": 4}]


# Records without schemas.


def test_rows_without_schemas_are_written_where_the_types_are_declared_and_the_modes_told(
    tmp_path: Path, figure
) -> None:
    name = "mariadb/bookshop-mariadb-3.5.0-plain"
    counts = {}
    for modes in (DEFAULTS, ConnectorModes()):
        lake, records = opened(name, "iceberg", tmp_path)
        with lake.store:
            lake.modes = modes
            for batch in batches(records, 2):
                lake.take(batch)
            found = found_of(name, lake)
            counts[modes] = found.rows
            assert unknown(name, found.differences) == []
            if modes is not DEFAULTS:
                assert any("decimal.handling.mode is not configured" in r for r in lake.withheld().values())
    assert counts[DEFAULTS] > counts[ConnectorModes()]
    figure("rows of JSON without schemas", f"{counts[DEFAULTS]} rows, {len(lake.withheld())} withheld")


def test_rows_that_nobody_tells_the_types_of_wait_with_that_reason(tmp_path: Path) -> None:
    lake, records = opened("postgres/shop-modes", "delta", tmp_path)
    with lake.store:
        lake.take(records[:50])
        assert all("inferred from values" in r for r in lake.withheld().values())
        assert lake.lake() == []


# Who lets it through.


def test_the_plan_that_a_table_waits_for_is_approved_as_a_file_and_then_applied(store: SqlStore) -> None:
    approved: set[str] = set()
    lake = mirror(store, add="approve")
    lake.approve = lambda plan: plan_hash(plan) in approved
    lake.take([told(0, row={"id": 1, "n": 1})])
    lake.take([told(1, row={"id": 2, "n": 1, "m": 5})])
    assert alive(lake) == [{"id": 1, "n": 1}]
    # As a person has it, who reads a file.
    (plan,) = lake.plans.values()
    approved.add(plan_hash(from_text(to_text(plan))))
    lake.take([])
    assert alive(lake) == [{"id": 1, "n": 1, "m": None}, {"id": 2, "n": 1, "m": 5}]


def test_rows_that_a_truncate_ends_say_so_in_their_metadata_columns(store: SqlStore) -> None:
    roles = (("op", "o"), ("deleted", "gone"), ("offset", "at"), ("ts", "when"))
    beside = Policy(rules=EMPTYING.rules, projections=(ProjectionRule((("metadata", roles),)),))
    lake = MemorySink(store, lambda _: None, "delta", beside)
    lake.take([told(0, row={"id": 1, "n": 1})])
    lake.take([told(1, "t", ts_ms=5000), told(2, row={"id": 2, "n": 2})])
    (table,) = lake.lake()
    old, new = sorted(table.rows, key=lambda row: row["id"])
    assert (old[DELETED], old["o"], old["gone"], old["at"], old["n"]) == (True, "t", True, 1, 1)
    assert old["when"] == datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert (new[DELETED], new["o"], new["gone"], new["at"]) == (False, "c", False, 2)


# A lake table that is not there any more.


@pytest.mark.parametrize("changed", [False, True])
def test_a_table_that_vanished_is_not_made_anew_without_being_asked_for(
    store: SqlStore, changed: bool
) -> None:
    lake = mirror(store)
    lake.take([told(0, row={"id": 1, "n": 1})])
    if changed:
        lake.take([told(1, row={"id": 2, "n": 1, "x": "x"})])
    made, row = lake.steps[0], {"id": 3, "n": 2, **({"x": "x"} if changed else {})}
    kept = dict(lake.tables)
    (name,) = lake.tables
    lake.tables.clear()
    lake.take([told(2, row=row)])
    (reason,) = lake.withheld().values()
    assert reason.startswith(
        f"{name} no longer exists, but this store has migrated it before: restore the table; or create"
    )
    assert lake.lake() == []
    anew = MemoryTable(name)
    anew.run(made)
    lake.tables = {name: anew}
    lake.take([])
    assert (alive(lake), lake.withheld()) == ([row], {})
    lake.tables = kept
    lake.take([told(3, row={**row, "id": 4})])
    assert [row["id"] for row in alive(lake)] == [1, *([2] if changed else []), 4]


def test_rows_that_keep_null_where_the_source_wrote_a_default_are_told_of_once(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([told(0, row={"id": 1, "n": 1})])
    later = told(1, row={"id": 2, "n": 1, "b": 5})
    assert later.value is not None
    lake.take([replace(later, value=later.value.replace(b'"field": "b"', b'"default": 5, "field": "b"'))])
    assert [row.get("b") for row in alive(lake)] == [None, 5]
    (note,) = lake.notes
    assert note.startswith("`b`: its default at the source is 5; existing rows keep NULL")
    lake.take([told(2, row={"id": 3, "n": 1, "b": 6})])
    assert lake.notes == [note]
