"""Schema-change records that are read a batch after the rows that they came before.

Both lie in topics of their own, so one may be behind the other: nothing that was read as what it is not may
stay unsaid, be renamed over, or go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Level, Policy, PolicyRule, ProjectionRule
from schemaman.migration.properties.names import READ_PROPERTY
from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.migration.target import Executor
from schemaman.registry import Registry
from schemaman.sink.row_order import parse_order
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.spark.streaming.row_staging import CAME_LATE as LATE_VALUE
from schemaman.spark.streaming.sink_table import SinkTable
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_policy import DEFAULTS
from tests.support.memory_sink import MemorySink, batch_of
from tests.support.records import change, event, image, node, record, struct

LATE = "were written before an earlier change of the source"
Told = tuple[str, str, int, int | None]
"""A column as a schema-change record tells it: name, type, JDBC type, length."""
ID: Told = ("id", "INT", 4, None)
A, B = ("a", "VARCHAR", 12, 20), ("b", "VARCHAR", 12, 20)
WIRE = {"id": node("int32"), "n": node("int32"), "at": node("int32")}
TEXT = node("string", optional=True)
MOMENT = 1_700_000_000_123


def mirror(store: SqlStore, format: str = "delta") -> MemorySink:
    lake = MemorySink(store, lambda _: None, format, Policy(), modes=DEFAULTS)
    lake.approve = lambda _: True
    return lake


def at(pos: int, table: str = "t") -> dict[str, Any]:
    return {"connector": "mysql", "schema": None, "table": table, "file": "binlog.000003", "pos": pos,
            "row": 0, "server_id": 1, "ts_ms": 1000 + pos}  # fmt: skip


def row(offset: int, pos: int, after: dict[str, Any] | None, before: dict[str, Any] | None = None,
        *, told: bool = False, table: str = "t") -> Record:  # fmt: skip
    """An event of a row; `told`: with its schema."""
    image = after or before or {}
    op = "d" if after is None else "c" if before is None else "u"
    typed = struct(f"srv.shop.{table}.Value", **{n: WIRE.get(n, TEXT) for n in image})
    value = event(typed, op)
    value["payload"]["source"] |= at(pos, table)
    value["payload"] |= {"before": before, "after": after, "ts_ms": 1005 + pos}
    key = {"schema": struct(f"srv.shop.{table}.Key", id=WIRE["id"]), "payload": {"id": image["id"]}}
    made = record(value if told else value["payload"], key if told else key["payload"], f"srv.shop.{table}")
    return replace(made, offset=offset)


def ddl(offset: int, pos: int, text: str, *columns: Told, table: str = "t") -> Record:
    """A schema-change record; without columns of a table that was dropped."""
    told = [
        {"name": name, "jdbcType": jdbc, "typeName": type, "length": length, "position": i + 1,
         "optional": name != "id"}
        for i, (name, type, jdbc, length) in enumerate(columns)
    ]  # fmt: skip
    kind = text.split(" ", 1)[0]
    entry = {"type": kind, "id": f'"shop"."{table}"', "table": image(*told, key=("id",)) if told else None}
    made = record(change(entry, ddl=text, **at(pos, table)), {"databaseName": "shop"}, "srv")
    return replace(made, offset=offset)


def created(*columns: Told) -> Record:
    return ddl(0, 100, "CREATE TABLE t (id INT PRIMARY KEY)", ID, *columns)


def live(lake: MemorySink) -> dict[int, dict[str, Any]]:
    """The rows of the only table that readers see, by id."""
    (table,) = lake.lake()
    return {
        r["id"]: {n: v for n, v in r.items() if n != "id" and not n.startswith("_row_")}
        for r in table.rows
        if not r[DELETED]
    }


def exchanged(*, told: bool) -> tuple[list[Record], list[Record], list[Record]]:
    text = "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a"
    second = [
        row(i, p, {"id": i + 1, "b": "was a", "a": "was b"}, told=told) for i, p in ((1, 400), (2, 600))
    ]
    first = [created(A, B), row(0, 200, {"id": 1, "a": "a", "b": "b"}, told=told)]
    return first, [ddl(1, 300, text, ID, B, A)], second


def retyped(was: Told, now: Told, one: object, two: object) -> tuple[list[Record], ...]:
    name = was[0]
    first = [created(was), row(0, 200, {"id": 1, name: one})]
    second = [row(i, p, {"id": i + 1, name: two}) for i, p in ((1, 400), (2, 600))]
    return first, [ddl(1, 300, f"ALTER TABLE t MODIFY {name} {now[1]}", ID, now)], second


C = ("c", "VARCHAR", 12, 20)
TAKEN_OVER = [ddl(2, 300, "ALTER TABLE t RENAME COLUMN b TO a", ID, C, A)]


def taken_over(names: str, *, told: bool) -> tuple[list[Record], ...]:
    """A column whose name another one takes that has to be renamed to it; rows of both names come before."""
    first = [
        created(C, A, B),
        ddl(1, 250, "ALTER TABLE t DROP COLUMN a", ID, C, B),
        row(0, 200, {"id": 1, "c": "c", "a": "a", "b": "b"}, told=told),
    ]
    rows = [row(i, p, {"id": i + 1, **dict.fromkeys(names, "x")}, told=told) for i, p in ((1, 400), (2, 600))]
    return first, TAKEN_OVER, rows


def made_anew_smaller(*, told: bool) -> tuple[list[Record], ...]:
    first = [created(A, B), row(0, 200, {"id": 1, "a": "old", "b": "old"}, told=told)]
    changes = [ddl(1, 300, "DROP TABLE t"), ddl(2, 320, "CREATE TABLE t (id INT PRIMARY KEY)", ID, A)]
    return first, changes, [row(i, 300 + i * 100, {"id": 4 + i, "a": "new"}, told=told) for i in (1, 2)]


def dropped() -> tuple[list[Record], ...]:
    first = [created(A), row(0, 200, {"id": 1, "a": "old"}, told=True)]
    changes = [ddl(1, 300, "DROP TABLE t"), ddl(2, 320, "CREATE TABLE t (id INT PRIMARY KEY)", ID, A)]
    return first, changes, [row(i, 300 + i * 100, {"id": 4 + i, "a": "new"}, told=True) for i in (1, 2)]


MICROSECONDS = retyped(
    ("at", "DATETIME", 93, 6), ("at", "DATETIME", 93, 3), MOMENT * 1000, MOMENT
)  # fmt: skip
FALSIFIED = {
    "two names exchanged": (exchanged(told=False), "`a` was the name of another"),
    "two names exchanged, with schemas": (exchanged(told=True), "`a` was the name of another"),
    "microseconds, then milliseconds": (MICROSECONDS, "`at` was read as TIMESTAMP_NTZ(6)"),
    "numbers, then days": (
        retyped(("at", "INT", 4, None), ("at", "DATE", 91, None), 5, 19_000), "`at` was read as INT"
    ),
    "renamed to a former name": (taken_over("ca", told=False), "`a` was the name of another"),
    "renamed to a former name, with schemas": (taken_over("ca", told=True), "`a` was the name of another"),
    "made anew with fewer columns": (made_anew_smaller(told=False), "dropped or renamed"),
    "made anew with fewer columns, with schemas": (made_anew_smaller(told=True), "dropped or renamed"),
    "dropped and made anew": (dropped(), "dropped or renamed"),
}  # fmt: skip


@pytest.mark.parametrize("case", FALSIFIED)
@pytest.mark.parametrize("how", ["one process", "another process", "killed after it had learnt"])
def test_rows_that_were_read_as_what_they_are_not_stop_their_table(
    store: SqlStore, case: str, how: str
) -> None:
    (first, changes, (early, later)), why = FALSIFIED[case]
    lake = mirror(store)
    lake.take(first)
    lake.take([early])
    (before,) = lake.lake()
    ran = len(lake.steps)
    if how == "killed after it had learnt":
        record_batch(batch_of([*changes, later]), Registry(store, lambda: 0), "main", lambda _: None)
    if how != "one process":
        again = mirror(store)
        again.tables, again.sources = lake.tables, lake.sources
        lake = again
        ran = 0
    other = ddl(3, 700, "CREATE TABLE u (id INT PRIMARY KEY)", ID, A, table="u")
    lake.take([*changes, other, later, row(0, 800, {"id": 1, "a": "x"}, table="u")])
    (found, beside) = sorted(lake.lake(), key=lambda table: table.source.table)
    assert (found.rows, found.live.schema) == (before.rows, before.live.schema)
    assert not [step for step in lake.steps[ran:] if "shop..u" not in step]
    assert len(beside.rows) == 1
    (reason,) = lake.withheld().values()
    assert LATE in reason
    assert why in reason
    assert "again from offset 1 of partition 0 on" in reason
    # and so it stays, whatever comes
    lake.take([row(3, 900, {"id": 9, **dict.fromkeys(list(live_names(before))[1:])})])
    assert len(lake.withheld()) == 2


def live_names(table: Any) -> Iterator[str]:
    return (name for name in table.live.schema.names if not name.startswith("_row_"))


@pytest.mark.parametrize("case", [c for c in FALSIFIED if "days" not in c and "anew" not in c])
def test_once_the_rows_are_gone_and_read_again_the_table_is_as_if_nothing_had_been_late(
    tmp_path: Path, case: str
) -> None:
    (first, changes, (early, later)), _ = FALSIFIED[case]
    found = []
    for name, parts in (
        ("late", (first, [early], [*changes, later])),
        ("due", (first, changes, [early, later])),
    ):
        with SqlStore.open(f"sqlite:///{tmp_path / name}.db", create=True) as store:
            lake = mirror(store)
            for part in parts:
                lake.take(part)
            if name == "late":
                forget(lake, lake.withheld().popitem()[1])
                lake.take([early])
            assert lake.withheld() == {}
            found.append(live(lake))
    assert found[0] == found[1]
    assert len(found[0]) == 3


def forget(lake: MemorySink, reason: str) -> None:
    """What the reason tells to do: delete the rows from a place on."""
    since = reason.partition(f"`{ORDER}` >= '")[2].partition("'")[0]
    table = next(table for name, table in lake.tables.items() if "shop..t" in name)
    table.rows = {key: r for key, r in table.rows.items() if parse_order(r[ORDER])[0] < since}


def elsewhere(offset: int) -> Record:
    return row(offset, 800 + offset, {"id": offset, "a": "x"}, told=True, table="u")


HOW = ("one process", "another process", "killed after it had learnt", "told beside", "told while down")


@pytest.mark.parametrize("case", FALSIFIED)
@pytest.mark.parametrize("how", HOW)
def test_rows_that_were_read_as_what_they_are_not_are_told_of_though_no_row_of_their_table_comes(
    store: SqlStore, case: str, how: str
) -> None:
    (first, changes, (early, later)), why = FALSIFIED[case]
    lake = mirror(store)
    lake.take([*first, elsewhere(0)])
    lake.take([early])
    before = next(table for table in lake.lake() if table.source.table == "t")
    assert lake.quiet == {}
    if how not in ("one process", "another process"):
        learn(store, changes)
    if how not in ("one process", "told beside"):
        again = mirror(store)
        again.tables, again.sources = lake.tables, lake.sources
        lake = again
    lake.take([elsewhere(1)] if "told" in how else changes)
    (reason,) = lake.quiet.values()
    assert LATE in reason
    assert why in reason
    assert "again from offset 1 of partition 0 on" in reason
    ran = len(lake.steps)
    # the others go on, and it is said with each batch, until a person has done what the reason says
    lake.take([elsewhere(2)])
    assert list(lake.quiet.values()) == [reason]
    found = {table.source.table: table for table in lake.lake()}
    assert (found["t"].rows, found["t"].live.schema, found["t"].stopped) == (
        before.rows, before.live.schema, True
    )  # fmt: skip
    assert (len(lake.steps), lake.withheld()) == (ran, {})
    forget(lake, reason)
    lake.take([])
    assert lake.quiet == {}
    # a table that was dropped has to be moved away besides, another type needs a recipe
    if "anew" not in case and "days" not in case:
        lake.take([early, later])
        assert lake.withheld() == {}


@pytest.mark.parametrize("sizes", [(3,), (1, 2), (2, 1), (1, 1, 1)])
def test_an_exchange_that_no_row_on_its_own_tells_is_noticed(store: SqlStore, sizes: tuple[int, ...]) -> None:
    """Each row is read rightly; but what the one before has under a name is another column's by then."""
    x: Told = ("x", "VARCHAR", 12, 20)
    lake = mirror(store)
    lake.take([
        row(0, 200, {"id": 1, "a": "a", "b": "b"}, told=True),
        row(1, 600, {"id": 2, "x": "x", "b": "was a", "a": "was b"}, told=True),
    ])  # fmt: skip
    changes = [
        created(A, B),
        ddl(1, 300, "ALTER TABLE t ADD x VARCHAR(20) AFTER id", ID, x, A, B),
        ddl(2, 400, "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a", ID, x, B, A),
    ]
    for size in sizes:
        lake.take(changes[:size])
        changes = changes[size:]
    (reason,) = lake.quiet.values()
    assert LATE in reason
    assert "`a` was the name of another column by then" in reason


