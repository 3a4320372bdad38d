"""Checks whether a conversion of a lake column keeps the meaning that its values have at the source.

Law: a number that represents a time of day, or an instant that represents a local time, is never converted as
a number or an instant.
"""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.migration import casts as conversion
from schemaman.migration.plan import MigrationSource
from schemaman.model.ddl import format_type
from schemaman.model.types import (
    Array,
    Boolean,
    Date,
    Decimal,
    Field,
    Floating,
    Integer,
    Map,
    Numeric,
    String,
    Struct,
    Timestamp,
    Type,
)

ORDINARY = "apply the ordinary plan first (`schemaman apply --partial`), then plan the recipe"
SNAPSHOT = "build a new table and fill it from a snapshot of the source"
NO_WAY = "there is no unambiguous conversion of the old values"
_UNKNOWN_MEANING = "and the lake's type does not show which of them a value is"
RESPELLED = (
    "it is a key column, and such values have several spellings as text: an existing row might not be found "
    "and be written twice"
)
_PLAIN = (Boolean, Integer, Decimal, Numeric, Floating, String, Date)


def explain_unconvertible(source: MigrationSource, source_name: str, held: Type, wanted: Type) -> str:
    """Explain why values of a column of the source cannot be converted in the lake; empty if they can."""
    new = source.schema.column(source_name)
    if new is None and held == wanted:
        return ""  # a column of the lake's own, which is carried over
    if new is None or not conversion.is_convertible(held, wanted):
        return NO_WAY
    for old in list_row_types(source)[source_name]:
        if not has_same_meaning(old, held, new.type, wanted):
            then, now = format_type(old), format_type(new.type)
            return f"{NO_WAY}: it was {then} at the source and is {now} now, {_UNKNOWN_MEANING}"
    return ""


def has_same_meaning(old: Type, held: Type, new: Type, wanted: Type) -> bool:
    """Whether a conversion in the lake turns values of a source's old type into those of its new type.

    `held` is the lake's type for values of `old`, `wanted` that for values of `new`. If both are the same,
    nothing is converted, so nothing is checked.
    """
    if held == wanted:
        return True
    match old, held, new, wanted:
        case Array(a), Array(b), Array(c), Array(d):
            return has_same_meaning(a, b, c, d)
        case Map(k, a), Map(l, b), Map(m, c), Map(n, d):
            return has_same_meaning(k, l, m, n) and has_same_meaning(a, b, c, d)
        case Struct(a), Struct(b), Struct(c), Struct(d):
            olds, helds, news, wanteds = map(_field_types, (a, b, c, d))
            # A field of one side alone is not converted, and a dropped field keeps the lake's type.
            shared = olds.keys() & helds.keys() & news.keys() & wanteds.keys()
            return all(has_same_meaning(olds[n], helds[n], news[n], wanteds[n]) for n in shared)
        case _:
            return _is_own_type(old, held) and _is_own_type(new, wanted)


def list_row_types(source: MigrationSource) -> Mapping[str, tuple[Type, ...]]:
    """List the types that the rows of each column in a table may have: all that the column ever had.

    Nested fields have their present names, as in a table at the time of a recipe. The version stamp of a
    table decides its names only: a partial plan may have left a former type.
    """
    types = {column.name: [column.type] for column in source.schema.columns}
    for previous in source.past:
        for then in previous.types:
            types.get(previous.names.get(then) or "", []).append(previous.find_current_type(then))
    return {name: tuple(dict.fromkeys(column_types)) for name, column_types in types.items()}


def _is_own_type(source: Type, lake_type: Type) -> bool:
    """Whether a value of the lake's type is the source's own value, not a representation of it."""
    match source, lake_type:
        case Timestamp(_, zoned), Timestamp(_, held):
            return zoned == held
        case _:
            return isinstance(source, (*_PLAIN, Timestamp))


def _field_types(fields: tuple[Field, ...]) -> dict[str, Type]:
    return {field.name.lower(): field.type for field in fields}
