"""Law: what a column of the source held is in a column of the lake that never held another one's values.

Whatever the table lived through, whatever the policy said of it and however the lake calls its columns:
else the rows wait, and the reason is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import NEVER, ChangeKind, Level, PolicyRule, ProjectionRule
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.type_mapping import Names
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer
from schemaman.sink.row_mapping import RowMap, map_columns
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS
from tests.support.random_histories import ALIKE, history

RULED: tuple[ChangeKind, ...] = (
    "add-column", "add-required-column", "reuse-name", "rename-stated", "drop-column"
)  # fmt: skip
ADDED = ("add-column", "add-required-column", "reuse-name")


CALLED = (
    st.sampled_from(["a", "b"]),
    st.sampled_from(["x y", "x-y", "x_y", "a"]),
    st.sampled_from(["n", "N", "n_2", "a"]),
    ALIKE,
)
"""Names of few columns; those of all but the first may become one in the lake."""


@st.composite
def lives(draw: st.DrawFn, called: st.SearchStrategy[str]) -> list[TableSchema]:
    """The versions of a table whose columns come and go, and take each other's names."""
    names = draw(st.lists(called, unique=True, min_size=1, max_size=2))
    columns = [Column(n, Integer(32), nullable=n != "key", id=i) for i, n in enumerate(["key", *names], 1)]
    ids = len(columns)
    told = [columns]
    for _ in range(draw(st.integers(1, 5))):
        columns = list(columns)
        for _ in range(draw(st.integers(1, 2))):
            name = draw(called)
            free = all(c.name != name for c in columns)
            acts = ["add", "rename"] if free else []
            acts = ["drop", *acts, "swap"] if columns[2:] else ["drop", *acts] if columns[1:] else acts[:1]
            act = draw(st.sampled_from(acts or ["none"]))
            at = draw(st.integers(1, len(columns) - 1)) if act in ("drop", "rename", "swap") else 0
            if act == "add":
                ids += 1
                columns.append(Column(name, Integer(32), draw(st.booleans()), id=ids))
            elif act == "drop":
                columns.pop(at)
            elif act == "rename":
                columns[at] = replace(columns[at], name=name)
            elif act == "swap":
                one, other = columns[at], columns[at - 1 or -1]
                columns[at] = replace(one, name=other.name)
                columns[at - 1 or -1] = replace(other, name=one.name)
        told.append(columns)
    return [TableSchema(tuple(each), ("key",)) for each in told]


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """What is said of the changes that bear on which column is which, and of names."""
    chosen = draw(st.lists(st.sampled_from(RULED), max_size=4, unique=True))
    levels = st.sampled_from(["auto", "auto", "ignore", "ignore", *get_args(Level)])
    drawn = [(kind, draw(levels)) for kind in chosen]
    rules = tuple(
        PolicyRule("quarantine" if level in NEVER.get(kind, ()) else level, (kind,)) for kind, level in drawn
    )
    names = draw(st.sampled_from(get_args(Names)))
    collisions = draw(st.sampled_from(["number", "number", "refuse"]))
    projection = ProjectionRule((("names", names), ("collisions", collisions)))
    return Policy(drops=draw(st.sampled_from(["keep", "drop"])), rules=rules, projections=(projection,))


def written(plan: Plan) -> bool:
    """Whether a mirror writes rows into a table that such a plan is for."""
    return not plan.refusals and not any(r.level == "quarantine" for r in plan.rulings)


@settings(max_examples=5000 if PROOF else 240)
@given(
    format=st.sampled_from(sorted(TARGETS)),
    life=st.sampled_from(CALLED).flatmap(lives),
    seen=st.lists(st.sampled_from([True, True, False]), min_size=6, max_size=6),
    policies=st.lists(policies(), min_size=1, max_size=2),
    partly=st.sampled_from([False, False, True]),
)
def test_each_value_is_in_a_column_of_its_own(
    format: str, life: list[TableSchema], seen: list[bool], policies: list[Policy], partly: bool
) -> None:
    follow(format, life, seen, policies, partly=partly)


def schema_of(ids: Mapping[str, int]) -> TableSchema:
    """A version with these columns beside the key."""
    key = Column("key", Integer(32), nullable=False, id=1)
    return TableSchema((key, *(Column(n, Integer(32), id=i) for n, i in ids.items())), ("key",))


