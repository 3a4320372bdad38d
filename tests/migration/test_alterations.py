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
BEFORE = "id INT NOT NULL, a INT NOT NULL, b FLOAT, s STRUCT<x: INT>, PRIMARY KEY (id)"
AFTER = (
    "id INT NOT NULL COMMENT 'its, `key`', a BIGINT COMMENT 'grown', b DOUBLE COMMENT 'it\\'s', "
    "s STRUCT<x: BIGINT>, PRIMARY KEY (id)"
)


def limit(table: MemoryTable) -> MemoryTable:
    """Let the engine of a table take one column in a statement."""
    assert table.live is not None
    table.live = replace(table.live, alters_at_once=False)

    def refuse(statement: str) -> None:
        if SEVERAL.search(statement):
            raise StatementFailed(f"[PARSE_SYNTAX_ERROR] Syntax error at or near ',': {statement}")

    table.before = refuse
    return table


def count_columns(plan: Plan) -> list[int]:
    return [len(split_alteration(step)) for step in plan.steps]


@both
def test_each_column_is_a_step_that_is_journalled_by_itself(format: str) -> None:
    table = limit(lake(format, BEFORE))
    drawn = plan(format, source(AFTER), table.live)
    assert statements(drawn) == [
        "ALTER COLUMN `a` TYPE BIGINT",
        "ALTER COLUMN `b` TYPE DOUBLE",
        "ALTER COLUMN `s`.`x` TYPE BIGINT",
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
    assert plan(format, source(AFTER), table.live).steps == ()
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
    table = lake(format, BEFORE)
    drawn = plan(format, source(AFTER), table.live)
    assert max(count_columns(drawn)) == 3
    ran = len(limit(table).ran)
    for run in (apply, check):
        with pytest.raises(StalePlan, match="alters one column in a statement") as refused:
            run(drawn, table, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
        assert "plan" in str(refused.value.hint)
    assert len(table.ran) == ran


@both
def test_the_script_alters_one_column_in_a_statement(format: str) -> None:
    table = lake(format, BEFORE)
    script = to_sql(plan(format, source(AFTER), table.live))
    assert not SEVERAL.search(script)
    assert script.count(" ALTER COLUMN ") == 6
    limit(table)
    for text in re.findall(r"^(?!--)\S.*;$", script, re.MULTILINE):
        table.run(text.removesuffix(";"))
    assert plan(format, source(AFTER), table.live).steps == ()


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
