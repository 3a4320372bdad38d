"""Columns that are the lake's own, and such as a plan kept: no later name makes them other ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from schemaman.history.decisions import NotRename, Rename
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import PolicyRule, ProjectionRule
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.row_columns import (
    DELETED,
    KEYED,
    ORDER,
    add_row_columns,
)
from schemaman.migration.source import migration_source
from schemaman.model.column_list import parse_columns
from tests.migration.test_nested_fields import plan as drawn
from tests.migration.test_nested_fields import standing, told, until, with_words
from tests.migration.test_recipes import cook
from tests.support.memory_lake import MemoryTable
from tests.support.plans import TARGETS, both, migrated
from tests.support.plans import statements as member_statements
from tests.support.random_histories import history

KEEP, DROP = Policy(), Policy(drops="drop")
Look = tuple[Sequence[str], Policy]
"""The versions that are known by then, as lists of columns behind the key, and the policy."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A lake after all looks, each of whose plans was applied as far as it goes, and the last plan."""

    lake: MemoryTable
    plan: Plan

    @property
    def fields(self) -> dict[str, int]:
        """Under which number the values of each column lie; a rename does not change it."""
        return {name: number for name, number in self.lake.fields.items() if name != "id"}

    @property
    def notes(self) -> str:
        return " ".join(self.plan.notes)


def followed(format: str, *looks: Look, mirrored: bool = False) -> Followed:
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    for versions, policy in looks:
        columns = [
            f"id INT NOT NULL ID 1, {each + ', ' if each else ''}PRIMARY KEY (id)" for each in versions
        ]
        source = migration_source(history([parse_columns(text) for text in columns]))
        source = add_row_columns(source) if mirrored else source
        plan = make_plan(source, lake.live, target, table, policy)
        migrated(lake, plan)
    return Followed(lake, plan)


@both
@pytest.mark.parametrize("known", [3, 4])
def test_a_retired_column_is_never_the_source_s_of_its_name(format: str, known: int) -> None:
    """`a` got out of the way as `a__old`; then the source has an `a__old` of its own, and renames it."""
    v = ["a INT ID 2", "", "a INT ID 3", "a INT ID 3, a__old INT ID 4", "a INT ID 3, b INT ID 4"]
    found = followed(format, (v[:1], KEEP), (v[:known], KEEP), (v, KEEP))
    there = {"a": 3, "a__old": 2, "b": 4} if known == 3 else {"a": 3, "a__old2": 2, "b": 4}
    assert found.fields == there
    assert found.lake.live is not None
    assert [entry.column for entry in read_displaced(found.lake.live).values()] == ["a"]


@both
def test_a_name_that_a_retired_column_has_is_passed_through(format: str) -> None:
    v = ["a INT ID 2", "", "a INT ID 3", "a__old INT ID 3", "b INT ID 3"]
    assert followed(format, (v[:1], KEEP), (v[:3], KEEP), (v, KEEP)).fields == {"a__old": 2, "b": 3}


@both
def test_a_metadata_column_is_never_the_source_s_of_its_name(format: str) -> None:
    wanted = Policy(projections=(ProjectionRule((("metadata", (("ts", "updated_at"),)),)),))
    v = ["a INT ID 2", *(f"a INT ID 2, {name} TIMESTAMP(6) ID 3" for name in ("updated_at", "modified_at"))]
    found = followed(format, (v[:1], wanted), (v, wanted))
    assert found.fields == {"a": 2, "updated_at": 3, "modified_at": 4}
    assert (found.plan.approvals_needed, found.plan.refusals) == ((), ())


