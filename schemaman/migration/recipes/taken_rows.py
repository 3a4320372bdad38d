"""Two lake tables that turned out to be those of one source table: the later one takes the earlier rows.

A rename of the table was answered after both had rows. Laws: a row that was written under the later name
keeps what it has, also if it was deleted there. The earlier table stays as it is. Where the later table is
the older one, its source had the other name for a time: no row that both have may be newer there.
"""

from __future__ import annotations

import json
from dataclasses import replace

from schemaman.migration.plan import Refusal
from schemaman.migration.properties.names import TAKEN_PROPERTY, format_property
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.phases import PhaseDraft
from schemaman.migration.row_columns import OFFSET, ORDER, PARTITION, STREAM, TOPIC
from schemaman.migration.step_sequence import set_on_table
from schemaman.migration.target import Draft, LakeTable
from schemaman.model.ddl import quote_name

_WRITERS = "writers that commit meanwhile: one of the two fails and has to try again"


def take_rows(draft: PhaseDraft, earlier: LakeTable, address: str, why: str) -> str | Refusal:
    """Draw the steps that take the rows of an earlier table, and return their gate in words.

    `address` is that of the earlier table. Refused where a column of it is missing or has another type.
    """
    later, here, there = draft.now, draft.name, draft.target.table_name(address)
    types = {c.name: c.type for c in later.schema.columns}
    lacking = [c.name for c in earlier.schema.columns if types.get(c.name) != c.type]
    key = later.schema.key or (STREAM, TOPIC, PARTITION, OFFSET)
    if lacking or earlier.schema.key != later.schema.key or ORDER not in types:
        names = ", ".join(map(quote_name, lacking or earlier.schema.key))
        reason = f"the tables differ in {names}, so that a row of one is none of the other"
        instead = f"fill {later.name} by hand from {address}, where it has no row of the same key"
        return Refusal(f"take the rows of {address}", reason, instead)
    names = ", ".join(quote_name(c.name) for c in earlier.schema.columns)
    values = ", ".join(f"o.{quote_name(c.name)}" for c in earlier.schema.columns)
    same = " AND ".join(f"o.{quote_name(name)} <=> n.{quote_name(name)}" for name in key)
    missing = f"FROM {there} AS o LEFT ANTI JOIN {here} AS n ON {same}"
    order = quote_name(ORDER)
    first, began = (f"(SELECT min({order}) FROM {name})" for name in (here, there))
    newer = f"o.{order} > {first} AND (o.{order} > n.{order} OR {began} < {first})"
    overlap = f"SELECT count(*) FROM {there} AS o LEFT JOIN {here} AS n ON {same} WHERE {newer}"
    draft.add_step(
        Draft(
            (),
            "backfill",
            f"INSERT INTO {here} ({names}) SELECT {values} {missing}",
            "needs-rewrite",
            "no",
            None,
            (_WRITERS,),
            {"counts": {f"SELECT count(*) {missing}": 0}},
            {"counts": {overlap: 0}},
        ),
        draft.now,
        why,
    )
    had = draft.now.properties.get(TAKEN_PROPERTY)
    properties = {TAKEN_PROPERTY: format_property([*read_record(later.properties).taken, address])}
    recorded = draft.target.set_properties(draft.table, properties)
    undo = (
        draft.target.unset_properties(draft.table, (TAKEN_PROPERTY,))
        if had is None
        else draft.target.set_properties(draft.table, {TAKEN_PROPERTY: json.dumps(json.loads(had))})
    )
    recorded = replace(recorded, undo=undo.statement, before={"properties": {TAKEN_PROPERTY: had}})
    draft.add_step(recorded, set_on_table(draft.now, properties))
    return "no row of the earlier table is newer than the first row of the later one, or than that of its key"