E: Told = ("e", "VARCHAR", 12, 20)
Q: Told = ("q", "VARCHAR", 12, 20)
RENAMED_AND_MORE = (
    [row(0, 200, {"id": 1, "e": "one"}, told=True), row(1, 210, {"id": 2, "e": "two"}, told=True)],
    [row(2, 400, {"id": 3, "b": "three", "c": "c"}, told=True)],
    [
        created(E),
        ddl(1, 300, "ALTER TABLE t RENAME COLUMN e TO b", ID, B),
        ddl(2, 350, "ALTER TABLE t ADD c VARCHAR(20)", ID, B, C),
    ],
)
"""All changes of a table come behind its rows: that the column that came is the one that left, nobody saw."""


@pytest.mark.parametrize("sizes", [(3,), (1, 2), (2, 1)])
@pytest.mark.parametrize("apart", [False, True], ids=["rows in one batch", "rows in two batches"])
@pytest.mark.parametrize("rows", [False, True], ids=["no row comes", "a row comes"])
def test_one_column_that_stands_in_two_stops_its_table_until_it_is_read_again(
    store: SqlStore, sizes: tuple[int, ...], apart: bool, rows: bool
) -> None:
    old, new, changes = RENAMED_AND_MORE
    lake = mirror(store)
    for batch in (old, new) if apart else ([*old, *new],):
        lake.take(batch)
    more = [row(3, 500, {"id": 4, "b": "four", "c": "c"}, told=True)] if rows else []
    for size in sizes:
        lake.take([*changes[:size], *(more if size == len(changes) else [])])
        changes = changes[size:]
    (reason,) = (lake.withheld() if rows else lake.quiet).values()
    assert reason.startswith("2 of its rows from")
    assert "the earlier column `e` is the column `b` now" in reason
    assert "again from offset 0 of partition 0 on" in reason
    assert f"WHERE `{ORDER}` >= '' AND `e` IS NOT NULL)" in reason
    (table,) = lake.tables.values()
    held = table.fields["e"]
    table.rows = {key: r for key, r in table.rows.items() if r.get(held) is None}
    lake.take([*old, *new])
    assert (lake.withheld(), lake.quiet) == ({}, {})
    told = {i: r["b"] for i, r in live(lake).items()}
    assert told == {1: "one", 2: "two", 3: "three"} | ({4: "four"} if rows else {})


