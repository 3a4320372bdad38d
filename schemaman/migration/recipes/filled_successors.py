"""A successor that takes the rows of the table before it, so that a reader needs the successor alone.

Laws: a row is filled in once, with its values and its order, so that each later record of it is newer. What
the tables do not prove is not filled in, and the reason says why. The table before stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace

from schemaman.migration.column_map import make_column_map
from schemaman.migration.layout import layout_of
from schemaman.migration.plan import MigrationSource, Phase, Plan
from schemaman.migration.properties.names import FILLED_PROPERTY, format_property
from schemaman.migration.properties.table_record import FilledRows, read_record
from schemaman.migration.recipes.phases import PhaseDraft
from schemaman.migration.row_columns import add_row_columns
from schemaman.migration.step_sequence import set_on_table
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.successor_rows import OWN_NAMES, Filling, RowOrigin
from schemaman.migration.target import Draft, LakeTable, Target
from schemaman.model.ddl import quote_name

_WRITERS = "writers that commit meanwhile: one of the two fails and has to try again"
_FILLED = "the rows of {} are in {}, too: read it alone"
_LATE = "rows that came late into {} are not in {}: {}"
_UNFILLED = "the rows of {} are not filled into {}, read both tables: {}"


def plan_filling(
    source: MigrationSource,
    target: Target,
    before: LakeTableAt,
    after: LakeTableAt,
    origin: RowOrigin,
    target_name: str,
    count: Callable[[str], int],
) -> Plan:
    """Plan to fill the rows of a table into its successor, or to record why they are not filled in.

    One of the two has a key, and the other one is a log. A table that was filled before gets the rows that
    came late into the other one. The record keeps the rows from being read again until they change.

    Args:
        source: the source of both tables, without row columns.
        target: their format.
        before: the table whose rows are filled in; it stays as it is.
        after: its successor.
        origin: where the records of the source came from.
        target_name: the name of the target in the settings.
        count: runs a query for one number.

    Raises:
        StatementFailed: the rows cannot be counted.
    """
    draft = PhaseDraft(target, after.address, after.lake)
    filling = Filling(target, before, after, origin)
    lacking = _list_unmatched(source, before.lake, after.lake)
    is_filled = read_record(after.lake.properties).is_filled
    gates = filling.find_gates() if not lacking else {}
    reason = next((why for query, why in gates.items() if count(query)), "")
    if lacking:
        reason = f"the two tables differ in {', '.join(map(quote_name, lacking))}"
    if not reason:
        statement, proofs = filling.write_statement(), dict.fromkeys(filling.list_proofs(), 0)
        gate = {"counts": dict.fromkeys(gates, 0)}
        draft.add_step(
            Draft(
                (), "backfill", statement, "needs-rewrite", "no", None, (_WRITERS,), {"counts": proofs}, gate
            ),
            draft.now,
        )
        if is_filled and not filling.is_fold:
            draft.add_step(_draft_deletes(filling), draft.now)
    late = reason if is_filled else ""
    record_filling(draft, FilledRows(before.address, before.lake.version, "" if is_filled else reason, late))
    plan = _make_plan(source, target, draft, after, reason or filling.gate, target_name)
    note = (_LATE if late else _UNFILLED) if reason else _FILLED
    return replace(plan, notes=(note.format(before.address, after.address, reason),))


def _draft_deletes(filling: Filling) -> Draft:
    statement, proofs = filling.write_deletes(), {"counts": {filling.count_deletes(): 0}}
    return Draft((), "backfill", statement, "needs-rewrite", "no", None, (_WRITERS,), proofs)


def record_filling(draft: PhaseDraft, filled: FilledRows) -> None:
    """Draw the step that records what a table was filled from, or why it was not."""
    had = draft.now.properties.get(FILLED_PROPERTY)
    document = {name: text for name, text in asdict(filled).items() if text}
    properties = {FILLED_PROPERTY: format_property(document)}
    recorded = draft.target.set_properties(draft.table, properties)
    undo = (
        draft.target.unset_properties(draft.table, (FILLED_PROPERTY,))
        if had is None
        else draft.target.set_properties(draft.table, {FILLED_PROPERTY: json.dumps(json.loads(had))})
    )
    recorded = replace(recorded, undo=undo.statement, before={"properties": {FILLED_PROPERTY: had}})
    draft.add_step(recorded, set_on_table(draft.now, properties))


def _list_unmatched(source: MigrationSource, before: LakeTable, after: LakeTable) -> list[str]:
    """List the columns of a table that its successor lacks, or has for another column or of another type."""
    here, there = list_column_ids(source, after), list_column_ids(source, before)
    types = {c.name: c.type for c in after.schema.columns}
    return [
        c.name
        for c in before.schema.columns
        if c.name not in OWN_NAMES
        if types.get(c.name) != c.type or there.get(c.name) is None or there[c.name] != here.get(c.name)
    ]


def list_column_ids(source: MigrationSource, lake: LakeTable) -> dict[str, int]:
    """List the columns of a lake table, each with the id of its source column."""
    foreign = read_record(lake.properties).foreign
    columns = tuple(c for c in lake.schema.columns if c.name not in foreign and c.name not in OWN_NAMES)
    own = replace(lake, schema=replace(lake.schema, columns=columns))
    return {name: id for id, name in make_column_map(source, own).names.items()}


def _make_plan(
    source: MigrationSource,
    target: Target,
    draft: PhaseDraft,
    after: LakeTableAt,
    gate: str,
    target_name: str,
) -> Plan:
    lake = after.lake
    return Plan(
        target_name or target.name,
        target.name,
        after.address,
        add_row_columns(replace(source, schema=replace(source.schema, key=lake.schema.key))),
        lake.identity or None,
        lake.version,
        lake.schema,
        lake.schema,
        draft.planned.steps,
        phase=Phase("fill-successor", 1, 1, gate),
        base_column_ids=lake.column_ids,
        base_layout=layout_of(lake) if lake.identity else {},
    )
