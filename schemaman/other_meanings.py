"""Columns whose type at the source is another one, which the lake holds as it held the old one, or wider.

Law: only a choice of the projection can hide it so: by default the two are two types of the lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schemaman.counterparts import Talk
from schemaman.ddl import format_type, quote_name
from schemaman.plan import Live, Refusal, Source, Target
from schemaman.representation import DEFAULT, Representation
from schemaman.rulings import blocked_by
from schemaman.schema import Path
from schemaman.stamp_meaning import stamped
from schemaman.types import Array, Decimal, Floating, Integer, Json, Map, Numeric, Struct, Type, widens

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
    standing = stamped(source, live)
    was = source.past[standing] if standing is not None else None
    asked: list[str] = []
    free = True
    for then in was.types if was else ():
        now = source.schema.column(was.names.get(then) or "") if was else None
        if was is None or now is None or now.name not in partners.values():
            continue
        told = was.type_now(then)
        for path, old, new in _hidden((now.name,), told, now.type, target, how):
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


def _hidden(
    path: Path, old: Type, new: Type, target: Target, how: Representation
) -> Iterator[tuple[Path, Type, Type]]:
    """The parts of a column that are other types of the lake by default, and one type as it is told."""
    held = _held(target, new, how)
    match old, new, held:
        case Struct(a), Struct(b), Struct():
            were = {field.name: field.type for field in a}
            for field in b:
                if field.name in were:
                    yield from _hidden((*path, field.name), were[field.name], field.type, target, how)
        case Array(a), Array(b), Array():
            yield from _hidden((*path, "element"), a, b, target, how)
        case Map(_, a), Map(_, b), Map():
            yield from _hidden((*path, "value"), a, b, target, how)
        case ((Struct() | Array() | Map() | Json()), (Struct() | Array() | Map() | Json()), _):
            return  # a text that tells its own structure
        case _:
            numbers = isinstance(old, _NUMBERS) and isinstance(new, _NUMBERS)
            alike = _takes(_held(target, old, DEFAULT), _held(target, new, DEFAULT))
            was = _held(target, old, how)
            # A wider type takes the values of both, whichever of the two it is.
            if not numbers and not alike and (_takes(was, held) or _takes(held, was)):
                yield path, old, new


def _takes(one: Type | None, other: Type | None) -> bool:
    return one is not None and other is not None and widens(one, other)


def _held(target: Target, type: Type, how: Representation) -> Type | None:
    answer = target.hold(type, how)
    return None if isinstance(answer, Refusal) else answer.type