@pytest.mark.parametrize("others", [{}, {"c": "c"}], ids=["alone", "with another column"])
def test_one_column_that_went_and_came_back_under_its_name_is_not_two(
    store: SqlStore, others: dict[str, str]
) -> None:
    """What left gave its name away to the one that came, and both are the same by now."""
    more = [C] if others else []
    lake = mirror(store)
    lake.take([row(0, 200, {"id": 1, "e": "one"}, told=True)])
    lake.take([row(1, 320, {"id": 2, "b": "two", **others}, told=True)])
    lake.take([row(2, 400, {"id": 3, "e": "three", **others}, told=True)])
    lake.take([row(3, 410, {"id": 2, "e": "two", **others}, told=True)])
    lake.take([
        created(E),
        ddl(1, 300, "ALTER TABLE t RENAME COLUMN e TO b" + ", ADD c VARCHAR(20)" * len(more), ID, B, *more),
        ddl(2, 350, "ALTER TABLE t RENAME COLUMN b TO e", ID, E, *more),
    ])  # fmt: skip
    lake.take([row(4, 500, {"id": 4, "e": "four", **others}, told=True)])
    reason = lake.withheld()["srv.shop.t", 0, 4]
    assert "the earlier column `e` is the column `e` now" in reason
    assert "AND `e__old` IS NOT NULL)" in reason


