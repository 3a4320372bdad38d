"""What the languages of tables in a lake share: types as a plan would create them, and odd names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemaman.migration.plan import Refusal
from schemaman.migration.projection.column_names import refuse_unusable_names
from schemaman.migration.target import LakeType, Target
from schemaman.model.schema import TableSchema
from schemaman.model.types import Array, Map, String, Struct, Type


def hold_type(target: Target, type: Type, lengths: bool, inside: bool = False) -> LakeType | Refusal:
    """How a target holds a type, with the nullability that the source tells of members and elements.

    `lengths`: VARCHAR and CHAR keep theirs; `inside` says whether also in arrays and maps.
    """
    answer = target.hold_type(type)
    if isinstance(answer, Refusal):
        return answer
    return LakeType(_restore_type(type, answer.type, lengths, inside), answer.note)


def refuse_columns(target: Target, schema: TableSchema) -> Mapping[str, Refusal]:
    """The columns that Spark, or the target, cannot call by their names."""
    return {**refuse_unusable_names(schema), **target.refuse_names(schema)}


def _restore_type(told: Type, held: Type, lengths: bool, inside: bool) -> Type:
    match told, held:
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
            return told
        case _:
            return held
