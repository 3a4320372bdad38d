"""Plans for tests without Spark: targets of both formats, sources in column lists, and tables in memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schemaman.migration.apply.apply import apply
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.target import LakeTable, Target
from schemaman.migration.targets import delta, iceberg
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import fingerprint
from tests.support.memory_lake import MemoryJournal, MemoryTable

TARGETS: dict[str, tuple[Target, str]] = {
    "delta": (delta.TARGET, "/lake/t"),
    "iceberg": (iceberg.TARGET, "ice.raw.t"),
}
both = pytest.mark.parametrize("format", TARGETS)


def source(ddl: str, **facts) -> MigrationSource:
    schema = parse_columns(ddl)
    return replace(MigrationSource("shop.public.t", 1, fingerprint(schema), 0, schema), **facts)


def plan(format: str, following: MigrationSource, live: LakeTable | None, **policy) -> Plan:
    target, table = TARGETS[format]
    return make_plan(following, live, target, table, Policy(**policy))


def migrated(lake: MemoryTable, plan: Plan) -> MemoryTable:
    migration = apply(plan, lake, MemoryJournal(), lambda: 0, run="r", partial=True, approved=True)
    assert migration.state != "refused"
    assert migration.differences == ()
    return lake


def lake(format: str, ddl: str, **facts) -> MemoryTable:
    """A lake that schemaman made for this source."""
    return migrated(MemoryTable(TARGETS[format][1]), plan(format, source(ddl, **facts), None))


def statements(plan: Plan) -> list[str]:
    """The steps without the table's name, and without stamps."""
    texts = (s.statement.partition("`t` ")[2] or s.statement.partition("/t` ")[2] for s in plan.steps)
    return [text for text in texts if not text.startswith("SET TBLPROPERTIES ('schemaman")]
