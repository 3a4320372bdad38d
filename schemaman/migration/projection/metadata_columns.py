"""Columns beside those of the source: what happened to a row last, when and where in the source's log.

Law: a column of the source never becomes one of these, nor one of these a column of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.migration.plan import Refusal
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.target import LakeTable, find_column
from schemaman.migration.type_mapping import ROLES, Representation, Role
from schemaman.model.ddl import quote_name
from schemaman.model.name_adjustment import explain_unusable_name
from schemaman.model.schema import Column, TableSchema


@dataclass(frozen=True, slots=True)
class MetadataColumns:
    """The metadata columns that a table has and gets: role → name; `added` are not there yet."""

    names: Mapping[str, str]
    added: tuple[Column, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()

    def has_column(self, name: str) -> bool:
        """Whether a column of that name is one of them, whatever the case of its letters."""
        return name.lower() in {own.lower() for own in self.names.values()}


def read_metadata_columns(lake: LakeTable | None) -> dict[str, str]:
    """The metadata columns that a table says it has, and has: role → name."""
    if lake is None:
        return {}
    recorded = read_record(lake.properties).metadata
    return {role: name for role, name in recorded.items() if find_column(lake.schema, name)}


def plan_metadata_columns(
    source: TableSchema, lake: LakeTable | None, representation: Representation
) -> MetadataColumns:
    """The metadata columns of a table; one that is there keeps its name, and stays if not wanted any more."""
    existing = read_metadata_columns(lake)
    names, added, refusals = dict(existing), list[Column](), list[Refusal]()
    wanted = {str(role) for role, _ in representation.metadata}
    unwanted = (name for role, name in existing.items() if role not in wanted)
    notes = tuple(f"{quote_name(name)}: it is no longer a metadata column, and is kept" for name in unwanted)
    for role, name in representation.metadata:
        existing_name = existing.get(role)
        if existing_name is not None:
            if existing_name.lower() != name.lower():
                refusals.append(_refuse_rename(role, existing_name, name))
        elif find_column(source, name) is not None or (lake and find_column(lake.schema, name) is not None):
            refusals.append(_refuse_addition(role, name, "a column of the table has this name"))
        elif why := explain_unusable_name(name):
            refusals.append(_refuse_addition(role, name, why))
        else:
            names[role] = name
            added.append(Column(name, ROLES[role][1]))
    return MetadataColumns(names, tuple(added), tuple(refusals), notes)


def _refuse_rename(role: Role, existing_name: str, name: str) -> Refusal:
    return Refusal(
        f"rename the metadata column {quote_name(existing_name)} to {quote_name(name)}",
        "the table has it under the other name, which writers use",
        f'set metadata = {{ {role} = "{existing_name}" }} for this table',
    )


def _refuse_addition(role: Role, name: str, why: str) -> Refusal:
    instead = f'give it another one, metadata = {{ {role} = "…" }}'
    return Refusal(f"add the metadata column {quote_name(name)}", why, instead)
