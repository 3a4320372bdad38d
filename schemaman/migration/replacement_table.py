"""A new table that takes the place of a live one: the columns that it takes over, and why it may not.

Law: what the live table has beside its source's columns goes along, so that whoever wrote the rows can go on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schemaman.migration import casts as conversion
from schemaman.migration.convertible import ORDINARY, RESPELLED, SNAPSHOT, explain_unconvertible
from schemaman.migration.plan import MigrationSource, Refusal, describe_change
from schemaman.migration.projection.column_names import format_property
from schemaman.migration.projection.project import Projection
from schemaman.migration.properties.column_swaps import RESUME, read_phase, read_swaps
from schemaman.migration.properties.displaced_columns import displace_column, format_displaced, read_displaced
from schemaman.migration.properties.names import (
    DISPLACED_PROPERTY,
    KEPT_PROPERTY,
    METADATA_PROPERTY,
    NAMES_PROPERTY,
    TRUNCATED_PROPERTY,
)
from schemaman.migration.row_columns import refuse_key
from schemaman.migration.stamp import find_outlived_columns
from schemaman.migration.target import LakeTable, find_column
from schemaman.model.diff import ChangeKey, ChangeType
from schemaman.model.schema import Column

_UNSETTLED = "which of its columns is which, or what their values are, is not settled{}"


@dataclass(frozen=True, slots=True)
class CarriedColumns:
    """What a new table has besides what its source wants: columns, and what it says of itself."""

    columns: tuple[Column, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    def add_to(self, projection: Projection) -> Projection:
        """The projection of a new table with all this."""
        wanted = replace(projection.wanted, columns=(*projection.wanted.columns, *self.columns))
        return replace(projection, wanted=wanted, properties={**projection.properties, **self.properties})


NO_CARRIED_COLUMNS = CarriedColumns()


@dataclass(frozen=True, slots=True)
class ReplacementTable:
    """Each column of the live table with the one that takes its values, and what goes along as it is.

    `approval_reasons` are reasons why a person has to approve that rows are filled in so.
    """

    pairs: tuple[tuple[Column, Column], ...]
    carried: CarriedColumns
    approval_reasons: tuple[str, ...] = ()


def plan_replacement(
    source: MigrationSource, live: LakeTable, here: Projection, new: Projection
) -> ReplacementTable | list[Refusal]:
    """The table that follows a live one; `here` projects the source next to it, `new` next to nothing."""
    refusals = _refuse_replacement(source, live, here)
    if refusals:
        return refusals
    pairs: dict[str, tuple[Column, Column]] = {}
    for there, lake in new.names.items():
        old, column = (
            _find_former_column(live, here, here.names.get(there, there)),
            find_column(new.wanted, lake),
        )
        if old is not None and column is not None:
            pairs[there] = old, column
    beside = _list_carried_columns(live, here, {old.name for old, _ in pairs.values()})
    columns = tuple(column for _, column in beside)
    refusals += _refuse_misfits(source, new, pairs, columns)
    if refusals:
        return refusals
    reused = (r.why for r in here.rulings if r.kind == "reuse-name" and r.level == "approve")
    return ReplacementTable(
        (*pairs.values(), *beside),
        CarriedColumns(columns, _carried_properties(source, live, here, new, columns)),
        (here.approval_reason, *reused),
    )


def _find_former_column(live: LakeTable, here: Projection, name: str) -> Column | None:
    """The live column that is to have this name; None where another one has it, which is to give it away."""
    was = next((old for old, wanted in here.renames.items() if wanted == name), None)
    leaving = {old.lower() for old in here.renames}
    return find_column(live.schema, was or name) if was or name.lower() not in leaving else None


def _refuse_replacement(source: MigrationSource, live: LakeTable, here: Projection) -> list[Refusal]:
    """What nobody may leave behind him: open questions, plans half-way, rows that are no rows."""
    change = f"fill a new table from {live.name}"
    rekeyed = describe_change(ChangeKey(live.schema.key, source.schema.key))
    refusals = [each for each in here.refusals if each.change != rekeyed]
    if read_phase(live) == "swap":
        refusals.append(Refusal(change, "another plan stopped while it exchanged columns", RESUME))
    if not here.settled and not refusals:
        told = (f"{r.change} ({r.why})" for r in here.rulings if r.level in ("ignore", "quarantine"))
        waits = "; ".join(told)
        refusals.append(Refusal(change, _UNSETTLED.format(waits and f": {waits}"), ORDINARY))
    if here.field_renames:
        refusals.append(Refusal(change, "members of its structs are to be renamed", ORDINARY))
    other = refuse_key(source.schema.key, live)
    return [*refusals, other] if other else refusals


def _list_carried_columns(
    live: LakeTable, here: Projection, taken: Collection[str]
) -> list[tuple[Column, Column]]:
    """The columns that no column of the source takes: kept ones, writers' own, those of nobody."""
    unfinished = {e.new.lower() for e in read_swaps(live)}
    found = ((_find_former_column(live, here, c.name), c) for c in here.wanted.columns)
    return [
        (old, Column(c.name, c.type, c.nullable, comment=c.comment))
        for old, c in found
        if old is not None and old.name not in taken and old.name.lower() not in unfinished
    ]


def _refuse_misfits(
    source: MigrationSource,
    new: Projection,
    told: Mapping[str, tuple[Column, Column]],
    carried: Collection[Column],
) -> list[Refusal]:
    """Why columns cannot take their values; `told` are those of the source's columns."""
    pairs = told.values()
    refusals = [
        Refusal(describe_change(ChangeType((old.name,), old.type, column.type)), unfit, SNAPSHOT)
        for there, (old, column) in told.items()
        if (unfit := explain_unconvertible(source, there, old.type, column.type))
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
            aside = "the new table has another column of this name"
            refusals.append(Refusal(change, aside, f"rename the old one, and {ORDINARY}"))
    return refusals


def _carried_properties(
    source: MigrationSource, live: LakeTable, here: Projection, new: Projection, columns: Collection[Column]
) -> dict[str, str]:
    """What the live table says of the columns that go along, beside what the new one says of its own."""
    along = {column.name for column in columns}
    said: dict[str, str] = {}
    names = {lake: there for lake, there in _read_property(here, NAMES_PROPERTY).items() if lake in along}
    if names:
        said[NAMES_PROPERTY] = format_property(names | _read_property(new, NAMES_PROPERTY))
    roles = {r: name for r, name in _read_property(here, METADATA_PROPERTY).items() if name in along}
    if roles:
        said[METADATA_PROPERTY] = format_property(roles | _read_property(new, METADATA_PROPERTY))
    kept = [e for e in _read_property(here, KEPT_PROPERTY) if (e if isinstance(e, str) else e[0]) in along]
    if kept:
        said[KEPT_PROPERTY] = format_property(kept)
    called = {wanted: old for old, wanted in here.renames.items()}
    away = {name: displace_column(live, called.get(name, old), old) for name, old in here.displaced.items()}
    others = read_displaced(live) | find_outlived_columns(source, here, live) | away
    moved = {name: each for name, each in others.items() if name in along}
    if moved:
        said[DISPLACED_PROPERTY] = format_displaced(moved)
    if TRUNCATED_PROPERTY in live.properties:
        said[TRUNCATED_PROPERTY] = live.properties[TRUNCATED_PROPERTY]
    return said


def _read_property(told: Projection, property: str) -> Any:
    return json.loads(told.properties.get(property, "{}"))
