"""Law: rows and plans agree which column of the source a column of the lake holds, and neither is wrong.

The truth is a number of each lake column that renames keep. Plans may leave a column alone, or be refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from schemaman.migration.apply.apply import apply
from schemaman.migration.column_map import make_column_map
from schemaman.migration.plan import Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.projection.project import Projection, project
from schemaman.migration.row_columns import add_row_columns, list_row_columns
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable, Target
from schemaman.model.schema import TableSchema
from tests.migration.test_values_in_columns import CALLED, lives, policies, written
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryJournal, MemoryTable
from tests.support.plans import TARGETS
from tests.support.random_histories import history


@settings(max_examples=4000 if PROOF else 240, phases=[Phase.generate])
@given(
    format=st.sampled_from(sorted(TARGETS)),
    versions=st.sampled_from(CALLED).flatmap(lives),
    seen=st.lists(st.sampled_from([True, True, False]), min_size=6, max_size=6),
    policies=st.lists(policies(), min_size=1, max_size=2),
    partly=st.sampled_from([False, False, True]),
)
def test_rows_and_plans_agree_on_the_column_of_each_lake_column(
    format: str, versions: list[TableSchema], seen: list[bool], policies: list[Policy], partly: bool
) -> None:
    target, table = TARGETS[format]
    lake = MemoryTable(table)
    truth: dict[int, int] = {}
    for number, newest in enumerate(versions):
        if not seen[number]:
            continue
        policy, so_far = policies[number % len(policies)], versions[: number + 1]
        known = {n: truth[lake.fields[n]] for n in lake.fields if lake.fields[n] in truth}
        if lake.live is not None:
            check_answers(so_far, lake.live, target, policy, known)
        source = add_row_columns(migration_source(history(so_far)))
        names = project(source, lake.live, target, policy).names
        plan = make_plan(source, lake.live, target, table, policy)
        before = set(lake.fields.values())
        if plan.steps and (written(plan) or partly):
            apply(plan, lake, MemoryJournal(), lambda: 0, run="r", partial=partly, approved=True)
        ids = {c.name: c.id for c in newest.columns}
        for source_name, lake_name in names.items():
            field, id = lake.fields.get(lake_name), ids.get(source_name)
            if field is not None and field not in before and id is not None:
                truth[field] = id


def check_answers(
    versions: list[TableSchema], lake: LakeTable, target: Target, policy: Policy, truth: Mapping[str, int]
) -> None:
    """Compare what rows and a plan take each lake column for with the id of the column that it holds."""
    told = history(versions)
    own = {c.name for c in list_row_columns(lake.schema.key)}
    columns = tuple(c for c in lake.schema.columns if c.name not in own)
    source = migration_source(told)
    column_map = make_column_map(source, replace(lake, schema=TableSchema(columns)))
    by_row = {lake_name: id for id, lake_name in column_map.names.items()}
    projection = project(add_row_columns(source), lake, target, policy)
    current = {c.id: c.name for c in versions[-1].columns}
    by_plan = {} if is_held_back(projection) else match_names(projection, lake, versions[-1])
    for name, id in truth.items():
        assert by_row.get(name, id) == id, (name, id, by_row, versions, lake.properties)
        assert by_plan.get(name, current.get(id)) == current.get(id), (name, id, by_plan, projection)


def match_names(projection: Projection, lake: LakeTable, newest: TableSchema) -> dict[str, str]:
    """The source's name of each lake column that a plan takes for a column of the newest version."""
    names = projection.names
    source_names = {names[source_name]: source_name for source_name in newest.names if source_name in names}
    wanted = {name: projection.renames.get(name, name) for name in lake.schema.names}
    return {name: source_names[new] for name, new in wanted.items() if new in source_names}


def is_held_back(projection: Projection) -> bool:
    """Whether no rows are written by a plan."""
    return bool(projection.refusals) or any(r.level == "quarantine" for r in projection.rulings)
