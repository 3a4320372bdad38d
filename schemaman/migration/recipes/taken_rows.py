"""Two lake tables that turned out to be those of one source table: the later one takes the earlier rows.

A rename of the table was answered after both had rows, or the format renames no table. Laws: a row that was
written under the later name keeps what it has, also if it was deleted there. The earlier table stays as it
is, so that rows go back: those that it still has leave the later table. Where the later table is the older
one, its source had the other name for a time: no row that both have may be newer there.
"""

from __future__ import annotations

import json
from dataclasses import replace

from schemaman.migration import spark_sql as sql
from schemaman.migration.casts import write_conversion, write_exactness
from schemaman.migration.plan import Refusal
from schemaman.migration.properties.names import TAKEN_PROPERTY, format_property
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.phases import PhaseDraft
from schemaman.migration.returned_rows import write_return
from schemaman.migration.row_columns import ORDER
from schemaman.migration.step_sequence import set_on_table
from schemaman.migration.taken_columns import TakenColumns, list_perhaps_inexact, list_required
from schemaman.migration.target import Draft, LakeTable, find_column
from schemaman.model.ddl import quote_name
from schemaman.model.diff import AddColumn
from schemaman.model.schema import Column

_WRITERS = "writers that commit meanwhile: one of the two fails and has to try again"


def take_rows(
    draft: PhaseDraft, earlier: LakeTable, address: str, columns: TakenColumns, why: str
) -> str | Refusal:
    """Draw the steps that take the rows of an earlier table, and return their gate in words.

    `address` is that of the earlier table, and `columns` say which column takes which values. Refused where a
    column takes no exact values, or where the keys do not tell the same rows apart.
    """
    refused = _refuse(draft, earlier, address, columns)
    if refused is not None:
        return refused
    before = draft.now
    draft.add_recorded(columns.added, columns.properties)
    later, here, there = draft.now, draft.name, draft.target.table_name(address)
    names = ", ".join(quote_name(new.name) for _, new in columns.pairs)
    values = ", ".join(_write_value(old, new) for old, new in columns.pairs)
    same = " AND ".join(
        f"o.{quote_name(old)} <=> n.{quote_name(new)}" for old, new in columns.find_key(earlier, before)
    )
    missing = f"FROM {there} AS o LEFT ANTI JOIN {here} AS n ON {same}"
    nulls = " OR ".join(
        f"{quote_name(old.name)} IS NULL" for old, _ in list_required(columns, before) if old is not None
    )
    inexact = " OR ".join(
        f"NOT {write_exactness(quote_name(old.name), old.type, new.type)}"
        for old, new in list_perhaps_inexact(columns)
    )
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
            "reversible",
            write_return(here, there, same),
            (_WRITERS,),
            {"counts": {f"SELECT count(*) {missing}": 0}},
            {"counts": {overlap: 0} | {sql.count_rows(there, each): 0 for each in (nulls, inexact) if each}},
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
    gate = "no row of the earlier table is newer than the first row of the later one, or than that of its key"
    return f"{gate}, and each has a key that the later one holds exactly" if inexact else gate


def _refuse(draft: PhaseDraft, earlier: LakeTable, address: str, columns: TakenColumns) -> Refusal | None:
    """Refuse to take rows that would lose a value, or that are not known again."""
    later = draft.now
    required = [new.name for old, new in list_required(columns, later) if old is None]
    unmatched = (*columns.unmatched, *required)
    change = f"take the rows of {address}"
    instead = f"fill {later.name} by hand from {address}, where it has no row of the same key"
    keys = [f"({', '.join(each.schema.key)})" for each in (earlier, later)]
    other_key = f"its key is {keys[0]} and not {keys[1]}, so that a row of one is none of the other"
    if bool(earlier.schema.key) != bool(later.schema.key):
        return Refusal(change, other_key, instead)
    if unmatched or find_column(later.schema, ORDER) is None:
        names = ", ".join(map(quote_name, unmatched or (ORDER,)))
        return Refusal(
            change, f"the tables differ in {names}, so that a row of one is none of the other", instead
        )
    if not columns.find_key(earlier, later):
        return Refusal(change, other_key, instead)
    for column in columns.added:
        answer = draft.target.draft_change(later, AddColumn((column.name,), column, None))
        if isinstance(answer, Refusal):
            return Refusal(change, answer.reason, answer.instead)
    return None


def _write_value(old: Column, new: Column) -> str:
    """Write the value of a column of the earlier table, alias `o`, as the column that takes it holds it."""
    return write_conversion(f"o.{quote_name(old.name)}", old.type, new.type)
