"""A new table that replaces a lake table: the columns that it takes over, or the refusals.

Law: the new table takes over the columns that the source does not have, so that their writers can continue.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from schemaman.migration import casts as conversion
from schemaman.migration.convertible import ORDINARY, RESPELLED, SNAPSHOT, explain_unconvertible
from schemaman.migration.plan import MigrationSource, Refusal, describe_change
from schemaman.migration.projection.project import Projection
from schemaman.migration.properties.column_swaps import read_swaps, suggest_resume
from schemaman.migration.properties.displaced_columns import displace_column, format_displaced, read_displaced
from schemaman.migration.properties.names import (
    DISPLACED_PROPERTY,
    FOREIGN_PROPERTY,
    KEPT_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    TRUNCATED_PROPERTY,
    format_paths,
    format_property,
)
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import refuse_key
from schemaman.migration.stamp import find_outlived_columns
from schemaman.migration.target import LakeTable, find_column
from schemaman.model.diff import ChangeKey, ChangeType
from schemaman.model.schema import Column

_UNSETTLED = "it is not decided which column is which, or what the values mean{}"


@dataclass(frozen=True, slots=True)
class CarriedColumns:
    """The columns and properties that a new table takes over, besides those of the source."""

    columns: tuple[Column, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    def add_to(self, projection: Projection) -> Projection:
        """Add the columns and properties to the projection of a new table."""
        wanted = replace(projection.wanted, columns=(*projection.wanted.columns, *self.columns))
        return replace(projection, wanted=wanted, properties={**projection.properties, **self.properties})


NO_CARRIED_COLUMNS = CarriedColumns()


@dataclass(frozen=True, slots=True)
class ReplacementTable:
    """The pairs of a column of the lake table and the new one that takes its values, and the carried columns.

    `approval_reasons` are the reasons why a person has to approve this filling of rows.
    """

    pairs: tuple[tuple[Column, Column], ...]
    carried: CarriedColumns
    approval_reasons: tuple[str, ...] = ()


def plan_replacement(
    source: MigrationSource, lake: LakeTable, current: Projection, new: Projection
) -> ReplacementTable | list[Refusal]:
    """Plan the replacement of a lake table; `current` is its own projection, `new` that of a new table."""
    refusals = _refuse_replacement(source, lake, current)
    if refusals:
        return refusals
    pairs: dict[str, tuple[Column, Column]] = {}
    for source_name, lake_name in new.names.items():
        old, column = (
            _find_former_column(lake, current, current.names.get(source_name, source_name)),
            find_column(new.wanted, lake_name),
        )
        if old is not None and column is not None:
            pairs[source_name] = old, column
    carried_pairs = _list_carried_columns(lake, current, {old.name for old, _ in pairs.values()})
    columns = tuple(column for _, column in carried_pairs)
    refusals += _refuse_misfits(source, new, pairs, columns)
    if refusals:
        return refusals
    reused = (r.why for r in current.rulings if r.kind == "reuse-name" and r.level == "approve")
    return ReplacementTable(
        (*pairs.values(), *carried_pairs),
        CarriedColumns(columns, _carried_properties(source, lake, current, new, columns)),
        (current.approval_reason, *reused),
    )


def _find_former_column(lake: LakeTable, current: Projection, name: str) -> Column | None:
    """Find the lake column that gets this name; None if the column with this name is to be renamed."""
    former_name = next((old for old, wanted in current.renames.items() if wanted == name), None)
    leaving = {old.lower() for old in current.renames}
    return (
        find_column(lake.schema, former_name or name) if former_name or name.lower() not in leaving else None
    )


def _refuse_replacement(source: MigrationSource, lake: LakeTable, current: Projection) -> list[Refusal]:
    """Refuse a replacement while questions are open, a plan is partly applied, or rows are a log."""
    change = f"fill a new table from {lake.name}"
    rekeyed = describe_change(ChangeKey(lake.schema.key, source.schema.key))
    refusals = [each for each in current.refusals if each.change != rekeyed]
    if read_record(lake.properties).phase == "swap":
        refusals.append(
            Refusal(change, "another plan was interrupted during a column swap", suggest_resume(lake))
        )
    if not current.settled and not refusals:
        reasons = (f"{r.change} ({r.why})" for r in current.rulings if r.level in ("ignore", "quarantine"))
        waiting = "; ".join(reasons)
        refusals.append(Refusal(change, _UNSETTLED.format(waiting and f": {waiting}"), ORDINARY))
    if current.field_renames:
        refusals.append(Refusal(change, "nested fields of the table are to be renamed", ORDINARY))
    other = refuse_key(source.schema.key, lake)
    return [*refusals, other] if other else refusals


def _list_carried_columns(
    lake: LakeTable, current: Projection, taken: Collection[str]
) -> list[tuple[Column, Column]]:
    """List the columns whose values no column of the source takes: kept ones, those of writers, others."""
    unfinished = {e.new.lower() for e in read_swaps(lake)}
    found = ((_find_former_column(lake, current, c.name), c) for c in current.wanted.columns)
    return [
        (old, Column(c.name, c.type, c.nullable, comment=c.comment))
        for old, c in found
        if old is not None and old.name not in taken and old.name.lower() not in unfinished
    ]


def _refuse_misfits(
    source: MigrationSource,
    new: Projection,
    source_pairs: Mapping[str, tuple[Column, Column]],
    carried: Collection[Column],
) -> list[Refusal]:
    """Refuse columns that cannot take their values; `source_pairs` are those of the source's columns."""
    pairs = source_pairs.values()
    refusals = [
        Refusal(describe_change(ChangeType((old.name,), old.type, column.type)), misfit, SNAPSHOT)
        for source_name, (old, column) in source_pairs.items()
        if (misfit := explain_unconvertible(source, source_name, old.type, column.type))
    ]
    refusals += [
        Refusal(describe_change(ChangeType((old.name,), old.type, column.type)), RESPELLED, SNAPSHOT)
        for old, column in pairs
        if column.name in new.wanted.key and not conversion.is_spelled_alike(old.type, column.type)
    ]
    filled = {column.name for _, column in pairs}
    if not filled.issuperset(new.wanted.key):
        change = f"fill a new table with the key ({', '.join(source.schema.key)})"
        refusals.append(Refusal(change, "the lake table lacks columns of the new key", ORDINARY))
    for column in carried:
        if find_column(new.wanted, column.name) is not None:
            change = f"take `{column.name}` over as it is"
            reason = "the new table has another column of this name"
            refusals.append(Refusal(change, reason, f"rename the old one, and {ORDINARY}"))
    return refusals