@pytest.mark.parametrize("format", TARGETS)
def test_a_column_that_stood_beside_another_one_of_its_name_is_not_taken_for_it(format: str) -> None:
    """The plan of the second version is made in part: of both columns of that name the table has one."""
    versions: Sequence[Mapping[str, int]] = ({"N": 2, "n_2": 3}, {"N": 2, "n": 4}, {"n": 4}, {}, {"n": 5})
    lower = ProjectionRule((("names", "lower"), ("collisions", "refuse")))
    follow(format, list(map(schema_of, versions)), [True] * 5, [Policy(projections=(lower,))], partly=True)


@pytest.mark.parametrize("format", TARGETS)
def test_a_column_that_the_lake_left_out_is_not_taken_for_the_one_of_its_name(format: str) -> None:
    """Numbers are refused by the time it is renamed, and the other one of its name has left."""
    versions: Sequence[Mapping[str, int]] = ({"N": 2, "n_2": 3}, {"N": 2, "n": 4}, {"n_2": 4})
    refused = Policy(projections=(ProjectionRule((("collisions", "refuse"),)),))
    left_out = (PolicyRule("ignore", ("add-column",)),)
    numbered = Policy(rules=left_out, projections=(ProjectionRule((("collisions", "number"),)),))
    follow(format, list(map(schema_of, versions)), [True] * 3, [refused, numbered], partly=False)


@pytest.mark.parametrize("format", TARGETS)
@pytest.mark.parametrize(
    "seen", [[True, True, True], [True, False, True]], ids=["each version", "not the middle"]
)
def test_a_displaced_column_that_only_case_told_apart_is_known_by_its_own_name(
    format: str, seen: list[bool]
) -> None:
    versions: Sequence[Mapping[str, int]] = ({"n": 2, "N": 3}, {"n": 2}, {"n": 2, "N": 4})
    numbered = ProjectionRule((("collisions", "number"),))
    policy = Policy(rules=(PolicyRule("auto", ("reuse-name",)),), projections=(numbered,))
    life = list(map(schema_of, versions))
    lake = follow(format, life, seen, [policy], partly=False)
    assert lake.live is not None
    assert [each.column for each in read_displaced(lake.live).values()] == ["N"]
    assert 3 in map_columns(history(life), lake.live).names


def follow(
    format: str, life: list[TableSchema], seen: list[bool], policies: list[Policy], *, partly: bool
) -> MemoryTable:
    """A table goes through a life: each of its columns has values of one column of the source alone."""
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    whose: dict[int, int] = {}
    told: list[TableSchema] = []
    for number, structure in enumerate(life):
        told.append(structure)
        if not seen[number]:
            continue
        following = add_row_columns(migration_source(history(told)))
        plan = make_plan(following, lake.live, target, table, policies[number % len(policies)])
        if plan.steps and (written(plan) or partly):
            done = apply(plan, lake, MemoryJournal(), lambda: 0, run="r", partial=partly, approved=True)
            assert done.differences == ()
        if lake.live is not None and written(plan):
            to = map_columns(history(told), lake.live)
            for id, name in to.names.items():
                assert whose.setdefault(lake.fields[name], id) == id, (name, to, plan)
            none_twice(to, told)
            none_unsaid(to, plan, told[-1])
    return lake


def none_twice(to: RowMap, told: Sequence[TableSchema]) -> None:
    for schema in told:
        places = [to.names[c.id] for c in schema.columns if c.id is not None and c.id in to.names]
        assert len(places) == len(set(places)), (schema.names, to.names)


def none_unsaid(to: RowMap, plan: Plan, newest: TableSchema) -> None:
    """A column of the newest version that is nowhere: the policy wants no column for it, or its rows wait."""
    left_out = {r.path[0] for r in plan.rulings if r.level == "ignore" and r.kind in ADDED}
    missing = {c.name: c.id for c in newest.columns if c.id not in to.names}
    unsaid = {name for name, id in missing.items() if id not in to.unmapped_reasons and name not in left_out}
    assert not unsaid, (unsaid, to, plan)