@pytest.mark.parametrize(("first", "second"), [("a b", "a-b"), ("a-b", "a b")])
def test_one_column_that_stands_in_two_is_known_under_its_number(
    store: SqlStore, first: str, second: str
) -> None:
    """The names of both become one in the lake, so that the second got a number."""
    numbered = ProjectionRule((("names", "avro"), ("collisions", "number")))
    lake = MemorySink(store, lambda _: None, "delta", Policy(projections=(numbered,)), modes=DEFAULTS)
    lake.approve = lambda _: True
    one: Told = (first, "VARCHAR", 12, 20)
    two: Told = (second, "VARCHAR", 12, 20)
    lake.take([row(0, 200, {"id": 1, first: None, second: "moves"}, told=True)])
    lake.take([row(1, 400, {"id": 2, first: "x", "q": "y", "c": "z"}, told=True)])
    assert live(lake)[1] == {"a_b": None, "a_b_2": "moves", "q": None, "c": None}
    lake.take([
        created(one, two),
        ddl(1, 300, f"ALTER TABLE t RENAME COLUMN `{second}` TO q", ID, one, Q),
        ddl(2, 350, "ALTER TABLE t ADD c VARCHAR(20)", ID, one, Q, C),
    ])  # fmt: skip
    (reason,) = lake.quiet.values()
    assert reason.startswith("1 of its rows from")
    assert "AND `a_b_2` IS NOT NULL)" in reason


