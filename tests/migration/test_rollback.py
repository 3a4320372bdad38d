"""The way back: every plan that can be undone is undone exactly, every other one says why not."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import StalePlan
from schemaman.migration.apply.apply import apply, check
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.apply.resume import count_steps_behind
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.plan import (
    DropPolicy,
    MigrationSource,
    Plan,
    Policy,
    PreviousVersion,
)
from schemaman.migration.plan_file import from_text, plan_hash, to_sql, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.names import BEGAN_PROPERTY
from schemaman.migration.rollback import (
    find_version_before,
    is_whole,
    plan_restore,
    plan_rollback,
)
from schemaman.migration.target import LakeTable
from schemaman.migration.targets.delta import select_row_writes
from schemaman.model.types import widens
from schemaman.report.views.plans import build_plan_blocks
from schemaman.store.log import MigrationEntry
from tests.migration.test_recipes import cook, live_of
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, lake, plan, source
from tests.support.random_histories import lives


def forth(plan: Plan, made: MemoryTable) -> int:
    journal = MemoryJournal()
    apply(plan, made, journal, lambda: 0, run="r", partial=True, approved=True)
    return count_progress(journal.lines)[0]


def stamps(live: LakeTable) -> Mapping[str, str]:
    return {k: v for k, v in live.properties.items() if k.startswith("schemaman.") and v != "{}"}


@both
@given(life=lives(), drops=st.sampled_from(["drop", "keep"]))
def test_what_was_undone_is_as_it_was_and_may_be_done_again(
    format: str, life: list[MigrationSource], drops: DropPolicy
) -> None:
    target, table = TARGETS[format]
    made = MemoryTable(table)
    for following in life:
        drawn = make_plan(following, made.live, target, table, Policy(drops=drops))
        before, fields = made.live, dict(made.fields)
        if not drawn.steps and before is None:
            return
        done = forth(drawn, made)
        back = plan_rollback(drawn, made.live, done)
        assert from_text(to_text(back)) == back
        final = {step.kind for step in drawn.steps if not step.undo} - {"create-namespace"}
        assert bool(back.refusals) == (before is None or "drop-columns" in final)
        assert (drawn.point_of_no_return is None) == (not final)
        if before is None:
            assert back.steps == ()
            continue
        forth(back, made)
        after = live_of(made)
        assert stamps(after) == stamps(before)
        assert made.fields == {name: fields[name] for name in after.schema.names}
        assert is_whole(drawn, back) == (not final)
        columns = {c.name: c for c in before.schema.columns}
        assert back.refusals or after.schema.names == tuple(columns)
        for column in after.schema.columns:
            assert widens(columns[column.name].type, column.type)
            assert column.nullable >= columns[column.name].nullable
        if not final:
            assert fingerprint_structure(after.schema) == fingerprint_structure(before.schema)
        again = make_plan(following, after, target, table, Policy(drops=drops))
        if not final:
            assert [s.statement for s in again.steps] == [s.statement for s in drawn.steps]
        forth(again, made)


@both
def test_a_plan_that_stopped_half_way_is_taken_back_from_there(format: str) -> None:
    made = lake(format, "id INT, a INT, b INT")
    later = source("id INT, x INT COMMENT 'new', b INT, c DATE", former_names={"x": ("a",)})
    drawn = plan(format, later, made.live)
    before = live_of(made)
    for done in range(len(drawn.steps)):
        half = replace(drawn, steps=drawn.steps[:done])
        for step in half.steps:
            made.run(step.statement)
        back = plan_rollback(drawn, made.live, done)
        assert len(back.steps) == done
        for step in back.steps:
            made.run(step.statement)
        assert fingerprint_structure(live_of(made).schema) == fingerprint_structure(before.schema)


@both
@pytest.mark.parametrize("after", [0, 1], ids=["before", "behind"])
def test_a_plan_that_stopped_in_a_step_is_taken_back_whether_it_was_made_or_not(
    format: str, after: int
) -> None:
    later = source("id INT, x INT COMMENT 'new', b INT, c DATE", former_names={"x": ("a",)})
    numbers = range(len(plan(format, later, lake(format, "id INT, a INT, b INT").live).steps))
    for begun in numbers:
        made = lake(format, "id INT, a INT, b INT")
        before, drawn = live_of(made), plan(format, later, made.live)
        for step in drawn.steps[: begun + after]:
            made.run(step.statement)
        done = count_steps_behind(drawn, made.live, begun, begun + 1)
        assert done == begun + after
        for step in plan_rollback(drawn, made.live, done).steps:
            made.run(step.statement)
        assert fingerprint_structure(live_of(made).schema) == fingerprint_structure(before.schema)
        assert stamps(live_of(made)) == stamps(before)


@both
def test_what_holds_more_than_before_stays_and_the_rest_is_taken_back(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT NOT NULL, b INT, PRIMARY KEY (id)")
    assert made.live is not None
    columns = [replace(c, nullable=c.name not in ("id", "a")) for c in made.live.schema.columns]
    made.live = replace(made.live, schema=replace(made.live.schema, columns=tuple(columns)))
    later = source("id INT NOT NULL, x INT, b BIGINT, c DATE, PRIMARY KEY (id)", former_names={"x": ("a",)})
    drawn = plan(format, later, made.live)
    assert {"rename-column", "drop-not-null", "change-type", "add-columns"} <= {s.kind for s in drawn.steps}
    done = forth(drawn, made)
    back = plan_rollback(drawn, made.live, done)
    assert back.refusals == ()
    assert not is_whole(drawn, back)
    assert any("`b` stays BIGINT, which holds all that INT did" in note for note in back.notes)
    assert any("`x` may hold NULL" in note for note in back.notes)
    assert from_text(to_text(back)) == back
    forth(back, made)
    assert made.live.schema.names == ("id", "a", "b")
    assert [c.nullable for c in made.live.schema.columns] == [False, True, True]
    assert plan(format, later, made.live).refusals == ()


@both
def test_a_column_that_was_dropped_does_not_come_back_and_the_rest_may_in_part(format: str) -> None:
    facts = {"past": (PreviousVersion("1", names={"id": "id", "a": "x", "gone": None}),)}
    made = lake(format, "id INT, a INT, gone INT")
    drawn = plan(
        format, source("id INT, x INT", former_names={"x": ("a",)}, **facts), made.live, drops="drop"
    )
    done = forth(drawn, made)
    back = plan_rollback(drawn, made.live, done)
    assert [refusal.change for refusal in back.refusals] == ["undo drop-columns"]
    journal = MemoryJournal()
    assert apply(back, made, journal, lambda: 0, run="r", approved=True).state == "refused"
    forth(back, made)
    assert made.live is not None
    assert made.live.schema.names == ("id", "a")


def test_an_enabled_feature_stays() -> None:
    made = lake("delta", "id INT, a INT")
    assert made.live is not None
    own = {k: v for k, v in made.live.properties.items() if k.startswith("schemaman.")}
    made.live = replace(made.live, properties=own)
    drawn = plan("delta", source("id INT, x INT", former_names={"x": ("a",)}), made.live)
    done = forth(drawn, made)
    back = plan_rollback(drawn, made.live, done)
    assert back.refusals == ()
    assert any("stay enabled: delta.columnMapping.mode" in note for note in back.notes)
    forth(back, made)
    assert made.live.schema.names == ("id", "a")


@both
def test_a_table_that_moved_is_not_taken_back(format: str) -> None:
    made = lake(format, "id INT, a INT")
    drawn = plan(format, source("id INT, a INT, b INT"), made.live)
    done = forth(drawn, made)
    made.run(f"ALTER TABLE {TARGETS[format][0].table_name(made.table)} ADD COLUMNS (`mine` INT)")
    with pytest.raises(StalePlan, match="it was changed since then"):
        plan_rollback(drawn, made.live, done)


@both
def test_a_table_that_the_plan_made_is_not_dropped(format: str) -> None:
    made = MemoryTable(TARGETS[format][1])
    drawn = plan(format, source("id INT"), None)
    back = plan_rollback(drawn, made.live if forth(drawn, made) else None, len(drawn.steps))
    assert "its rows may be needed" in back.refusals[0].reason
    assert "DROP TABLE" in back.refusals[0].instead
    told = repr(list(build_plan_blocks(drawn)))
    assert "Every step can be undone" not in told
    assert "drop the table by hand if you do not need its rows" in told


@both
def test_phases_of_a_recipe_are_taken_back(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    before = live_of(made)
    later = source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)")
    expand, backfill, swap, contract = cook(format, later).make_plans(before)
    for one in (expand, backfill, swap):
        forth(one, made)
    back = plan_rollback(swap, made.live, len(swap.steps))
    assert back.refusals == ()
    forth(back, made)
    assert set(live_of(made).schema.names) == {"id", "a", "a__new"}
    again = plan_rollback(backfill, made.live, 1)
    assert "SET `a__new` = NULL" in again.steps[0].statement
    forth(again, made)
    last = plan_rollback(expand, made.live, len(expand.steps))
    assert last.approvals_needed
    forth(last, made)
    assert fingerprint_structure(live_of(made).schema) == fingerprint_structure(before.schema)
    assert stamps(live_of(made)) == stamps(before)
    assert contract.point_of_no_return == 1


@both
def test_stamps_that_were_there_and_others_are_taken_back_by_a_step_each(format: str) -> None:
    made = lake(format, "id INT, a INT")
    bare = TARGETS[format][0].unset_properties(made.table, (BEGAN_PROPERTY,))
    made.run(bare.statement)
    before = live_of(made)
    drawn = plan(format, source("id INT, a INT, b DATE", began={"at": 2}), before)
    assert any(BEGAN_PROPERTY in step.statement for step in drawn.steps)
    assert drawn.point_of_no_return is None
    done = forth(drawn, made)
    back = plan_rollback(drawn, made.live, done)
    assert [step.kind for step in back.steps] == ["set-properties", "set-properties", "drop-columns"]
    assert [" UNSET " in step.statement for step in back.steps] == [False, True, False]
    forth(back, made)
    assert live_of(made).properties == before.properties


def test_null_is_forbidden_again_where_no_row_holds_it() -> None:
    target, table = TARGETS["delta"]
    policy = Policy(rules=(PolicyRule("auto", ("set-not-null",)),))
    made = MemoryTable(table)
    forth(make_plan(source("id INT, a INT NOT NULL"), None, target, table, policy), made)
    before = live_of(made)
    drawn = make_plan(
        source("id INT, b INT, c INT", former_names={"b": ("a",)}), before, target, table, policy
    )
    assert "drop-constraint" in [step.kind for step in drawn.steps]
    done = forth(drawn, made)
    back = plan_rollback(drawn, made.live, done)
    gates = [cast("Mapping[str, int]", step.precondition.get("counts", {})) for step in back.steps]
    name = target.table_name(table)
    assert gates[0] == {f"SELECT count(*) FROM {name} WHERE `b` IS NULL": 0}
    assert back.steps[-1].kind == "add-constraint"
    assert gates[-1] == {f"SELECT count(*) FROM {name} WHERE `a` IS NULL": 0}
    ran = len(made.ran)
    made.counted = lambda _: 1
    with pytest.raises(StalePlan, match="`b` IS NULL gives 1"):
        forth(back, made)
    assert len(made.ran) == ran
    made.counted = lambda _: 0
    forth(back, made)
    assert live_of(made).properties == before.properties
    assert live_of(made).schema == before.schema


def on_rows(made: MemoryTable, database: sqlite3.Connection) -> None:
    """What a lake in memory is asked and told, asked of real rows and done to them."""

    def read(text: str) -> str:
        for spark, other in (
            ("`ice`.`raw`.`t`", "t"),
            ("try_cast", "CAST"),
            ("<=>", "IS"),
            ("STRING", "TEXT"),
        ):
            text = text.replace(spark, other)
        return re.sub(r"ADD COLUMNS \((.*)\)", r"ADD COLUMN \1", text)

    def done(statement: str) -> None:
        if "TBLPROPERTIES" not in statement:
            database.execute(read(statement))

    made.after = done
    made.counted = lambda query: database.execute(read(query)).fetchone()[0]


def test_rows_written_since_a_swap_are_neither_lost_nor_hidden_by_the_way_back() -> None:
    made = lake("iceberg", "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)")
    expand, backfill, swap, _ = cook("iceberg", later).make_plans(live_of(made))
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (id INT, a INT)")
        database.execute("INSERT INTO t VALUES (1, 10), (2, 20), (3, NULL)")
        on_rows(made, database)
        for one in (expand, backfill, swap):
            forth(one, made)
        database.execute("UPDATE t SET a = '11' WHERE id = 1")
        database.execute("INSERT INTO t (id, a) VALUES (4, '40')")
        assert "unless a row that was written since then prevents it" in repr(list(build_plan_blocks(swap)))
        back = plan_rollback(swap, made.live, len(swap.steps))
        assert any("write such values into `a__old` first" in note for note in back.notes)
        with pytest.raises(StalePlan, match="gives 2, not 0"):
            check(back, made, MemoryJournal(), lambda: 0, approved=True)
        with pytest.raises(StalePlan, match="gives 2, not 0"):
            forth(back, made)
        assert "a__old" in live_of(made).schema.names
        database.execute("UPDATE t SET a__old = CAST(a AS INT)")
        forth(back, made)
        rows = [(1, 11), (2, 20), (3, None), (4, 40)]
        assert database.execute("SELECT id, a FROM t ORDER BY id").fetchall() == rows
        for one in (backfill, swap):
            forth(one, made)
        told = [(number, None if value is None else str(value)) for number, value in rows]
        assert database.execute("SELECT id, a FROM t ORDER BY id").fetchall() == told


@both
@pytest.mark.parametrize("done", range(1, 7))
def test_a_swap_of_two_columns_asks_each_pair_before_its_names_go_back(format: str, done: int) -> None:
    made = lake(format, "id INT NOT NULL, a INT, b INT, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a TEXT, b TEXT, PRIMARY KEY (id)")
    expand, backfill, swap, _ = cook(format, later).make_plans(live_of(made))
    for one in (expand, backfill):
        forth(one, made)
    for step in swap.steps[:done]:
        made.run(step.statement)
    back = plan_rollback(swap, made.live, done)
    for place, step in enumerate(back.steps):
        gate = cast("Mapping[str, int]", step.precondition.get("counts", {}))
        pairs = {name for name in "ab" for query in gate if f"`{name}__old`" in query}
        if step.kind == "rename-column":
            assert pairs >= set(re.findall(r"`([ab])(?:__|`)", step.statement))
        if place == 0:
            assert pairs == set("ab"[: done // 2])
    asked = [step for step in back.steps if "counts" in step.precondition]
    assert bool(asked) == (done > 1)
    assert not asked or asked[0] is back.steps[0]
    made.counted = lambda query: int("`a__old`" in query)
    if done > 1:
        with pytest.raises(StalePlan, match="gives 1, not 0"):
            forth(back, made)
        made.counted = lambda _: 0
    forth(back, made)
    assert made.live is not None
    assert set(made.live.schema.names) == {"id", "a", "b", "a__new", "b__new"}


@both
def test_a_key_is_taken_back_where_it_still_tells_the_rows_apart_and_with_approval(format: str) -> None:
    made = lake(format, "id INT NOT NULL, code INT NOT NULL, PRIMARY KEY (id)")
    before = live_of(made)
    (rekey,) = cook(format, source("id INT NOT NULL, code INT NOT NULL, PRIMARY KEY (code)")).make_plans(
        before
    )
    assert rekey.point_of_no_return is None
    done = forth(rekey, made)
    assert live_of(made).schema.key == ("code",)
    back = plan_rollback(rekey, made.live, done)
    assert back.refusals == ()
    assert back.approvals_needed
    assert apply(back, made, MemoryJournal(), lambda: 0, run="r").state == "refused"
    for words in ("`id` IS NULL", "GROUP BY `id` HAVING count(*) > 1"):
        made.counted = lambda query, words=words: int(words in query)  # type: ignore[misc]
        with pytest.raises(StalePlan, match="gives 1, not 0"):
            forth(back, made)
    made.counted = lambda _: 0
    forth(back, made)
    assert live_of(made).schema.key == ("id",)
    assert stamps(live_of(made)) == stamps(before)
    assert live_of(made).properties.get("identifier-fields") == before.properties.get("identifier-fields")


@both
def test_a_key_that_was_changed_again_is_not_taken_back_over_the_later_one(format: str) -> None:
    columns = "id INT NOT NULL, code INT NOT NULL, shop INT NOT NULL"
    made = lake(format, f"{columns}, PRIMARY KEY (id)")
    (first,) = cook(format, source(f"{columns}, PRIMARY KEY (code)")).make_plans(live_of(made))
    done = forth(first, made)
    (second,) = cook(format, source(f"{columns}, PRIMARY KEY (shop)")).make_plans(live_of(made))
    later = forth(second, made)
    with pytest.raises(StalePlan, match="it was changed since then"):
        plan_rollback(first, made.live, done)
    forth(plan_rollback(second, made.live, later), made)
    assert plan_rollback(first, made.live, done).refusals == ()


@both
def test_a_table_that_was_filled_keeps_its_rows(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    new = "/lake/t2" if format == "delta" else "ice.raw.t2"
    later = source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)")
    _, fill = cook(format, later).make_plans(live_of(made), new)
    back = plan_rollback(fill, LakeTable(new, fill.wanted, "i", "1"), len(fill.steps))
    assert back.steps == ()
    assert "its rows may be needed" in back.refusals[0].reason
    assert "point readers and writers back" in back.refusals[0].instead
    told = repr(list(build_plan_blocks(fill)))
    assert "Every step can be undone" not in told
    assert "drop the new one by hand" in told


def test_a_delta_table_is_set_back_by_time_travel_unless_rows_were_written() -> None:
    made = lake("delta", "id INT, a INT")
    drawn = plan("delta", source("id BIGINT, a INT"), made.live)
    version = live_of(made).version
    forth(drawn, made)
    assert plan_restore(drawn, live_of(made), version, TARGETS["iceberg"][0]) is None
    back = plan_restore(drawn, live_of(made), version, TARGETS["delta"][0])
    assert back is not None
    assert back.steps[0].statement == f"RESTORE TABLE `delta`.`/lake/t` TO VERSION AS OF {version}"
    assert back.steps[0].precondition["version"] == live_of(made).version
    assert back.approvals_needed
    assert select_row_writes([(0, "CREATE TABLE"), (1, "SET TBLPROPERTIES"), (2, "CHANGE COLUMN")], "0") == ()
    assert select_row_writes([(0, "CREATE TABLE"), (1, "MERGE")], "0") == ("MERGE made version 1",)
    assert select_row_writes([(1, "SOMETHING NEW")], "0") == ("SOMETHING NEW made version 1",)


def test_the_journal_tells_how_far_a_plan_came() -> None:
    def line(step: int | None, state: str, version: str = "7") -> MigrationEntry:
        return MigrationEntry("r", "p", "delta:/t", step, state, "", version, "")  # type: ignore[arg-type]

    lines = [line(None, "started", "3"), line(0, "intent"), line(0, "done"), line(1, "intent")]
    assert count_progress(lines) == (1, 2)
    assert find_version_before(lines) == "3"
    assert (count_progress([]), find_version_before([])) == ((0, 0), None)


def test_the_file_for_people_says_where_there_is_no_way_back() -> None:
    made = lake("iceberg", "id INT, a INT")
    drawn = plan("iceberg", source("id INT, a BIGINT, b DATE"), made.live)
    text = to_sql(drawn)
    assert "-- the point of no return: no statement undoes this" in text
    assert "-- hurts readers that expect INT in `a`" in text
    assert drawn.point_of_no_return == 1
    assert plan_hash(replace(drawn, point_of_no_return=None)) != plan_hash(drawn)
