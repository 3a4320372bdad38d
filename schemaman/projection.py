"""The source as the lake would hold it, under policy and next to what the lake already has.

Law: what the lake cannot tell apart never becomes a difference: after a plan ran, projecting the same
source again gives the live table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.counterparts import TEMPORARY, Counterparts, Talk, blocked, counterparts
from schemaman.ddl import format_type, quote_name
from schemaman.exchanges import retired, under_way
from schemaman.plan import KEY_PROPERTY, Live, Policy, Refusal, Ruled, Source, Target
from schemaman.rulings import Judge, blocked_by
from schemaman.schema import Column, TableSchema
from schemaman.types import Array, Decimal, Field, Integer, Map, Struct, Type, widens

_REKEY = (
    "schemaman plan TABLE --recipe gives the rows the new key where no two of them have the same one; else "
    "build a new table with the new key and fill it from a snapshot"
)
_OUT = "leave the column out, or rename it at the source"
_MAX_DIGITS = 38
_GUESSED = "its structure is inferred from values, which promise nothing of the next one"
_IMPOSSIBLE = "the newest structure is none that this table can have got, and no event has shown it"
_WAIT = "look at `schemaman history`, and plan again when events carry the new columns"
_TELL = "read events that carry their schemas (schemas.enable=true, or a registry)"


@dataclass(frozen=True, slots=True)
class Projection:
    """The table that the lake should hold; `renames` maps live names to wanted ones.

    `retired` are columns that left and get out of the way of others: their new names, and the old ones.
    `settled`: its names are then all those of the source, so the table may be stamped with the version.
    """

    wanted: TableSchema
    renames: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    settled: bool = True
    rulings: tuple[Ruled, ...] = ()
    retired: Mapping[str, str] = field(default_factory=dict)


def project(
    source: Source, live: Live | None, target: Target, policy: Policy, target_name: str = ""
) -> Projection:
    """The wanted table in the target's own alphabet, with what is to be said about it.

    A live table keeps its columns, their order and every type that is wide enough; the source adds, widens
    and renames. A change stream cannot promise values, so only key columns of a new table are NOT NULL.
    """
    if source.inferred or source.phantom:
        now = live.schema if live else TableSchema(())
        why, instead = (_GUESSED, _TELL) if source.inferred else (_IMPOSSIBLE, _WAIT)
        return Projection(now, {}, (), (Refusal(f"follow {source.table}", why, instead),), settled=False)
    talk = Talk(Judge(policy, source.table, (target_name or target.name, target.name)))
    comments = talk.judge.ask("change-comment").level != "ignore"
    held = _held(source.schema, target, talk, live.schema if live else TableSchema(()))
    if live is None:
        created = _created(source.schema, held, comments)
        return Projection(created, {}, tuple(talk.notes), tuple(talk.refusals))
    barred = blocked(source, live)
    if barred:
        return Projection(live.schema, {}, (), barred, settled=False)
    match = counterparts(source, live, held, talk)
    known = {name for past in source.past for name in past.names}
    known |= {former for names in source.former_names.values() for former in names} | retired(live).keys()
    exchanged = {e.new: e.column for e in under_way(live)}
    raw = {c.name: c for c in source.schema.columns}
    columns: list[Column] = []
    for column in live.schema.columns:
        name = match.partners.get(column.name)
        if column.name in match.away:
            columns.append(_moved_away(column, match.away[column.name], talk))
        elif column.name in exchanged:
            talk.note((column.name,), f"it is to take the place of {quote_name(exchanged[column.name])}")
            columns.append(column)
        elif column.name in match.frozen or (name is not None and name not in held):
            columns.append(column)
        elif name is None:
            columns += _left(column, column.name in known, talk)
        else:
            columns.append(_followed(column, raw[name], held[name], match.renames, comments, talk))
    taken = {name.lower() for name in (*(c.name for c in columns), *match.absent)}
    columns += [
        replace(_plain(raw[name], type, comments), nullable=True)
        for name, type in held.items()
        if name.lower() not in taken
    ]
    key = _key(source, live, match, talk)
    comment = (source.schema.comment if comments else None) or live.schema.comment
    wanted = TableSchema(tuple(columns), key, comment)
    return Projection(
        wanted,
        match.renames,
        tuple(talk.notes),
        tuple(talk.refusals),
        match.settled,
        tuple(talk.judge.rulings),
        {new: old for old, new in match.away.items()},
    )


def _moved_away(live: Column, name: str, talk: Talk) -> Column:
    text = f"the source made another column of this name: the old one gets the name {quote_name(name)}"
    talk.note((live.name,), text)
    return replace(live, name=name, nullable=True)


def key_is_known(live: Live) -> bool:
    """Whether a live table tells its key, be it an empty one."""
    return KEY_PROPERTY in live.properties or bool(live.schema.key)


def _held(schema: TableSchema, target: Target, talk: Talk, live: TableSchema) -> dict[str, Type]:
    """Each column that the target can hold, and how. What the lake has already may stand against a name."""
    spelled = {name.lower() for name in schema.names}
    beside = [column for column in live.columns if column.name.lower() not in spelled]
    together = replace(schema, columns=(*schema.columns, *beside))
    barred = {name: why for name, why in target.refuse(together).items() if name in schema.names}
    refused = {**unusable_names(schema), **barred}
    talk.refusals += refused.values()
    held: dict[str, Type] = {}
    for column in schema.columns:
        if column.name in refused:
            continue
        match target.hold(column.type):
            case Refusal(_, reason, instead):
                talk.refuse(f"hold {quote_name(column.name)}", reason, instead)
            case answer:
                held[column.name] = answer.type
                if answer.note:
                    talk.note((column.name,), answer.note)
    return held


def unusable_names(schema: TableSchema) -> dict[str, Refusal]:
    """The columns that no Spark table can call by their names."""
    spellings = Counter(name.lower() for name in schema.names)
    refused: dict[str, Refusal] = {}
    for name in schema.names:
        change = f"name a column {quote_name(name)}"
        if not name:
            refused[name] = Refusal(change, "a column without a name cannot be read", _OUT)
        elif spellings[name.lower()] > 1:
            refused[name] = Refusal(
                change, "another column differs from it only by case, which Spark ignores", _OUT
            )
        elif "${" in name:
            refused[name] = Refusal(change, "Spark would take ${…} for a variable inside any statement", _OUT)
        elif name.startswith(TEMPORARY):
            refused[name] = Refusal(change, f"names that begin with {TEMPORARY} are schemaman's own", _OUT)
    return refused


def _created(schema: TableSchema, held: Mapping[str, Type], comments: bool) -> TableSchema:
    columns = tuple(
        replace(_plain(c, held[c.name], comments), nullable=c.nullable or c.name not in schema.key)
        for c in schema.columns
        if c.name in held
    )
    key = schema.key if all(name in held for name in schema.key) else ()
    return TableSchema(columns, key, (schema.comment or None) if comments else None)


def _plain(column: Column, type: Type, comments: bool) -> Column:
    """The column without what only a source knows: default, spelling, wire name and id."""
    told = type if comments else _without_comments(type)
    return Column(
        column.name, told, column.nullable, comment=(column.comment or None) if comments else None
    )


def _without_comments(type: Type) -> Type:
    match type:
        case Array(element, nullable):
            return Array(_without_comments(element), nullable)
        case Map(key, value, nullable):
            return Map(_without_comments(key), _without_comments(value), nullable)
        case Struct(fields):
            return Struct(tuple(replace(f, type=_without_comments(f.type), comment=None) for f in fields))
        case _:
            return type


def _followed(
    live: Column, raw: Column, held: Type, renames: Mapping[str, str], comments: bool, talk: Talk
) -> Column:
    """A live column that the source still has."""
    comment = (raw.comment if comments else None) or live.comment
    return Column(
        renames.get(live.name, live.name),
        _merged((raw.name,), live.type, held, raw.type, comments, talk),
        live.nullable or raw.nullable,
        comment=comment,
    )


def _left(live: Column, known: bool, talk: Talk) -> list[Column]:
    """A live column that the source does not have: it left, or it was never of the source."""
    path = (live.name,)
    if not known:
        blocked = "" if live.nullable else "; it is NOT NULL, so writers that do not know it will fail"
        talk.note(path, f"the source never had it: it stays as it is{blocked}")
        return [live]
    if talk.judge.ask("drop-column").level in ("auto", "approve"):
        return []
    change = f"drop {quote_name(live.name)}"
    ruling = talk.judge.rule(change, path, "drop-column")
    if ruling.level == "block":
        talk.refusals.append(blocked_by(change, ruling))
        return [live]
    talk.note(path, f"the source has dropped it: it stays with its old values ({ruling.why})")
    return [replace(live, nullable=True)]


def _merged(path: tuple[str, ...], live: Type, held: Type, raw: Type, comments: bool, talk: Talk) -> Type:
    """The type that takes the values of both sides: the live one wherever it is wide enough."""
    match live, held, raw:
        case Struct(old), Struct(new), Struct(told):
            return _merged_struct(path, old, new, told, comments, talk)
        case Array(old, nullable), Array(new, _), Array(told, told_null):
            inner = _merged((*path, "element"), old, new, told, comments, talk)
            return Array(inner, nullable or told_null)
        case Map(key, old, nullable), Map(new_key, new, _), Map(told_key, told, told_null):
            merged_key = _merged((*path, "key"), key, new_key, told_key, comments, talk)
            return Map(
                merged_key, _merged((*path, "value"), old, new, told, comments, talk), nullable or told_null
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
        type = _merged((*path, old.name), old.type, new.type, told.type, comments, talk)
        comment = (new.comment if comments else None) or old.comment
        fields.append(Field(old.name, type, old.nullable or told.nullable, comment))
    for new, _ in news.values():
        comment = (new.comment or None) if comments else None
        type = new.type if comments else _without_comments(new.type)
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
    return Decimal(before + behind, behind) if before + behind <= _MAX_DIGITS else None


def _digits(type: Type) -> tuple[int, int] | None:
    """Digits before and behind the point; integers as wide as Delta asks for when one becomes a DECIMAL."""
    match type:
        case Decimal(precision, scale):
            return precision - scale, scale
        case Integer(bits):
            return (20 if bits == 64 else 10), 0
        case _:
            return None


def _key(source: Source, live: Live, match: Counterparts, talk: Talk) -> tuple[str, ...]:
    """The key of the live table under its new names; another one in the source needs a person."""
    spelled = {there: match.renames.get(here, here) for here, there in match.partners.items()}
    wanted = tuple(spelled.get(name, name) for name in source.schema.key)
    if not key_is_known(live):
        return wanted
    here = tuple(match.renames.get(name, name) for name in live.schema.key)
    undecided = match.frozen & set(live.schema.key)
    if wanted != here and not undecided:
        change = f"change the key from ({', '.join(live.schema.key)}) to ({', '.join(source.schema.key)})"
        ruling = talk.judge.rule(change, (), "change-key")
        reason = "the rows of the table were merged by the old key"
        if ruling.level in ("ignore", "quarantine"):
            talk.notes.append(f"{change}: not done, {reason} ({ruling.why})")
        else:
            talk.refuse(change, f"{reason} ({ruling.why})", _REKEY)
    return here
