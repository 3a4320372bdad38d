"""Plans what a change of the source means for a lake table, without reading the lake.

The lake table is taken as schemaman makes it for the accepted schema. A table that others changed may need
another plan: `schemaman plan` reads the table itself.
"""

from __future__ import annotations

from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.planner import make_plan
from schemaman.migration.policy import Policy
from schemaman.migration.target import LakeTable, Target


def make_expected_plan(
    accepted: MigrationSource,
    present: MigrationSource,
    target: Target,
    table: str,
    policy: Policy,
    target_name: str,
) -> Plan:
    """Make the plan from a lake table of the accepted schema to the present schema."""
    created = make_plan(accepted, None, target, table, policy, target_name=target_name)
    properties: dict[str, str] = {}
    for step in created.steps:
        found = step.postcondition.get("properties")
        properties |= {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
    lake = LakeTable(table, created.wanted, identity="expected", version="0", properties=properties)
    return make_plan(present, lake, target, table, policy, target_name=target_name)
