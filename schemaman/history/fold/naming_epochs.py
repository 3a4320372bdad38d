"""Recognises naming epochs: one schema with other names in events, because the adjustment mode changed.

Laws: a table keeps its first names, and each column has its current name in events. A rename changes one
column; a mode rewrites all names of a table by one rule, including the schema's name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from schemaman.model.name_adjustment import (
    Mode,
    adjust_field,
    list_adjusted_forms,
    misread_name,
    restore_misread_name,
)
from schemaman.model.schema import KEPT_SCHEMAS, Column, TableSchema
from schemaman.model.types import without_labels

MODES: tuple[Mode, ...] = ("none", "avro", "avro_unicode", "scrubbed")
_ESCAPE = re.compile(r"_u([0-9a-f]{3,4})")
_NO_ESCAPE = re.compile(r"_(?!u[0-9a-f]{3})")
_READINGS = 64
"""The largest number of possible originals of one name; more are not useful."""


def restore_own_names(
    known: TableSchema, emitted: TableSchema, *, vouched: bool, misreading: bool = False
) -> TableSchema:
    """Return an event's schema under the table's known names; unchanged if no epoch explains it.

    `vouched`: another sign of an epoch changed, the name of the schema or the release of the connector.
    Without such a sign, a single column counts as renamed, unless no person would choose its new name. Two or
    more columns that follow one mode, without a contradicting column, are an epoch.
    `misreading`: one of the two may have been read byte by byte, the other not.
    """
    for names in _find_own_names(known, emitted, vouched, misreading):
        emitted = _rename_columns(emitted, names)
    return emitted


@lru_cache(KEPT_SCHEMAS)
def _find_own_names(
    known: TableSchema, emitted: TableSchema, vouched: bool, misreading: bool
) -> tuple[Mapping[str, str], ...]:
    """Find the renames that lead to a table's own names, one after the other: name in events → own name."""
    renames = _list_renames(known, emitted, vouched, misreading)
    return tuple([names for names in renames if any(old != new for new, old in names.items())])


def _list_renames(
    known: TableSchema, emitted: TableSchema, vouched: bool, misreading: bool
) -> tuple[Mapping[str, str], ...]:
    previous = _match_previous_names(known, emitted)
    emitted = _rename_columns(emitted, previous)
    before, now = set(known.names), set(emitted.names)
    if before <= now or now <= before:  # columns were only added or only dropped
        return (previous,)
    # what no mode changes is seen first: types
    ways = [
        way
        for way, possible in ((_match_by_position, _has_same_types), (_match_by_name, _has_renamed_type))
        if possible(known, emitted)
    ]
    for way in ways:
        pairs = max((way(known, emitted, mode, misreading) for mode in MODES), key=len)
        changed = [(old, new) for new, old in pairs.items() if new != old]
        if len(changed) > 1 or (changed and (vouched or _is_unlikely_name(*changed[0], misreading))):
            return previous, pairs
    return (previous,)


def _match_previous_names(known: TableSchema, emitted: TableSchema) -> dict[str, str]:
    """Map name in events → own name for unchanged columns; empty if two names would become one.

    If both fields come with an own name, that name counts.
    """
    known_fields = {c.emitted_name or c.name: c for c in known.columns}
    names = {
        c.name: k.name
        for c in emitted.columns
        if (k := known_fields.get(c.emitted_name or c.name))
        and (c.name == c.emitted_name or k.name == k.emitted_name)
    }
    after = [names.get(c.name, c.name) for c in emitted.columns]
    return names if len(set(after)) == len(after) else {}


def _match_by_position(
    known: TableSchema, emitted: TableSchema, mode: Mode, misreading: bool
) -> dict[str, str]:
    """Name seen → own name, where column for column is the same; empty if one of them is not."""
    if len(known.columns) != len(emitted.columns):
        return {}
    rows = list(zip(emitted.columns, known.columns, strict=True))
    return (
        {c.name: k.name for c, k in rows}
        if all(_is_same_column(k, c, mode, misreading) for c, k in rows)
        else {}
    )


def _match_by_name(known: TableSchema, emitted: TableSchema, mode: Mode, misreading: bool) -> dict[str, str]:
    """Map name in events → own name with added or dropped columns; empty if one contradicts the mode."""
    now, before = {c.name: c for c in emitted.columns}, set(known.names)
    dropped = [k for k in known.columns if k.name not in now]
    added = [c for c in emitted.columns if c.name not in before]
    pairs = [(c.name, k.name) for c in added for k in dropped if _is_same_column(k, c, mode, misreading)]
    if not pairs or not all(
        _is_same_column(k, now[k.name], mode, misreading) for k in known.columns if k.name in now
    ):
        return {}
    one, other = _find_unique([new for new, _ in pairs]), _find_unique([old for _, old in pairs])
    return {new: old for new, old in pairs if new in one and old in other}


def _has_same_types(known: TableSchema, emitted: TableSchema) -> bool:
    """Whether the types are the same, column by column."""
    emitted_columns, known_columns = emitted.columns, known.columns
    return len(emitted_columns) == len(known_columns) and all(
        _is_same_type(k, c) for k, c in zip(known_columns, emitted_columns, strict=True)
    )


