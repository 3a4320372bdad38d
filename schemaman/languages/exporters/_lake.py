"""Helpers for the languages of lake tables: types as a plan creates them, and names that Spark refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemaman.migration.plan import Refusal
from schemaman.migration.projection.column_names import refuse_unusable_names
from schemaman.migration.target import LakeType, Target
from schemaman.model.schema import TableSchema
from schemaman.model.types import Array, Map, String, Struct, Type


def hold_type(target: Target, type: Type, lengths: bool, inside: bool = False) -> LakeType | Refusal:
    """Returns a target's type for a type, with the source's nullability of nested fields and elements.

    `lengths`: VARCHAR and CHAR keep their lengths; `inside`: also in arrays and maps.
    """
    found = target.hold_type(type)
    if isinstance(found, Refusal):
        return found
    return LakeType(_restore_type(type, found.type, lengths, inside), found.note)


def refuse_columns(target: Target, schema: TableSchema) -> Mapping[str, Refusal]:
    """Returns the columns whose names Spark or the target cannot use."""
    return {**refuse_unusable_names(schema), **target.refuse_names(schema)}


def _restore_type(source_type: Type, lake_type: Type, lengths: bool, inside: bool) -> Type:
    match source_type, lake_type:
        case Array(a, nullable), Array(b, _):
            return Array(_restore_type(a, b, lengths and inside, inside), nullable)
        case Map(k, a, nullable), Map(other, b, _):
            kept = lengths and inside
            return Map(_restore_type(k, other, kept, inside), _restore_type(a, b, kept, inside), nullable)
        case Struct(fields), Struct(others):
            return Struct(
                tuple(
                    replace(f, type=_restore_type(f.type, o.type, lengths, inside))
                    for f, o in zip(fields, others, strict=True)
                )
            )
        case String(int(length)), String(None) if lengths and length > 0:
            return source_type
        case _:
            return lake_type
