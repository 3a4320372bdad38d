"""The plans that begin a successor: the new table, and then the link from the table before it.

Law: the link comes last, so that an interrupted beginning leaves all rows where they were.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from schemaman.migration.layout import layout_of
from schemaman.migration.plan import MigrationSource, Phase, Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.properties.names import (
    PREDECESSOR_PROPERTY,
    SUCCESSOR_PROPERTY,
    TRUNCATED_PROPERTY,
)
from schemaman.migration.properties.table_record import Predecessor, format_predecessor
from schemaman.migration.replacement_table import NO_CARRIED_COLUMNS, CarriedColumns
from schemaman.migration.step_sequence import StepSequence, set_on_table
from schemaman.migration.successor import Inspect, LakeTableAt, choose_address
from schemaman.migration.target import Target

_NEW_ROWS = "readers who need the newer rows, too: read the successor beside this table"


def plan_successor(
    source: MigrationSource,
    target: Target,
    inspect: Inspect,
    tables: tuple[LakeTableAt, ...],
    predecessor: Predecessor,
    policy: Policy,
    target_name: str,
    taken: Collection[str] = (),
    carried: CarriedColumns = NO_CARRIED_COLUMNS,
) -> tuple[Plan, ...]:
    """Plan the next table of a source after `tables`, whose rows begin with the version of `predecessor`.

    `taken` are the addresses of the lake tables of other sources, also of those that are not there yet.

    The plans are a new table, unless an interrupted run has made it, and the link to it. A TRUNCATE of the
    source ended older rows in the new table, too. `carried`: what it needs for the rows of the table before.
    """
    before = tables[-1]
    address, there = choose_address(inspect, tables, predecessor, taken)
    link = plan_link(source, target, before, address, target_name)
    if there is not None:
        return (link,)
    properties = {**carried.properties, PREDECESSOR_PROPERTY: format_predecessor(predecessor)}
    if TRUNCATED_PROPERTY in before.lake.properties:
        properties[TRUNCATED_PROPERTY] = before.lake.properties[TRUNCATED_PROPERTY]
    carried = CarriedColumns(carried.columns, properties)
    made = make_plan(source, None, target, address, policy, target_name=target_name, carried=carried)
    return replace(made, phase=Phase("expand", 1, 2, "there is no such table yet")), link


def plan_link(
    source: MigrationSource, target: Target, before: LakeTableAt, successor: str, target_name: str
) -> Plan:
    """Plan the link from a table to its successor: from then on its rows stay as they are.

    The undo unsets the property, so that the rows go into the first table again.
    """
    wanted = {SUCCESSOR_PROPERTY: successor}
    draft = target.set_properties(before.address, wanted)
    undo = target.unset_properties(before.address, tuple(wanted)).statement
    draft = replace(draft, undo=undo, before={"properties": {SUCCESSOR_PROPERTY: None}}, hurts=(_NEW_ROWS,))
    planned = StepSequence(before.lake).add_step(draft, set_on_table(before.lake, wanted))
    lake = before.lake
    return Plan(
        target_name or target.name,
        target.name,
        before.address,
        source,
        lake.identity or None,
        lake.version,
        lake.schema,
        lake.schema,
        planned.steps,
        phase=Phase("link", 2, 2, "the successor is there"),
        base_column_ids=lake.column_ids,
        base_layout=layout_of(lake) if lake.identity else {},
    )
