"""What a policy wants approved is asked for, whatever a plan calls its places by then."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from schemaman.history.decisions import (
    Decisions,
    Rename,
    apply_decisions,
    format_coordinates,
    list_rename_pairs,
)
from schemaman.history.versions import TableHistory
from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import Policy, PolicyRule
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer, Type
from tests.migration.test_nested_fields import (
    TABLE,
    changed,
    kinds,
    plan,
    renamed,
    standing,
    structs,
    told,
    until,
)
from tests.support.plans import TARGETS, both, statements
from tests.support.random_histories import history as history_of

UNASKED = {"set-properties", "upgrade", "set-key", "create-table", "create-namespace"}
"""Steps that no change of a place is made by."""
EVERYTHING = Policy(rules=(PolicyRule("approve"), PolicyRule("auto", ("new-table",))))
MEMBERS = Policy(rules=(PolicyRule("approve", ("rename-stated",)), PolicyRule("auto", ("rename-proven",))))


def unasked(drawn: Plan) -> list[str]:
    """The statements of changes that nobody is asked about."""
    asked = [text.partition(": ")[2] for text in drawn.approvals_needed]
    changing = (s.statement for s in drawn.steps if s.kind not in UNASKED)
    return [each for each in changing if not any(text.startswith(f"{each} (") for text in asked)]


def proven(following: MigrationSource) -> MigrationSource:
    return replace(following, proven=tuple(following.schema.names))


@both
def test_a_member_that_is_renamed_inside_of_a_renamed_column_is_asked_about(format: str) -> None:
    history = told("s STRUCT<a: INT, x: INT> ID 1", "t STRUCT<b: INT, x: INT> ID 1")
    history = renamed(history, ("s.a", "t.b"))
    made = standing(format, history, 1)
    drawn = plan(format, proven(until(history, 2)), made, MEMBERS)
    assert statements(drawn) == ["RENAME COLUMN `s`.`a` TO `b`", "RENAME COLUMN `s` TO `t`"]
    assert unasked(drawn) == [s.statement for s in drawn.steps if s.statement.endswith("`s` TO `t`")]
    assert "rename-stated = approve" in drawn.approvals_needed[0]


@both
def test_names_of_members_that_are_handed_on_are_asked_about_to_the_last(format: str) -> None:
    history = told(
        "s STRUCT<a: INT, b: INT> ID 1", "s STRUCT<a: INT, c: INT> ID 1", "t STRUCT<b: INT, c: INT> ID 1"
    )
    history = renamed(history, ("s.b", "s.c"), ("s.a", "t.b"))
    drawn = plan(format, until(history, 3), standing(format, history, 1), EVERYTHING)
    assert kinds(drawn).count("rename-column") == 4
    assert unasked(drawn) == []


@st.composite
def lives(draw: st.DrawFn) -> TableHistory:
    """A life of a column of structs that has other names by and by; what may be renamed was."""
    key = Column("id", Integer(32), id=1)
    types: list[Type] = [draw(structs())]
    for _ in range(draw(st.integers(1, 3))):
        types.append(draw(changed(types[-1])))
    history = history_of(
        [TableSchema((key, Column(draw(st.sampled_from("stu")), type, id=2))) for type in types]
    )
    answers: list[Rename] = []
    for before, after in pairwise(history.versions):
        used: set[str] = set()
        for old, new in sorted(list_rename_pairs(before, after)):
            if not used & {old, new}:
                answers.append(Rename(TABLE, old, new, after.id, format_coordinates(after.at)))
                used |= {old, new}
    return apply_decisions(history, Decisions(tuple(answers)))


@both
@given(history=lives())
def test_every_step_of_a_change_that_the_policy_wants_approved_is_asked_about(
    format: str, history: TableHistory
) -> None:
    made = standing(format, history, 1)
    last = until(history, len(history.versions))
    assert made.live is not None
    assert unasked(make_plan(last, made.live, *TARGETS[format], EVERYTHING)) == []
    drawn = make_plan(proven(last), made.live, *TARGETS[format], MEMBERS)
    whys = [r.why for r in drawn.rulings if r.level == "approve"]
    said = " ".join(drawn.approvals_needed)
    assert drawn.refusals or all(why in said for why in whys)
    inside = [s.statement for s in drawn.steps if s.kind == "rename-column" and "`.`" in _place(s.statement)]
    assert not set(inside) & set(unasked(drawn))


def _place(statement: str) -> str:
    return statement.partition(" RENAME COLUMN ")[2].partition(" TO ")[0]
