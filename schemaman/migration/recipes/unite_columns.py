"""Columns of a lake table that turned out to be one column of the source: their values are united.

A rename was answered after the table had got both columns. Laws: a row that the source wrote since the rename
keeps what it has, also NULL. No value of the former column is lost, and the column stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schemaman.migration import casts as conversion
from schemaman.migration import spark_sql as sql
from schemaman.migration.properties.names import UNITED_PROPERTY, format_property
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.phases import PhaseDraft
from schemaman.migration.row_columns import ORDER
from schemaman.migration.step_sequence import set_on_table
from schemaman.migration.target import Draft
from schemaman.model.ddl import quote_name
from schemaman.model.schema import Column, Path

_WRITERS = "writers that commit meanwhile: one of the two fails and has to try again"
_UNPOSITIONED = f"{quote_name(ORDER)} < '0'"
"""Rows whose order has no position of the source's log: its hyphen sorts before digits."""


@dataclass(frozen=True, slots=True)
class FormerColumn:
    """A column with the values that `current` had before its rename.

    `until`: the rename as an order of rows, so that all rows with a lower order were written before it.
    `parents` is the path of the struct that has both as nested fields; empty for columns of the table.
    """

    column: Column
    current: Column
    until: str
    parents: Path = ()

    @property
    def name(self) -> str:
        """The name in `schemaman.united`: that of a column, or the path of a nested field in back-ticks."""
        return sql.path_name(self.old_path) if self.parents else self.column.name

    @property
    def old_path(self) -> Path:
        """The path of the former one."""
        return (*self.parents, self.column.name)

    @property
    def new_path(self) -> Path:
        """The path of the present one."""
        return (*self.parents, self.current.name)


def is_united(properties: Mapping[str, str], former: FormerColumn) -> bool:
    """Whether a table records that the values of a former column were united."""
    return read_record(properties).united.get(former.name) == former.until


def describe_split_values(former: FormerColumn, unmet: str) -> str:
    """Say why the values of two columns stay apart although they are one column of the source."""
    old, new = sql.path_name(former.old_path), sql.path_name(former.new_path)
    return (
        f"{old} became {new}, and some rows do not show which value holds: both columns keep theirs ({unmet})"
    )


def unite_columns(draft: PhaseDraft, former: Sequence[FormerColumn], why: str) -> str:
    """Draw the steps that unite columns, and return their gate in words; `why`: a person has to approve.

    The last rename comes first: in a chain of them, each row gets the value that it was written with.
    """
    for each in sorted(former, key=lambda each: each.until, reverse=True):
        _unite_column(draft, each, why)
    united = {**read_record(draft.now.properties).united, **{each.name: each.until for each in former}}
    properties = {UNITED_PROPERTY: format_property(united)}
    recorded = draft.target.set_properties(draft.table, properties)
    had = draft.now.properties.get(UNITED_PROPERTY)
    undo = (
        draft.target.unset_properties(draft.table, (UNITED_PROPERTY,))
        if had is None
        else draft.target.set_properties(draft.table, {UNITED_PROPERTY: had})
    )
    before = {"properties": {UNITED_PROPERTY: had}}
    draft.add_step(replace(recorded, before=before, undo=undo.statement), set_on_table(draft.now, properties))
    return "no row from before a rename has two different values, and each row has a position"


def _unite_column(draft: PhaseDraft, former: FormerColumn, why: str) -> None:
    old, new = sql.path_name(former.old_path), sql.path_name(former.new_path)
    types = former.column.type, former.current.type
    value = conversion.write_conversion(old, *types)
    untouched = f"({quote_name(ORDER)} IS NULL OR {quote_name(ORDER)} < {sql.literal(former.until)})"
    same = conversion.write_equality(new, value, former.current.type)
    exact = conversion.write_exactness(old, *types)
    lacking = f"{old} IS NOT NULL AND {new} IS NULL AND {untouched}"
    conflicts = f"{old} IS NOT NULL AND {untouched} AND NOT ({exact} AND ({new} IS NULL OR {same}))"
    unknown = f"{old} IS NOT NULL AND {new} IS NULL AND {_UNPOSITIONED}"
    gate = {sql.count_rows(draft.name, condition): 0 for condition in (conflicts, unknown)}
    draft.add_step(
        Draft(
            (),
            "backfill",
            sql.update_rows(draft.name, [(former.new_path, value)], lacking),
            "needs-rewrite",
            "reversible",
            sql.update_rows(draft.name, [(former.new_path, "NULL")], f"{untouched} AND {same}"),
            (_WRITERS,),
            {"counts": {sql.count_rows(draft.name, lacking): 0}},
            {"counts": gate},
        ),
        draft.now,
        why,
    )