def _has_renamed_type(known: TableSchema, emitted: TableSchema) -> bool:
    """Whether an added column has the type of a dropped one."""
    now, before = set(emitted.names), set(known.names)
    dropped = [k for k in known.columns if k.name not in now]
    return any(_is_same_type(k, c) for c in emitted.columns if c.name not in before for k in dropped)


def _is_unlikely_name(one: str, other: str, misreading: bool) -> bool:
    """Whether one of two names is the other one escaped or misread: a name that no person chooses."""
    if misreading and (_is_twin(one, other) or _is_twin(other, one)):
        return True
    return any(
        long == misread_name(short)
        or long == adjust_field(short, "scrubbed") != adjust_field(short, "avro")
        or any(short in list_adjusted_forms(own) for own in list_originals(long))
        for short, long in ((one, other), (other, one))
    )


def _find_unique(names: Sequence[str]) -> set[str]:
    return {name for name in names if names.count(name) == 1}


def _is_same_column(known: Column, emitted: Column, mode: Mode, misreading: bool) -> bool:
    if not _is_same_type(known, emitted):
        return False
    return is_emitted_as(known.name, emitted.emitted_name or emitted.name, mode, misreading=misreading)


def _is_same_type(known: Column, emitted: Column) -> bool:
    return known.type is emitted.type or without_labels(known.type) == without_labels(emitted.type)


def _rename_columns(emitted: TableSchema, names: Mapping[str, str]) -> TableSchema:
    if all(old == new for new, old in names.items()):
        return emitted
    columns = tuple(replace(c, name=names.get(c.name, c.name)) for c in emitted.columns)
    return replace(emitted, columns=columns, key=tuple(names.get(k, k) for k in emitted.key))


@lru_cache(1 << 14)
def is_emitted_as(name: str, emitted: str, mode: Mode, *, misreading: bool = False) -> bool:
    """Whether a column known as `name`, its own name or one under which it travelled, is `emitted` in a mode.

    `misreading`: where mode avro made both of one name, they are alike but for their underscores, one for
    each character or one for each byte of it.
    """
    raw = {name, *list_originals(name)}
    if any(adjust_field(form, mode) == emitted for own in raw for form in (own, misread_name(own))):
        return True
    match mode:
        case "none":
            return name in list_adjusted_forms(emitted)
        case "avro_unicode":
            return any(name in list_adjusted_forms(own) for own in list_originals(emitted))
        case "avro":
            return misreading and (_is_twin(name, emitted) or _is_twin(emitted, name))
        case "scrubbed":
            return False


def find_naming_rule(name: str, emitted: str) -> str:
    """What makes one name of the other: `none`, a mode, `misread`, both, a mode of a release, or `other`."""
    if emitted == name:
        return "none"
    for words, form in (("", name), ("misread", misread_name(name))):
        if words and form == emitted:
            return words
        for mode in MODES[1:]:
            if adjust_field(form, mode) == emitted:
                return f"{words}, then {mode}" if words else mode
    if any(name in list_adjusted_forms(own) for own in list_originals(emitted)):
        return "avro_unicode"
    return "avro of 2.2" if adjust_field(name, "avro", (2, 2)) == emitted else "other"


@lru_cache(1 << 14)
def list_originals(emitted: str) -> tuple[str, ...]:
    """List the originals of a name of mode avro_unicode: several, because its padding is ambiguous, or none.

    A name that PostgreSQL's stream misread is listed in its correct form. Source: Debezium
    UnicodeReplacementFunction.
    """
    if _NO_ESCAPE.search(emitted):
        return ()
    found: list[str] = []
    open_ends = [("", emitted)]
    while open_ends:
        text, rest = open_ends.pop()
        plain, mark, _ = rest.partition("_")
        text, rest = text + plain, rest[len(plain) :]
        if not mark:
            found.append(restore_misread_name(_join_units(text)))
        elif escape := _ESCAPE.match(rest):
            open_ends += [
                (text + chr(int(d, 16)), rest[2 + len(d) :]) for d in _split_escape(escape.group(1))
            ]
        if len(found) + len(open_ends) > _READINGS:
            return ()
    forms = {name: (name, misread_name(name)) for name in found}
    return tuple(
        sorted(n for n, of in forms.items() if emitted in {adjust_field(f, "avro_unicode") for f in of})
    )


def _split_escape(digits: str) -> tuple[str, ...]:
    """How many of the digits may belong to an escape: four below U+0100 and from U+1000 on, else three."""
    if len(digits) == 4 and (digits.startswith("00") or int(digits, 16) >= 0xFF80):
        return (digits,)
    return (digits[:3],) if len(digits) == 3 or digits[0] == "0" else (digits, digits[:3])


def _join_units(units: str) -> str:
    """The text of UTF-16 units, half a pair left as it is."""
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")


def _is_twin(short: str, long: str) -> bool:
    """Whether `long` has two or three underscores where `short` has one, and else the same."""
    texts, gaps = re.split("_+", short), re.findall("_+", short)
    if re.split("_+", long) != texts or short == long:
        return False
    pairs = zip(gaps, re.findall("_+", long), strict=True)
    return all(len(one) <= len(other) <= 3 * len(one) for one, other in pairs)
