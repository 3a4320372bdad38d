"""The way back: every plan that can be undone is undone exactly, every other one says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given

from schemaman.conditions import structure
from schemaman.errors import StalePlan
from schemaman.log import Migrated
from schemaman.migrate import apply
from schemaman.plan import Live, Plan, Policy, Source
from schemaman.planfile import from_text, plan_hash, to_sql, to_text
from schemaman.planner import make_plan
from schemaman.rollback import restored, rollback, rows_written, steps_done, version_before
from schemaman.summary.plans import plan_blocks
from tests.lives import lives
from tests.paper_lake import PaperJournal, PaperLake
from tests.test_planner import TARGETS, both, lake, plan, source
from tests.test_recipes import cook, live_of


def forth(plan: Plan, made: PaperLake) -> int:
    journal = PaperJournal()
    apply(plan, made, journal, lambda: 0, run="r", partial=True, approved=True)
    return steps_done(journal.lines)


def stamps(live: Live) -> Mapping[str, str]:
    return {k: v for k, v in live.properties.items() if k.startswith("schemaman.") and v != "{}"}


@both
@given(life=lives())
def test_what_was_undone_is_as_it_was_and_may_be_done_again(format: str, life: list[Source]) -> None:
    target, table = TARGETS[format]
    made = PaperLake(table)
    for following in life:
        drawn = make_plan(following, made.live, target, table, Policy(drops="drop"))
        before, fields = made.live, dict(made.fields)
        if not drawn.steps and before is None:
            return
        done = forth(drawn, made)
        back = rollback(drawn, made.live, done)
        assert from_text(to_text(back)) == back
        undoable = all(step.undo or step.kind == "create-namespace" for step in drawn.steps)
        assert bool(back.refusals) == (before is None or not undoable)
        assert (drawn.point_of_no_return is None) == undoable
        if back.refusals or before is None:
            assert back.steps == ()
            continue
        forth(back, made)
        after = live_of(made)
        assert structure(after.schema) == structure(before.schema)
        assert stamps(after) == stamps(before)
        assert made.fields == fields
        again = make_plan(following, after, target, table, Policy(drops="drop"))
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
        back = rollback(drawn, made.live, done)
        assert len(back.steps) == done
        for step in back.steps:
            made.run(step.statement)
        assert structure(live_of(made).schema) == structure(before.schema)


@both
def test_a_table_that_moved_is_not_taken_back(format: str) -> None:
    made = lake(format, "id INT, a INT")
    drawn = plan(format, source("id INT, a INT, b INT"), made.live)
    done = forth(drawn, made)
    made.run(f"ALTER TABLE {TARGETS[format][0].table_name(made.table)} ADD COLUMNS (`mine` INT)")
    with pytest.raises(StalePlan, match="someone changed it"):
        rollback(drawn, made.live, done)


@both
def test_a_table_that_the_plan_made_is_not_dropped(format: str) -> None:
    made = PaperLake(TARGETS[format][1])
    drawn = plan(format, source("id INT"), None)
    back = rollback(drawn, made.live if forth(drawn, made) else None, len(drawn.steps))
    assert "nothing says whether somebody needs its rows" in back.refusals[0].reason
    assert "DROP TABLE" in back.refusals[0].instead
    told = repr(list(plan_blocks(drawn)))
    assert "Every step can be undone" not in told
    assert "by hand alone, once nobody needs its rows" in told


@both
def test_phases_of_a_recipe_are_taken_back(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    before = live_of(made)
    later = source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)")
    expand, backfill, swap, contract = cook(format, later).plans(before)
    for one in (expand, backfill, swap):
        forth(one, made)
    back = rollback(swap, made.live, len(swap.steps))
    assert back.refusals == ()
    forth(back, made)
    assert set(live_of(made).schema.names) == {"id", "a", "a__new"}
    again = rollback(backfill, made.live, 1)
    assert "SET `a__new` = NULL" in again.steps[0].statement
    forth(again, made)
    last = rollback(expand, made.live, len(expand.steps))
    assert last.approvals_needed
    forth(last, made)
    assert structure(live_of(made).schema) == structure(before.schema)
    assert stamps(live_of(made)) == stamps(before)
    assert contract.point_of_no_return == 1


def test_a_delta_table_is_set_back_by_time_travel_unless_rows_were_written() -> None:
    made = lake("delta", "id INT, a INT")
    drawn = plan("delta", source("id BIGINT, a INT"), made.live)
    version = live_of(made).version
    forth(drawn, made)
    back = restored(drawn, live_of(made), version, TARGETS["delta"][0])
    assert back.steps[0].statement == f"RESTORE TABLE `delta`.`/lake/t` TO VERSION AS OF {version}"
    assert back.steps[0].precondition["version"] == live_of(made).version
    assert back.approvals_needed
    assert rows_written([(0, "CREATE TABLE"), (1, "SET TBLPROPERTIES"), (2, "CHANGE COLUMN")], "0") == ()
    assert rows_written([(0, "CREATE TABLE"), (1, "MERGE")], "0") == ("MERGE made version 1",)
    assert rows_written([(1, "SOMETHING NEW")], "0") == ("SOMETHING NEW made version 1",)


def test_the_journal_tells_how_far_a_plan_came() -> None:
    def line(step: int | None, state: str, version: str = "7") -> Migrated:
        return Migrated("r", "p", "delta:/t", step, state, "", version, "")  # type: ignore[arg-type]

    lines = [line(None, "started", "3"), line(0, "intent"), line(0, "done"), line(1, "intent")]
    assert steps_done(lines) == 1
    assert version_before(lines) == "3"
    assert (steps_done([]), version_before([])) == (0, None)


def test_the_file_for_people_says_where_there_is_no_way_back() -> None:
    made = lake("iceberg", "id INT, a INT")
    drawn = plan("iceberg", source("id INT, a BIGINT, b DATE"), made.live)
    text = to_sql(drawn)
    assert "-- the point of no return: no statement undoes this" in text
    assert "-- hurts readers that expect INT in `a`" in text
    assert drawn.point_of_no_return == 1
    assert plan_hash(replace(drawn, point_of_no_return=None)) != plan_hash(drawn)
