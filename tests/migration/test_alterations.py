"""Plans for an engine that alters one column in a statement, as Spark 3.5 does."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from schemaman.errors import StalePlan, StatementFailed
from schemaman.migration.alterations import split_alteration
from schemaman.migration.apply.apply import apply, check
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import from_text, to_sql, to_text
from schemaman.migration.planner import make_plan
from schemaman.migration.rollback import plan_rollback
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS, both, lake, migrated, plan, source, statements
from tests.support.random_histories import lives

SEVERAL = re.compile(
    r"ALTER COLUMN (`[^`]*`\.?)+ (TYPE [A-Z]+(\(\d+,\d+\))?|DROP NOT NULL|COMMENT '[^']*'), `"
)
SIZES = {"delta": ("SMALLINT", "INT"), "iceberg": ("INT", "BIGINT")}


def write_columns(format: str, number: int) -> str:
    """The columns before (0) and after (1), with a type that the format widens on Spark 3.5, too."""
    size = SIZES[format][number]
    notes = ("", "", "") if number == 0 else ("COMMENT 'its, `key`'", "COMMENT 'grown'", "COMMENT 'it\\'s'")
    return (
        f"id INT NOT NULL {notes[0]}, a {size} {notes[1]}, b {size} {notes[2]}, s STRUCT<x: {size}>, "
        "PRIMARY KEY (id)"
    )


def limit(table: MemoryTable) -> MemoryTable:
    """Let the engine of a table take one column in a statement."""
    assert table.live is not None
    table.live = replace(table.live, spark_major=3)

    def refuse(statement: str) -> None:
        if SEVERAL.search(statement):
            raise StatementFailed(f"[PARSE_SYNTAX_ERROR] Syntax error at or near ',': {statement}")

    table.before = refuse
    return table


def count_columns(plan: Plan) -> list[int]:
    return [len(split_alteration(step)) for step in plan.steps]


@both
def test_each_column_is_a_step_that_is_journalled_by_itself(format: str) -> None:
    table = limit(lake(format, write_columns(format, 0)))
    drawn = plan(format, source(write_columns(format, 1)), table.live)
    size = SIZES[format][1]
    assert statements(drawn) == [
        f"ALTER COLUMN `a` TYPE {size}",
        f"ALTER COLUMN `b` TYPE {size}",
        f"ALTER COLUMN `s`.`x` TYPE {size}",
        "ALTER COLUMN `id` COMMENT 'its, `key`'",
        "ALTER COLUMN `a` COMMENT 'grown'",
        "ALTER COLUMN `b` COMMENT 'it\\'s'",
    ]
    journal = MemoryJournal()
    refuse = table.before

    def stop(statement: str) -> None:
        refuse(statement)
        if "`b` TYPE" in statement:
            raise KeyboardInterrupt

    table.before = stop
    with pytest.raises(KeyboardInterrupt):
        apply(drawn, table, journal, lambda: 0, run="killed", partial=True, approved=True)
    table.before = refuse
    done = apply(
        from_text(to_text(drawn)), table, journal, lambda: 0, run="next", partial=True, approved=True
    )
    assert (done.state, done.differences) == ("applied", ())
    assert plan(format, source(write_columns(format, 1)), table.live).steps == ()
    assert len({statement for statement in table.ran if "ALTER COLUMN" in statement}) == 6


@both
@given(life=lives())
def test_no_plan_alters_two_columns_at_once(format: str, life: list[MigrationSource]) -> None:
    target, address = TARGETS[format]
    table = MemoryTable(address)
    for following in life:
        drawn = make_plan(following, table.live, target, address, Policy())
        assert set(count_columns(drawn)) <= {1}
        if not drawn.steps and table.live is None:
            return
        limit(migrated(table, drawn))


@both
def test_a_plan_for_spark_4_is_refused_before_its_first_statement(format: str) -> None:
    table = lake(format, write_columns(format, 0))
    drawn = plan(format, source(write_columns(format, 1)), table.live)
    assert max(count_columns(drawn)) == 3
    ran = len(limit(table).ran)
    for run in (apply, check):
        with pytest.raises(StalePlan, match="alters one column in a statement") as refused:
            run(drawn, table, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
        assert "plan" in str(refused.value.hint)
    assert len(table.ran) == ran


@both
def test_the_script_alters_one_column_in_a_statement(format: str) -> None:
    table = lake(format, write_columns(format, 0))
    script = to_sql(plan(format, source(write_columns(format, 1)), table.live))
    assert not SEVERAL.search(script)
    assert script.count(" ALTER COLUMN ") == 6
    limit(table)
    for text in re.findall(r"^(?!--)\S.*;$", script, re.MULTILINE):
        table.run(text.removesuffix(";"))
    assert plan(format, source(write_columns(format, 1)), table.live).steps == ()


@both
def test_comments_come_back_one_by_one(format: str) -> None:
    table = lake(format, "id INT, a INT COMMENT 'one', b INT COMMENT 'two'")
    drawn = plan(format, source("id INT, a INT COMMENT 'new', b INT COMMENT 'other'"), table.live)
    assert max(count_columns(drawn)) == 2
    limit(migrated(table, drawn))
    back = plan_rollback(drawn, table.live, len(drawn.steps))
    assert set(count_columns(back)) == {1}
    migrated(table, back)
    assert table.live is not None
    assert [c.comment for c in table.live.schema.columns] == [None, "one", "two"]


@pytest.mark.parametrize(
    ("before", "after", "is_made"),
    [
        ("TINYINT", "INT", True),
        ("INT", "BIGINT", False),
        ("FLOAT", "DOUBLE", False),
        ("DECIMAL(8,2)", "DECIMAL(12,2)", False),
        ("STRUCT<x: INT>", "STRUCT<x: BIGINT>", False),
    ],
)
def test_delta_widens_on_spark_3_5_only_what_it_can(before: str, after: str, is_made: bool) -> None:
    table = lake("delta", f"id INT, a {before}, b STRING COMMENT 'old'")
    following = source(f"id INT, a {after}, b STRING COMMENT 'new'")
    newer = plan("delta", following, table.live)
    assert newer.refusals == ()
    limit(table)
    drawn = plan("delta", following, table.live)
    assert any("Spark 3.5" in refusal.reason for refusal in drawn.refusals) is not is_made
    ran = len(table.ran)
    if not is_made:
        assert "--recipe" in drawn.refusals[0].instead
        with pytest.raises(StalePlan, match="made on a newer Spark"):
            migrated(table, newer)
        assert len(table.ran) == ran
    migrated(table, drawn)
    assert table.live is not None
    assert [c.comment for c in table.live.schema.columns] == [None, None, "new"]