def _carried_properties(
    source: MigrationSource,
    lake: LakeTable,
    current: Projection,
    new: Projection,
    columns: Collection[Column],
) -> dict[str, str]:
    """Merge the properties of the carried columns with those of the new table."""
    carried_names = {column.name for column in columns}
    before, after = read_record(current.properties), read_record(new.properties)
    properties: dict[str, str] = {}
    names = {
        lake_name: source_name
        for lake_name, source_name in before.names.items()
        if lake_name in carried_names
    }
    if names:
        properties[NAMES_PROPERTY] = format_property(names | {**after.names})
    roles = {r: name for r, name in before.metadata.items() if name in carried_names}
    if roles:
        properties[METADATA_PROPERTY] = format_property(roles | {**after.metadata})
    kept = [path for path in before.kept if path[0] in carried_names]
    if kept:
        properties[KEPT_PROPERTY] = format_paths(kept)
    foreign = sorted(current.foreign & carried_names)
    if foreign:
        properties[FOREIGN_PROPERTY] = format_property(foreign)
    former_names = {wanted: old for old, wanted in current.renames.items()}
    displaced = {
        name: displace_column(lake, former_names.get(name, old), old)
        for name, old in current.displaced.items()
    }
    others = read_displaced(lake) | find_outlived_columns(source, current, lake) | displaced
    recorded = {name: each for name, each in others.items() if name in carried_names}
    if recorded:
        properties[DISPLACED_PROPERTY] = format_displaced(recorded)
    if TRUNCATED_PROPERTY in lake.properties:
        properties[TRUNCATED_PROPERTY] = lake.properties[TRUNCATED_PROPERTY]
    return properties
