"""Columns whose type at the source is another one, which the lake holds as it held the old one, or wider.

Law: only a choice of the projection can hide it so: by default the two are two types of the lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemaman.history.past_versions import Past
from schemaman.migration.plan import Refusal, Source
from schemaman.migration.policy_checks import blocked_by
from schemaman.migration.projection.match_columns import Talk
from schemaman.migration.properties.stamped_version import stamped
from schemaman.migration.target import Live, Target, column_of
from schemaman.migration.type_mapping import DEFAULT, Representation
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.schema import Column, Path
from schemaman.model.types import (
    Array,
    Decimal,
    Floating,
    Integer,
    Json,
    Map,
    Numeric,
    Struct,
    Type,
    widens,
)

_NUMBERS = (Integer, Decimal, Numeric, Floating)


def say_of_meanings(
    source: Source,
    live: Live,
    target: Target,
    how: Representation,
    partners: Mapping[str, str],
    talk: Talk,
) -> tuple[str, bool]:
    """Why a person has to approve the stamp, which tells the values from then on; and whether it may be set.

    `partners` maps live names to those of the source.
    """
    asked: list[str] = []
    free = True
    for now, ways in _told(source, live, partners):
        hidden = (part for way in ways for part in _hidden((now.name,), *way, now.type, target, how))
        for path, old, new in {part[0]: part for part in hidden}.values():
            change = f"fill {'.'.join(map(quote_name, path))} with {format_type(new)}"
            ruling = talk.judge.rule(change, path, "change-representation")
            reason = (
                f"it was {format_type(old)} at the source and is {format_type(new)}, which the lake holds in "
                "one type, as [[projection]] says: nothing tells the old values from the new ones"
            )
            talk.note(path, f"{reason} ({ruling.why})")
            if ruling.level == "block":
                talk.refusals.append(blocked_by(change, ruling, reason))
                free = False
            elif ruling.level == "quarantine":
                # The rows are set aside for as long as the stamp tells of the type of before.
                free = False
            elif ruling.level == "approve":
                asked.append(f"{change}: {reason} ({ruling.why})")
    return "; ".join(asked), free


Way = tuple[Type | None, tuple[Type, ...]]
"""The type of the lake that a column had values in, and its own, of which the first one counts that fits."""


def _told(source: Source, live: Live, partners: Mapping[str, str]) -> Iterator[tuple[Column, list[Way]]]:
    """Each column that had another type, with what its values may have been by now.

    Up to the version of the table's stamp those that the lake took on, the newest first; since then any, as
    their rows may be on their way.
    """
    standing = stamped(source, live)
    if standing is None:
        return
    here = {there: column_of(live.schema, name) for name, there in partners.items()}
    told = _types(source, reversed(source.past[: standing + 1]))
    since = _types(source, source.past[standing + 1 :])
    for now in source.schema.columns:
        column, before, later = here.get(now.name), told.get(now.name, {}), since.get(now.name, {})
        if column is not None and {*before, *later} - {now.type}:
            stood: list[Way] = [(column.type, tuple(before))] if before else []
            yield now, [*stood, *((None, (type,)) for type in later)]


def _types(source: Source, versions: Iterable[Past]) -> dict[str, dict[Type, None]]:
    """The types that columns had in these versions, in their order, by what the columns are called now."""
    found: dict[str, dict[Type, None]] = {}
    for past in versions:
        for then, name in past.names.items():
            now = source.schema.column(name) if name else None
            if now is not None:
                type = past.type_now(then) if then in past.types else now.type
                found.setdefault(now.name, {})[type] = None
    return found


def _hidden(
    path: Path, there: Type | None, told: Sequence[Type], new: Type, target: Target, how: Representation
) -> Iterator[tuple[Path, Type, Type]]:
    """The parts of a column that are other types of the lake by default, and one type as it is told.

    `there` is the lake's type, None where nothing tells which part that is; of the types that a part had, the
    newest counts that the lake took on: a plan that was made in part may have left one of before.
    """
    held = _held(target, new, how)
    old = told[0]
    match old, new, held:
        case Struct(), Struct(b), Struct():
            for field in b:
                yield from _hidden_in(path, field.name, there, told, field.type, target, how)
        case Array(), Array(b), Array():
            yield from _hidden_in(path, "element", there, told, b, target, how)
        case Map(), Map(k, b), Map():
            yield from _hidden_in(path, "key", there, told, k, target, how)
            yield from _hidden_in(path, "value", there, told, b, target, how)
        case ((Struct() | Array() | Map() | Json()), (Struct() | Array() | Map() | Json()), _):
            return  # a text that tells its own structure
        case _:
            old = next((each for each in told if _took(target, each, how, there)), old)
            numbers = isinstance(old, _NUMBERS) and isinstance(new, _NUMBERS)
            alike = _takes(_held(target, old, DEFAULT), _held(target, new, DEFAULT))
            was = _held(target, old, how)
            # A wider type takes the values of both, whichever of the two it is.
            if not numbers and not alike and (_takes(was, held) or _takes(held, was)):
                yield path, old, new


def _hidden_in(
    path: Path,
    part: str,
    there: Type | None,
    told: Sequence[Type],
    new: Type,
    target: Target,
    how: Representation,
) -> Iterator[tuple[Path, Type, Type]]:
    """The same of one part of a type."""
    were = tuple(type for each in told if (type := _part(each, part)) is not None)
    if were:
        yield from _hidden((*path, part), _part(there, part), were, new, target, how)


def _part(type: Type | None, part: str) -> Type | None:
    """A member of a struct by its name, whose case no lake heeds, or `element`, `key` or `value`."""
    match type:
        case Struct(fields):
            return next((f.type for f in fields if f.name.lower() == part.lower()), None)
        case Array(element) if part == "element":
            return element
        case Map(key, value):
            return {"key": key, "value": value}.get(part)
        case _:
            return None


def _took(target: Target, type: Type, how: Representation, there: Type | None) -> bool:
    """Whether the lake's type took on values of a source's: a number goes where there is room for it."""
    numbers = isinstance(type, _NUMBERS) and isinstance(there, _NUMBERS)
    return numbers or _takes(_held(target, type, how), there)


def _takes(one: Type | None, other: Type | None) -> bool:
    return one is not None and other is not None and widens(one, other)


def _held(target: Target, type: Type, how: Representation) -> Type | None:
    answer = target.hold(type, how)
    return None if isinstance(answer, Refusal) else answer.type