@both
@pytest.mark.parametrize("name", [name for name, _ in KEYED])
def test_a_column_that_remembers_positions_is_never_the_source_s_of_its_name(format: str, name: str) -> None:
    v = ["a INT ID 2", f"a INT ID 2, {name} STRING ID 3", "a INT ID 2, b STRING ID 3"]
    lake = followed(format, (v[:1], KEEP), mirrored=True).lake
    before = dict(lake.fields)
    source = migration_source(
        history([parse_columns(f"id INT NOT NULL ID 1, {each}, PRIMARY KEY (id)") for each in v])
    )
    migrated(lake, make_plan(add_row_columns(source), lake.live, *TARGETS[format], KEEP))
    assert {n: number for n, number in lake.fields.items() if n != "b"} == before


@both
@pytest.mark.parametrize("looks", [2, 3])
def test_a_metadata_column_does_not_get_out_of_the_way(format: str, looks: int) -> None:
    """The source had a column of its name before the table was made, and has one again."""
    wanted = Policy(projections=(ProjectionRule((("metadata", (("ts", "updated_at"),)),)),))
    again = (", updated_at TIMESTAMP(6) ID 3", "", ", updated_at TIMESTAMP(6) ID 4")
    v = [f"a INT ID 2{more}" for more in again]
    found = followed(format, (v[:2], wanted), *[(v, wanted)] * (looks - 1))
    assert found.fields == {"a": 2, "updated_at": 3}
    assert [r.reason for r in found.plan.refusals] == ["the table has a metadata column of this name"]


@both
def test_a_column_that_remembers_positions_does_not_get_out_of_the_way(format: str) -> None:
    v = [f"a INT ID 2{more}" for more in (f", {ORDER} STRING ID 3", "", f", {ORDER} STRING ID 4")]
    found = followed(format, (v[:2], KEEP), (v, KEEP), mirrored=True)
    assert found.fields == {"a": 2, ORDER: 3, DELETED: 4}
    assert found.plan.refusals


DROPPING = Policy(rules=(PolicyRule("auto", ("drop-column",)),))


@both
@pytest.mark.parametrize("policy", [KEEP, DROPPING], ids=["keep", "drop"])
def test_a_name_that_meant_several_columns_since_the_stamp_is_left_alone(format: str, policy: Policy) -> None:
    """A plan in part added `p`, which is `q` by now; another `p` came and is called `a`."""
    v = ["a INT ID 2, b INT ID 3", "p INT ID 3, a INT ID 4", "q INT ID 3, a INT ID 4, p INT ID 5",
         "q INT ID 3, a INT ID 5"]  # fmt: skip
    barring = Policy(rules=(PolicyRule("quarantine", ("reuse-name",)),))
    found = followed(format, (v[:1], KEEP), (v[:2], barring), (v, policy))
    assert found.fields["p"] == 3
    assert "several columns have had its name since" in " ".join(r.reason for r in found.plan.refusals)
    assert "q" not in found.fields


@both
def test_two_columns_that_are_one_by_now_are_refused_and_left_alone(format: str) -> None:
    """The first was renamed to the second, as was said when a plan in part had added that one already."""
    blocked = Policy(rules=(PolicyRule("block", ("reuse-name",)),))
    first = "b INT ID 2, y INT ID 5"
    found = followed(
        format,
        ([first], blocked),
        ([first, "a INT ID 3", "a INT ID 3, y INT ID 6"], blocked),
        ([first, "a INT ID 2", "a INT ID 2, y INT ID 6", "c INT ID 2, y INT ID 6"], blocked),
    )
    assert found.fields == {"b": 2, "y": 3, "a": 4}
    assert [r.change for r in found.plan.refusals] == ["rename `a` to `c`", "fill `y` with another column"]
    assert "the same rename also led to another column of the table, `b`" in found.plan.refusals[0].reason


@both
def test_a_column_is_kept_that_is_another_one_which_the_policy_left_out(format: str) -> None:
    """Its DROP and the ADD were one rename, as was said later: the values stand nowhere else."""
    out = PolicyRule("ignore", ("add-column",))
    found = followed(
        format,
        (["a INT ID 2"], KEEP),
        (["a INT ID 2", "b INT ID 3"], Policy(rules=(out,))),
        (["a INT ID 2", "b INT ID 2"], Policy(drops="drop", rules=(out,))),
    )
    assert found.fields == {"a": 2}
    assert "it was renamed to `b`" in found.notes