@pytest.mark.parametrize("again", [False, True], ids=["", "its row is written again"])
def test_one_column_that_stands_in_two_is_known_though_a_third_one_has_its_name(
    store: SqlStore, again: bool
) -> None:
    """`e` became `b` and left; then came another `e`, out of the way of which the first one went."""
    third: Told = ("e", "INT", 4, None)
    old = [row(0, 200, {"id": 1, "e": "one"}, told=True), row(1, 310, {"id": 2, "b": "two"}, told=True)]
    new = [row(2, 410, {"id": 3}, told=True), row(3, 510, {"id": 1 if again else 4, "e": 7}, told=True)]
    changes = [
        created(E),
        ddl(1, 300, "ALTER TABLE t RENAME COLUMN e TO b", ID, B),
        ddl(2, 400, "ALTER TABLE t DROP b", ID),
        ddl(3, 500, "ALTER TABLE t ADD e INT", ID, third),
    ]
    lake = mirror(store)
    for batch in (old, new, changes):
        lake.take(batch)
    assert live(lake)[1]["e__old"] == "one"
    (reason,) = lake.quiet.values()
    assert "the earlier column `e` is the column `b` now" in reason
    assert f"WHERE `{ORDER}` >= '' AND `e__old` IS NOT NULL)" in reason


