"""Steps of views: only those that a plan can have pass, and a former view comes back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.errors import StalePlan
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text, to_text
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.statement_check import require_own_statements
from schemaman.migration.view_steps import ViewColumn, add_steps, make_view_steps, write_view
from tests.support.plans import TARGETS, both, lake, plan, source

VIEW = "`ice`.`pub`.`v`"


def write(format: str, mark: str, where: str = "`_row_deleted` IS NOT TRUE") -> str:
    target, table = TARGETS[format]
    columns = [ViewColumn("id", "`id`"), ViewColumn("a FROM b", "coalesce(`x`, try_cast(`y` AS STRING))")]
    return write_view(VIEW, columns, target.table_name(table), where, mark)


def viewed(format: str, before: str | None = None, previous: str = "") -> Plan:
    drawn = plan(format, source("id INT, b INT"), lake(format, "id INT").live)
    return add_steps(drawn, make_view_steps(VIEW, write(format, "new"), "new", before, previous))


@both
@pytest.mark.parametrize("where", ["", "`_row_deleted` IS NOT TRUE"])
def test_the_steps_of_a_view_pass_and_survive_the_file(format: str, where: str) -> None:
    made = viewed(format)
    assert [s.kind for s in made.steps][-2:] == ["create-namespace", "replace-view"]
    replaced = viewed(format, "old", write(format, "old", where))
    assert [s.kind for s in replaced.steps][-1] == "replace-view"
    for each in (made, replaced):
        require_own_statements(each)
        assert from_text(to_text(each)) == each


@both
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= 'new'", "= 'other'"), ("`id`,", "(SELECT 1),"), (" FROM ", " FROM `secret` UNION SELECT 1 FROM "),
        (VIEW, "`ice`.`pub`.`w`"), ("CREATE VIEW", "CREATE OR REPLACE VIEW"), ("IS NOT TRUE", "IS NOT TRUE;"),
        ("coalesce(", "java_method("), ("schemaman.view", "owner"),
    ],
)  # fmt: skip
def test_a_forged_view_does_not_pass(format: str, old: str, new: str) -> None:
    made = viewed(format)
    step = made.steps[-1]
    assert old in step.statement
    forged = replace(step, statement=step.statement.replace(old, new, 1))
    with pytest.raises(StalePlan, match="was edited after it was made"):
        require_own_statements(replace(made, steps=(*made.steps[:-1], forged)))


@both
@pytest.mark.parametrize("before", ["", "old"])
def test_a_view_without_a_mark_is_neither_replaced_nor_dropped(format: str, before: str) -> None:
    made = viewed(format, "old", write(format, "old"))
    step = replace(made.steps[-1], precondition={"views": {VIEW: ""}})
    if before:
        step = replace(step, kind="drop-view", statement=f"DROP VIEW {VIEW}")
    with pytest.raises(StalePlan, match="others made"):
        require_own_statements(replace(made, steps=(*made.steps[:-1], step)))


@both
@pytest.mark.parametrize("before", [None, "old", "unknown"])
def test_the_former_view_comes_back_last(format: str, before: str | None) -> None:
    made = viewed(format, before, write(format, "old") if before else "")
    table = lake(format, "id INT")
    steps = made.steps[: -2 if before is None else -1]
    for step in steps:
        table.run(step.statement)
    back = plan_rollback(made, table.live, len(made.steps))
    require_own_statements(back)
    if before == "unknown":
        assert made.steps[-1].undo is None
        assert back.steps[-1].kind == "drop-columns" or back.steps[-1].kind == "set-properties"
    else:
        kind = "drop-view" if before is None else "replace-view"
        assert (back.steps[-1].kind, back.steps[-1].statement) == (kind, made.steps[-1].undo)
        assert back.steps[-1].postcondition == {"views": {VIEW: before}}
