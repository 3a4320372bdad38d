"""Every story on real tables: the plan's promise holds, and rows written earlier still read right."""

from __future__ import annotations

import pytest

from schemaman.plan import Live
from schemaman.schema import TableSchema
from schemaman.spark.lake import SparkExecutor
from schemaman.targets import delta, iceberg
from tests import chain
from tests.spark.rows import Rows
from tests.story import TARGETS, Story, plan_for, plans, stories, target_table, versions

pytestmark = pytest.mark.spark
FORMATS = {"delta": delta.TARGET, "iceberg": iceberg.TARGET}


def structure(schema: TableSchema) -> list[tuple[object, ...]]:
    """What a lake can tell: names in order, types, nullability, comments, key."""
    return [*((c.name, c.type, c.nullable, c.comment) for c in schema.columns), (schema.key,)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("story", stories(), ids=lambda s: s.name)
def test_a_story_really_happens(spark, story: Story, target: str) -> None:
    executor = SparkExecutor(spark)
    name = target_table(story, target)
    rows = Rows(executor, FORMATS[target].table_name(name), [])
    live: Live | None = None
    for version, foretold in zip(versions(story), plans(story, target), strict=True):
        plan = plan_for(story, version, live, target)
        assert [s.statement for s in plan.steps] == [s.statement for s in foretold.steps]
        chain.apply(plan, executor)
        for step in plan.steps:
            rows.follow(step)
        live = executor.inspect(name, target)
        assert live is not None
        assert structure(live.schema) == structure(plan.wanted)
        assert rows.unread(live.schema) == []
        rows.insert(live.schema)
        again = plan_for(story, version, live, target)
        assert again.steps == ()
    assert live is not None
    assert rows.unread(live.schema) == []
