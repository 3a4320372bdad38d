"""A run that stopped between two names of a column, on a table that others changed: one way leads on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.errors import StalePlan
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import count_progress
from schemaman.migration.apply.resume import count_steps_behind, find_resume_point
from schemaman.migration.plan import MigrationSource, Plan, PreviousVersion
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.rollback import plan_rollback
from tests.migration.test_recipes import cook, live_of
from tests.support.memory_lake import Crash, MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, lake, plan, source

RESUME = "schemaman resume r1"


def run(drawn: Plan, made: MemoryTable, journal: MemoryJournal) -> None:
    apply(drawn, made, journal, lambda: 0, run="r1", partial=True, approved=True, store="s")


def swapped() -> MigrationSource:
    then = PreviousVersion("1", names={"id": "id", "a": "b", "b": "a"})
    return replace(source("id INT, a INT, b INT", past=(then,)), id="2")


def stopped(format: str, at: int) -> tuple[MemoryTable, Plan, MemoryJournal]:
    """A table whose swap of two names died after so many statements of the plan."""
    made = lake(format, "id INT, a INT, b INT")
    assert made.live is not None
    made.live = replace(made.live, properties={**made.live.properties, "schemaman.version": "1"})
    drawn, journal, names = plan(format, swapped(), made.live), MemoryJournal(), list[str]()

    def die(statement: str) -> None:
        names.extend(step.statement for step in drawn.steps if step.statement == statement)
        if len(names) == at:
            raise Crash

    made.after = die
    with pytest.raises(Crash):
        run(drawn, made, journal)
    made.after = lambda _: None
    return made, drawn, journal


def alter(made: MemoryTable, format: str, action: str) -> None:
    made.run(f"ALTER TABLE {TARGETS[format][0].table_name(made.table)} {action}")


@both
@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(
    "action",
    ["ADD COLUMNS (`stranger` INT)", "RENAME COLUMN `id` TO `ident`", "ALTER COLUMN `id` TYPE BIGINT"],
)
def test_the_run_goes_on_over_changes_of_other_columns(format: str, at: int, action: str) -> None:
    made, drawn, journal = stopped(format, at)
    numbers = dict(made.fields)
    alter(made, format, action)
    theirs = live_of(made).schema
    (refusal,) = plan(format, swapped(), made.live).refusals
    assert RESUME in refusal.instead
    done = count_progress(journal.read_plan_lines(plan_hash(drawn)))
    with pytest.raises(StalePlan) as stale:
        find_resume_point(drawn, made.live, *done)
    assert RESUME in (stale.value.hint or "")
    with pytest.raises(StalePlan) as stale:
        plan_rollback(drawn, made.live, at)
    assert RESUME in (stale.value.hint or "")
    run(drawn, made, journal)
    assert journal.lines[-1].state == "finished"
    assert any(line.state == "drifted" for line in journal.lines)
    live = live_of(made)
    names = {n: made.fields[n] for n in ("a", "b")}
    assert {names["a"], names["b"]} <= set(numbers.values())
    assert set(live.schema.names) == (set(theirs.names) - {"__schemaman_1"}) | {"a", "b"}
    assert live.properties["schemaman.version"] == "2"


@both
def test_a_second_stop_changes_nothing(format: str) -> None:
    made, drawn, journal = stopped(format, 1)
    alter(made, format, "ADD COLUMNS (`stranger` INT)")

    def die(statement: str) -> None:
        if "RENAME" in statement:
            raise Crash

    made.after = die
    with pytest.raises(Crash):
        run(drawn, made, journal)
    made.after = lambda _: None
    alter(made, format, "ADD COLUMNS (`another` INT)")
    run(drawn, made, journal)
    assert set(live_of(made).schema.names) == {"id", "a", "b", "stranger", "another"}


@both
@pytest.mark.parametrize(
    ("action", "back"),
    [
        ("ADD COLUMNS (`b` INT)", "DROP COLUMNS (`b`)"),
        ("RENAME COLUMN `__schemaman_1` TO `x`", "RENAME COLUMN `x` TO `__schemaman_1`"),
        ("RENAME COLUMN `id` TO `B`", "RENAME COLUMN `B` TO `id`"),
    ],
)
def test_a_change_of_the_columns_of_the_plan_is_named_and_the_way_stays_the_same(
    format: str, action: str, back: str
) -> None:
    """Only where no temporary name is left can another plan go on, and then it does."""
    made, drawn, journal = stopped(format, 2)
    numbers = sorted(made.fields.values())
    alter(made, format, action)
    with pytest.raises(StalePlan) as stale:
        run(drawn, made, journal)
    if "__schemaman_1" in live_of(made).schema.names:
        assert RESUME in (stale.value.hint or "")
        assert "others changed its columns since" in stale.value.message
        assert RESUME in plan(format, swapped(), made.live).refusals[0].instead
    else:
        assert "schemaman plan" in (stale.value.hint or "")
    alter(made, format, back)
    run(drawn, made, journal)
    assert set(live_of(made).schema.names) == {"id", "a", "b"}
    assert sorted(made.fields.values()) == numbers


@both
def test_a_swap_of_a_recipe_goes_on_too(format: str) -> None:
    made = lake(format, "id INT NOT NULL, a INT, PRIMARY KEY (id)")
    later = source("id INT NOT NULL, a TEXT, PRIMARY KEY (id)")
    expand, backfill, swap, _ = cook(format, later).make_plans(live_of(made))
    journal = MemoryJournal()
    for one in (expand, backfill):
        run(one, made, journal)

    def die(statement: str) -> None:
        if "RENAME" in statement:
            raise Crash

    made.after = die
    with pytest.raises(Crash):
        run(swap, made, journal)
    made.after = lambda _: None
    alter(made, format, "ADD COLUMNS (`stranger` INT)")
    assert RESUME in cook(format, later).make_plans(live_of(made))[0].refusals[0].instead
    run(swap, made, journal)
    assert set(live_of(made).schema.names) == {"id", "a", "a__old", "stranger"}


@both
def test_a_run_that_is_not_between_names_leaves_the_way_to_a_new_plan(format: str) -> None:
    made, drawn, journal = stopped(format, 4)
    alter(made, format, "ADD COLUMNS (`stranger` INT)")
    done = count_progress(journal.read_plan_lines(plan_hash(drawn)))
    with pytest.raises(StalePlan) as stale:
        count_steps_behind(drawn, made.live, *done)
    assert "schemaman plan" in (stale.value.hint or "")
    assert plan(format, swapped(), made.live).refusals == ()
