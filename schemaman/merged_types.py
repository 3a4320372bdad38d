"""The type that takes the values of a lake column and those of its source: never a narrower one.

Law: where the live type holds the source's values, it is the merged one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schemaman.counterparts import Talk
from schemaman.ddl import format_type, quote_name
from schemaman.representation import MAX_DIGITS
from schemaman.rulings import blocked_by
from schemaman.types import Array, Decimal, Field, Integer, Map, Struct, Type, widens


def without_comments(type: Type) -> Type:
    """The type without the comments on its members."""
    match type:
        case Array(element, nullable):
            return Array(without_comments(element), nullable)
        case Map(key, value, nullable):
            return Map(without_comments(key), without_comments(value), nullable)
        case Struct(fields):
            return Struct(tuple(replace(f, type=without_comments(f.type), comment=None) for f in fields))
        case _:
            return type


def merged_type(path: tuple[str, ...], live: Type, held: Type, raw: Type, comments: bool, talk: Talk) -> Type:
    """The type that takes the values of both sides: the live one wherever it is wide enough."""
    match live, held, raw:
        case Struct(old), Struct(new), Struct(told):
            return _merged_struct(path, old, new, told, comments, talk)
        case Array(old, nullable), Array(new, _), Array(told, told_null):
            inner = merged_type((*path, "element"), old, new, told, comments, talk)
            return Array(inner, nullable or told_null)
        case Map(key, old, nullable), Map(new_key, new, _), Map(told_key, told, told_null):
            merged_key = merged_type((*path, "key"), key, new_key, told_key, comments, talk)
            return Map(
                merged_key,
                merged_type((*path, "value"), old, new, told, comments, talk),
                nullable or told_null,
            )
        case _:
            return _leaf(path, live, held, raw, talk)


def _merged_struct(
    path: tuple[str, ...],
    live: Sequence[Field],
    held: Sequence[Field],
    raw: Sequence[Field],
    comments: bool,
    talk: Talk,
) -> Struct:
    news = {f.name.lower(): (f, r) for f, r in zip(held, raw, strict=True)}
    fields: list[Field] = []
    for old in live:
        if old.name.lower() not in news:
            talk.note((*path, old.name), "the source does not have it: it stays")
            fields.append(old)
            continue
        new, told = news.pop(old.name.lower())
        type = merged_type((*path, old.name), old.type, new.type, told.type, comments, talk)
        comment = (new.comment if comments else None) or old.comment
        fields.append(Field(old.name, type, old.nullable or told.nullable, comment))
    for new, _ in news.values():
        comment = (new.comment or None) if comments else None
        type = new.type if comments else without_comments(new.type)
        fields.append(Field(new.name, type, True, comment))
    return Struct(tuple(fields))


def _leaf(path: tuple[str, ...], live: Type, held: Type, raw: Type, talk: Talk) -> Type:
    if held == live:
        return live
    if widens(held, live) or widens(raw, live):
        _kept_wide(path, live, raw, talk)
        return live
    joined = _joined(live, held)
    if joined is None:
        return held
    if joined != held:
        talk.note(path, f"{format_type(joined)} holds the old values and those of {format_type(raw)}")
    return joined


def _kept_wide(path: tuple[str, ...], live: Type, raw: Type, talk: Talk) -> None:
    change = f"narrow {'.'.join(quote_name(p) for p in path)} to {format_type(raw)}"
    ruling = talk.judge.rule(change, path, "narrow")
    if ruling.level == "block":
        talk.refusals.append(blocked_by(change, ruling))
    else:
        says = f"the source says {format_type(raw)}: the lake keeps {format_type(live)}"
        talk.note(path, f"{says}, which is wide enough")


def _joined(live: Type, held: Type) -> Type | None:
    """The narrowest DECIMAL for the values of both; None if one of them is no exact number."""
    digits = [_digits(live), _digits(held)]
    sides = [d for d in digits if d is not None]
    if len(sides) < 2 or not isinstance(held, Decimal):
        return None
    before, behind = max(s[0] for s in sides), max(s[1] for s in sides)
    return Decimal(before + behind, behind) if before + behind <= MAX_DIGITS else None


def _digits(type: Type) -> tuple[int, int] | None:
    """Digits before and behind the point; integers as wide as Delta asks for when one becomes a DECIMAL."""
    match type:
        case Decimal(precision, scale):
            return precision - scale, scale
        case Integer(bits):
            return (20 if bits == 64 else 10), 0
        case _:
            return None