@both
def test_a_column_is_kept_that_is_another_one_though_others_have_had_its_name(format: str) -> None:
    raw = ["a INT ID 2", "c INT ID 3", "c INT ID 3, a INT ID 4", "c INT ID 3, x INT ID 5"]
    answered = [text.replace("c INT ID 3", "c INT ID 2") for text in raw]
    found = followed(format, (raw[:1], KEEP), (raw[:2], KEEP), (raw, KEEP), (answered, DROP))
    assert found.fields == {"a": 2, "c": 3, "x": 4}
    assert "it was renamed to `c`" in found.notes


@both
@pytest.mark.parametrize("policy", [KEEP, DROP], ids=["keep", "drop"])
@pytest.mark.parametrize("shape", ["s STRUCT<{}: INT, x: INT>", "s ARRAY<STRUCT<{}: INT, x: INT>>"])
def test_a_member_is_kept_that_is_another_one_as_was_said_too_late(
    format: str, policy: Policy, shape: str
) -> None:
    versions = told(*(f"id INT ID 1, {shape.format(name)} ID 2" for name in ("a", "c")))
    inside = "s.element" if "ARRAY" in shape else "s"
    lake = standing(format, versions, 1)
    others = with_words(versions, (NotRename, f"{inside}.a", f"{inside}.c"))
    migrated(lake, drawn(format, until(others, 2), lake))
    plan = drawn(format, until(with_words(versions, (Rename, f"{inside}.a", f"{inside}.c")), 2), lake, policy)
    assert (member_statements(plan), plan.refusals) == ([], ())
    assert "it was renamed to `c`" in " ".join(plan.notes)


@both
def test_a_temporary_name_is_one_whatever_the_case_of_its_letters(format: str) -> None:
    """A lake knows names without regard to case: an exchange in the same table needs that name."""
    v = [
        f"{names}, `__SCHEMAMAN_1` INT ID 4" for names in ("a INT ID 2, b INT ID 3", "b INT ID 2, a INT ID 3")
    ]
    found = followed(format, (v[:1], KEEP), (v, KEEP))
    assert found.fields == {"b": 2, "a": 3}
    assert [r.change for r in found.plan.refusals] == ["name a column `__SCHEMAMAN_1`"]


def test_names_that_cannot_be_exchanged_step_by_step_are_refused() -> None:
    """Half-way a member of `s` would read like the column `s.p`, as Iceberg joins names by dots."""
    v = ["`s.p` STRUCT<p: INT> ID 2, s BOOLEAN ID 3", "s INT ID 2, `s.p` BOOLEAN ID 3"]
    found = followed("iceberg", (v[:1], KEEP), (v, KEEP))
    assert (found.plan.steps, found.plan.approvals_needed) == ((), ())
    assert "joins names by dots" in found.plan.refusals[-1].reason
    assert found.fields == {"s.p": 2, "s": 3}


@both
def test_metadata_columns_go_along_into_a_new_table(format: str) -> None:
    wanted = Policy(projections=(ProjectionRule((("metadata", (("op", "_op"), ("ts", "_ts"))),)),))
    found = followed(format, (["a INT ID 2"], wanted))
    assert found.lake.live is not None
    new = {"delta": "/lake/new", "iceberg": "ice.raw.new"}[format]
    source = migration_source(history([parse_columns("id INT NOT NULL ID 1, a INT ID 2, PRIMARY KEY (id)")]))
    made, fill = cook(format, source, policy=wanted).make_plans(found.lake.live, new)
    assert (made.refusals, fill.refusals) == ((), ())
    (insert,) = (s.statement for s in fill.steps if s.statement.startswith("INSERT"))
    assert insert.count("`_op`") == insert.count("`_ts`") == 2