def test_one_column_that_stands_in_two_and_holds_no_value_in_the_first_stops_nothing(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([row(0, 200, {"id": 1, "e": None}, told=True), *RENAMED_AND_MORE[1]])
    assert live(lake)[1] == {"e": None, "b": None, "c": None}
    lake.take(RENAMED_AND_MORE[2])
    lake.take([row(3, 500, {"id": 4, "b": "four", "c": "c"}, told=True)])
    assert (lake.withheld(), lake.quiet) == ({}, {})
    assert set(live(lake)) == {1, 3, 4}


def test_a_row_that_was_written_again_keeps_what_stands_in_the_first_and_stops_its_table(
    store: SqlStore,
) -> None:
    """Its value is right where it belongs by then; but no reader can tell that the other one is older."""
    old, _, changes = RENAMED_AND_MORE
    lake = mirror(store)
    lake.take(old[:1])
    lake.take([row(2, 400, {"id": 1, "b": "later", "c": "c"}, {"id": 1, "b": "one", "c": None}, told=True)])
    assert live(lake) == {1: {"e": "one", "b": "later", "c": "c"}}
    lake.take(changes)
    (reason,) = lake.quiet.values()
    assert reason.startswith("1 of its rows from")
    assert "again from offset 2 of partition 0 on" in reason


def test_one_column_that_never_got_a_place_beside_its_later_self_stops_nothing(store: SqlStore) -> None:
    old, _, changes = RENAMED_AND_MORE
    lake = mirror(store)
    lake.take(old)
    lake.take([row(2, 400, {"id": 3, "b": "three"}, told=True)])
    assert len(lake.withheld()) == 1  # asked whether `e` is `b`
    lake.take(changes[:2])
    assert (lake.withheld(), lake.quiet) == ({}, {})
    assert live(lake) == {1: {"b": "one"}, 2: {"b": "two"}, 3: {"b": "three"}}


RENAMED = ddl(1, 300, "ALTER TABLE t RENAME TO u", ID, A, table="u")


@pytest.mark.parametrize("busy", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_rename_of_a_table_that_comes_behind_rows_of_its_new_name_stops_that(
    store: SqlStore, busy: bool, restarted: bool
) -> None:
    """The rows of before are in the table of the former name, which looks as if it lived on."""
    lake = mirror(store)
    lake.take([created(A), row(0, 200, {"id": 1, "a": "x"}), row(1, 210, {"id": 2, "a": "y"})])
    lake.take([row(0, 400, {"id": 1, "a": "z"}, told=True, table="u")])
    if restarted:
        again = mirror(store)
        again.tables, again.sources = lake.tables, lake.sources
        lake = again
    more = [row(1, 500, {"id": 3, "a": "new"}, told=True, table="u")] if busy else []
    lake.take([RENAMED, *more])
    lake.take([])
    reasons = {*lake.withheld().values(), *lake.quiet.values()}
    assert len(reasons) == 1
    assert "the rename of srv.shop.t to srv.shop.u" in reasons.pop()
    (held,) = (table for name, table in lake.tables.items() if "shop..u" in name)
    assert held.live is not None
    left = {name: text for name, text in held.live.properties.items() if name != READ_PROPERTY}
    held.live = replace(held.live, properties=left)
    lake.take([])
    assert (lake.withheld(), lake.quiet) == ({}, {})
    assert len(held.rows) == 1 + busy


def test_a_rename_of_a_table_of_which_no_row_was_read_stops_nothing(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([created(A)])
    lake.take([row(0, 400, {"id": 1, "a": "z"}, told=True, table="u")])
    lake.take([RENAMED])
    lake.take([row(1, 500, {"id": 2, "a": "y"}, told=True, table="u")])
    assert (lake.withheld(), lake.quiet) == ({}, {})
    assert live(lake) == {1: {"a": "z"}, 2: {"a": "y"}}


def never(follower: SinkTable) -> Executor:
    raise AssertionError(f"{follower.lake_table} is looked at")


@pytest.mark.parametrize("restarted", [False, True])
def test_a_lake_table_is_not_looked_at_for_what_tells_nothing_else_of_its_rows(
    store: SqlStore, restarted: bool
) -> None:
    lake = mirror(store)
    learnt = lake.learnt
    batches = [
        # tables that are new, all of them without a row
        [ddl(i, 100, f"CREATE TABLE {t} (id INT PRIMARY KEY)", ID, A, table=t) for i, t in enumerate("tuv")],
        [row(0, 200, {"id": 1, "a": "x"}, told=True), row(0, 210, {"id": 1, "a": "x"}, table="u")],
        # a structure behind all rows, and one that reads no row otherwise
        [ddl(3, 300, "ALTER TABLE t ADD b VARCHAR(20)", ID, A, B)],
        [ddl(4, 310, "ALTER TABLE u MODIFY a VARCHAR(40)", ID, ("a", "VARCHAR", 12, 40), table="u")],
    ]
    for batch in batches:
        _, extents = record_batch(batch_of(batch), Registry(store, lambda: 0), "main", lambda _: None)
        if restarted:
            learnt = mirror(store).learnt
        learnt.read_changes(extents)
        Registry(store, lambda: 0).note(MigrationEntry("run", "plan", "another table", None, "started"))
        assert list(learnt.report_stale_tables(never, ())) == []
        assert not learnt.changed_tables


TOLD_MEANWHILE = {
    "a column renamed": (
        [created(A), row(0, 200, {"id": 1, "a": "one"})],
        [ddl(1, 300, "ALTER TABLE t RENAME COLUMN a TO c", ID, ("c", "VARCHAR", 12, 20))],
        [row(1, 250, {"id": 2, "a": "two"}), row(2, 400, {"id": 3, "c": "three"})],
    ),
    "two names exchanged": (
        [created(A, B), row(0, 200, {"id": 1, "a": "a", "b": "b"})],
        exchanged(told=False)[1],
        [row(1, 250, {"id": 2, "a": "a", "b": "b"}), row(2, 400, {"id": 3, "b": "a", "a": "b"})],
    ),
    "microseconds, then milliseconds": MICROSECONDS,
}


def learn(store: SqlStore, changes: Sequence[Record]) -> None:
    record_batch(batch_of(changes), Registry(store, lambda: 0), "main", lambda _: None)


@pytest.mark.parametrize("case", TOLD_MEANWHILE)
def test_what_is_ingested_beside_the_job_while_a_batch_is_read_falsifies_nothing(
    tmp_path: Path, case: str
) -> None:
    first, changes, (early, later) = TOLD_MEANWHILE[case]
    found = []
    for name in ("meanwhile", "before"):
        with SqlStore.open(f"sqlite:///{tmp_path / name}.db", create=True) as store:
            lake = mirror(store)
            lake.take(first)
            if name == "meanwhile":
                lake.meanwhile = partial(learn, store, changes)
            lake.take([early] if name == "meanwhile" else [*changes, early])
            lake.take([later])
            assert lake.withheld() == {}
            found.append(live(lake))
    assert found[0] == found[1]
    assert len(found[0]) == 3


HARMLESS: dict[str, tuple[Sequence[Record], Sequence[Record], Sequence[Record]]] = {
    "more characters": (
        [created(A), row(0, 200, {"id": 1, "a": "x"})],
        [ddl(1, 300, "ALTER TABLE t MODIFY a VARCHAR(40)", ID, ("a", "VARCHAR", 12, 40))],
        [row(1, 400, {"id": 2, "a": "y"}), row(2, 600, {"id": 3, "a": "z"})],
    ),
    "a column that the rows told themselves": (
        [created(A), row(0, 200, {"id": 1, "a": "x"}, told=True)],
        [ddl(1, 300, "ALTER TABLE t ADD b VARCHAR(20)", ID, A, B)],
        [row(i, p, {"id": i, "a": "y", "b": "z"}, told=True) for i, p in ((2, 400), (3, 600))],
    ),
    "rows from before it alone": (
        [created(A, B), row(0, 200, {"id": 1, "a": "a", "b": "b"})],
        [ddl(1, 500, "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a", ID, B, A)],
        [row(1, 400, {"id": 2, "a": "a", "b": "b"}), row(2, 600, {"id": 3, "b": "a", "a": "b"})],
    ),
    "the table itself, with schemas": (
        [],
        [created(A)],
        [row(i, p, {"id": i, "a": "x"}, told=True) for i, p in ((1, 200), (2, 300))],
    ),
}


def harmless(*, told: bool) -> dict[str, tuple[Sequence[Record], Sequence[Record], Sequence[Record]]]:
    how = "with schemas" if told else "without schemas"
    back = ddl(3, 320, "ALTER TABLE t RENAME COLUMN a TO b", ID, C, B)
    first, changes, rows = taken_over("cb", told=told)
    drop = [ddl(1, 300, "ALTER TABLE t DROP COLUMN b", ID, A)]
    left = [row(i, p, {"id": i + 1, "a": "x"}, told=told) for i, p in ((1, 400), (2, 600))]
    return {
        f"renamed to a former name and back, {how}": (first, [*changes, back], rows),
        f"a column dropped, {how}": (exchanged(told=told)[0], drop, left),
    }


HARMLESS |= harmless(told=False) | harmless(told=True)


@pytest.mark.parametrize("case", HARMLESS)
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_what_comes_late_and_changes_nothing_that_was_read_stops_nothing(
    store: SqlStore, case: str, format: str
) -> None:
    first, changes, (early, later) = HARMLESS[case]
    lake = mirror(store, format)
    lake.take(first)
    lake.take([early])
    lake.take([*changes, later])
    assert lake.withheld() == {}
    assert len(live(lake)) == len(first) // 2 + 2


# Rows that nobody can read before the change has come.


def added(*, told: bool) -> tuple[list[Record], list[Record], list[Record], list[Record]]:
    """A column is added: rows of it, a change of the first row and a delete come before its record."""
    first = [created(A), *(row(i, 200 + i, {"id": i + 1, "a": "x"}, told=told) for i in (0, 1))]
    early = [
        row(2, 400, {"id": 3, "a": "y", "b": "z"}, told=told),
        row(3, 410, {"id": 1, "a": "y", "b": "z"}, told=told),
        row(4, 420, None, {"id": 2, "a": "x", "b": None}, told=told),
    ]
    changes = [ddl(1, 300, "ALTER TABLE t ADD b VARCHAR(20)", ID, A, B)]
    return first, early, changes, [row(5, 600, {"id": 4, "a": "y", "b": "z"}, told=told)]


@pytest.mark.parametrize("told", [False, True], ids=["without schemas", "with schemas"])
@pytest.mark.parametrize("again", [False, True], ids=["one process", "another process"])
def test_records_that_nobody_could_read_are_written_once_their_table_is_known(
    store: SqlStore, told: bool, again: bool
) -> None:
    first, early, changes, later = added(told=told)
    lake = mirror(store)
    lake.take(first)
    lake.take(early)
    assert {(place[2], "no version of" in why) for place, why in lake.withheld().items()} == {
        (2, True),
        (3, True),
    }
    assert set(live(lake)) == {1}
    if again:
        other = mirror(store)
        other.tables, other.sources, other.unplaced = lake.tables, lake.sources, lake.unplaced
        lake = other
    # the change comes alone: no row of the table need come
    lake.take(changes)
    assert lake.withheld() == {}
    assert live(lake) == {1: {"a": "y", "b": "z"}, 3: {"a": "y", "b": "z"}}
    lake.take(later)
    assert set(live(lake)) == {1, 3, 4}


def test_of_rows_of_a_key_the_one_that_nobody_could_read_never_overtakes_newer_ones(store: SqlStore) -> None:
    first, early, changes, _ = added(told=False)
    lake = mirror(store)
    lake.take(first)
    lake.take(early)
    lake.take(
        [
            *changes,
            row(5, 600, {"id": 1, "a": "last", "b": None}),
            row(6, 610, None, {"id": 3, "a": "y", "b": "z"}),
        ]
    )
    assert lake.withheld() == {}
    assert live(lake) == {1: {"a": "last", "b": None}}


def test_a_value_of_a_column_whose_end_is_not_read_yet_is_not_passed_over(store: SqlStore) -> None:
    """A row waits for its column to be told; a newer one, from behind its end, was written meanwhile."""
    lake = mirror(store)
    first = row(0, 200, {"id": 1, "a": "x", "b": "kept"}, told=True)
    lake.take([created(A), first, row(1, 400, {"id": 1, "a": "y"}, {"id": 1, "a": "x"}, told=True)])
    assert live(lake) == {1: {"a": "y"}}
    began = ddl(1, 150, "ALTER TABLE t ADD b VARCHAR(20)", ID, A, B)
    for late in (began, ddl(2, 300, "ALTER TABLE t DROP b", ID, A)):
        lake.take([late])
        assert live(lake) == {1: {"a": "y", "b": None}}
        assert lake.withheld() == {("srv.shop.t", 0, 0): LATE_VALUE}


@pytest.mark.parametrize("known", ["nothing", "its end"])
def test_null_of_a_column_that_is_told_late_erases_no_value_of_another_one_of_its_name(
    store: SqlStore, known: str
) -> None:
    """By its type the field is not the column that the history knows, whatever it holds."""
    lake = mirror(store)
    gone, anew = ddl(1, 300, "ALTER TABLE t DROP a", ID, B), ("a", "INT", 4, None)
    lake.take([created(A, B), row(0, 200, {"id": 1, "a": "kept", "b": "x"}, told=True)])
    lake.take([gone] if known == "its end" else [])
    text = row(1, 400, {"id": 1, "b": "y", "a": None}, {"id": 1, "b": "x", "a": None}, told=True)
    value = json.loads(text.value or b"")
    for half in value["schema"]["fields"][:2]:
        (field,) = (each for each in half["fields"] if each["field"] == "a")
        field["type"] = "int32"
    lake.take([replace(text, value=json.dumps(value).encode())])
    assert live(lake) == {1: {"a": "kept", "b": "x"}}
    assert lake.withheld() == {("srv.shop.t", 0, 1): "a: INT does not carry VARCHAR(20)"}
    lake.take([*([] if known == "its end" else [gone]), ddl(2, 350, "ALTER TABLE t ADD a INT", ID, B, anew)])
    lake.take([])
    assert lake.withheld() == {}
    assert live(lake) == {1: {"a__old": "kept", "a": None, "b": "y"}}


@pytest.mark.parametrize("level", ["auto", "block"])
def test_a_truncate_is_asked_of_the_policy_whatever_rows_look_like_by_then(
    store: SqlStore, level: Literal["auto", "block"]
) -> None:
    lake = mirror(store)
    lake.policy = Policy(rules=(PolicyRule(level, ("truncate",)),))
    lake.take([created(A), row(0, 200, {"id": 1, "a": "x"}, told=True)])
    emptied = event(struct("srv.shop.t.Value", id=WIRE["id"], a=TEXT, b=TEXT), "t")
    emptied["payload"]["source"] |= at(400)
    lake.take([replace(record(emptied, None, "srv.shop.t"), offset=1)])
    lake.take([])
    assert lake.rejected == {}
    if level == "auto":
        assert live(lake) == {}
        assert lake.withheld() == {}
    else:
        assert set(live(lake)) == {1}
        (reason,) = lake.withheld().values()
        assert "truncate = block" in reason


@pytest.mark.parametrize("level", ["block", "auto", "ignore"])
def test_a_truncate_that_only_a_statement_tells_is_not_passed_over(store: SqlStore, level: Level) -> None:
    """MySQL's connector sends no event of it by default (`skipped.operations`)."""
    lake = mirror(store)
    lake.policy = Policy(rules=(PolicyRule(level, ("truncate",)),))
    lake.take([created(A), row(0, 200, {"id": 1, "a": "old"})])
    statement = record(change(ddl="TRUNCATE TABLE t", **at(300)), {"databaseName": "shop"}, "srv")
    lake.take([replace(statement, offset=1), row(1, 400, {"id": 2, "a": "new"})])
    told = (*lake.withheld().values(), *lake.notes)
    assert sum("as a statement alone tells" in each for each in told) == (level != "ignore")
    assert set(live(lake)) == ({1} if level == "block" else {1, 2})
    del lake.tables["/lake/shop..t"].rows[("1",)]
    lake.notes.clear()
    lake.take([row(2, 500, {"id": 3, "a": "new"})])
    assert (set(live(lake)), lake.withheld(), lake.notes) == ({2, 3}, {}, [])


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_rows_ahead_of_their_structure_are_written_when_it_comes_and_nobody_answers(
    store: SqlStore, format: str
) -> None:
    lake = MemorySink(
        store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False, modes=DEFAULTS
    )
    lake.take([created(A), row(0, 200, {"id": 1, "a": "x"})])
    lake.take([row(1, 400, {"id": 1, "a": "y", "b": "new"}), row(2, 410, {"id": 2, "a": "z", "b": None})])
    assert len(lake.withheld()) == 2
    lake.take([ddl(1, 300, "ALTER TABLE t ADD COLUMN b VARCHAR(20)", ID, A, B)])
    assert lake.withheld() == {}
    assert live(lake) == {1: {"a": "y", "b": "new"}, 2: {"a": "z", "b": None}}
