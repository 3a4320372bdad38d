"""Whether converting a column of the lake converts what its source meant, or what only stands for it there.

Law: a number that stands for a time of day, or an instant for a local time, is never taken for what it looks.
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
    """Why values of a column of the source cannot be converted in the lake, empty if they can."""
    new = source.schema.column(source_name)
    if new is None and held == wanted:
        return ""  # a column of the lake's own, which goes along as it is
    if new is None or not conversion.is_convertible(held, wanted):
        return NO_WAY
    for old in list_row_types(source)[source_name]:
        if not has_same_meaning(old, held, new.type, wanted):
            then, now = format_type(old), format_type(new.type)
            return f"{NO_WAY}: it was {then} at the source and is {now} now, {_UNKNOWN_MEANING}"
    return ""


def has_same_meaning(old: Type, held: Type, new: Type, wanted: Type) -> bool:
    """Whether values of a source's type become those of its new one where the lake's type becomes another.

    `held` is how the lake has values of `old`, `wanted` how it shall have those of `new`. What the lake holds
    in one type throughout is not converted, and so not judged here.
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
            # What one side alone has is not converted, and of a member that left the lake's type stays.
            shared = olds.keys() & helds.keys() & news.keys() & wanteds.keys()
            return all(has_same_meaning(olds[n], helds[n], news[n], wanteds[n]) for n in shared)
        case _:
            return _is_own_type(old, held) and _is_own_type(new, wanted)


def list_row_types(source: MigrationSource) -> Mapping[str, tuple[Type, ...]]:
    """The types of which each column of the source may have rows in a table: all that it ever had.

    Members of structs are called as they are now, as a table calls them by the time of a recipe.
    The stamp of a table tells its names; a plan that was made in part may have left a type of before.
    """
    types = {column.name: [column.type] for column in source.schema.columns}
    for previous in source.past:
        for then in previous.types:
            types.get(previous.names.get(then) or "", []).append(previous.find_current_type(then))
    return {name: tuple(dict.fromkeys(column_types)) for name, column_types in types.items()}


def _is_own_type(source: Type, lake_type: Type) -> bool:
    """Whether a value of the lake's type is the source's own, and not something that stands for it."""
    match source, lake_type:
        case Timestamp(_, zoned), Timestamp(_, held):
            return zoned == held
        case _:
            return isinstance(source, (*_PLAIN, Timestamp))


def _field_types(fields: tuple[Field, ...]) -> dict[str, Type]:
    return {field.name.lower(): field.type for field in fields}
