"""A change of a source row in the words of the lake table that follows: columns by id, types, key.

Law: a value is written exactly or its row is set aside with the reason; nothing is rounded, cut or left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from schemaman.debezium.observation import STATEMENTS
from schemaman.debezium.records import PositionKind, Rank
from schemaman.history.versions import SchemaVersion, TableHistory, made_anew
from schemaman.migration.projection.column_names import lake_names
from schemaman.migration.projection.metadata_columns import metadata_told
from schemaman.migration.row_columns import (
    OFFSET,
    OP,
    ORDER,
    PARTITION,
    STREAM,
    TOPIC,
    row_columns,
)
from schemaman.migration.target import Live
from schemaman.model.schema import Column, TableSchema
from schemaman.sink.column_mapping import places
from schemaman.sink.field_mapping import member_places
from schemaman.sink.progress import PLACE
from schemaman.sink.row_change import Row, RowChange
from schemaman.sink.upsert import LakeChange
from schemaman.sink.values.struct_values import Renaming
from schemaman.sink.values.to_lake import fit
from schemaman.sink.values.values import Unfit, UnfitValue

_NO_PLACE = "the source has dropped this column, and the lake has no place for its values"
_UNCLEAR = "the lake has a column of this name, and nothing tells which one of the source's it is"
_ANEW = (
    "{} were all made anew, or exchanged their names: say of each what it became (`schemaman decide rename`, "
    "its own name for one that stayed); or that they are all others, with reuse-name = auto in the policy"
)
_UNPLACED = (
    "the record tells no place, and nobody can tell which rows of its partition came before it. If it is a "
    "delete, delete its row by hand where it is there still"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RowMap:
    """How the columns of a lake table and of the versions of its source belong together.

    `columns` are the table's without those that remember positions; `names` maps ids of source columns to
    them; `homeless` says of columns that left, by id, why their values are not left out where the lake has no
    place for them; `lives` maps each version's number to the incarnation that it is of, `life` is the one
    followed. `called` maps names of the newest version to the lake's where they differ, to an empty one where
    it has none; `beside` maps roles to the metadata columns for them. `members` has columns of which members
    are called otherwise in the lake, by a version's number and their name in it.
    `left` are the columns of the table that the newest version has no more, or may not have: rows from behind
    it lack them.
    """

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    names: Mapping[int, str]
    homeless: Mapping[int, str]
    lives: Mapping[int, int]
    life: int
    called: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[tuple[int, str], Renaming] = field(default_factory=dict)
    left: frozenset[str] = frozenset()

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key columns, in key order."""
        return tuple(c for name in self.key for c in self.columns if c.name == name)


@dataclass(frozen=True, slots=True)
class Ended:
    """A row of an earlier life of the table: it went when its table was dropped."""


def row_map(
    told: TableHistory, live: Live, joined: TableHistory | None = None, *, drops: bool = False
) -> RowMap:
    """How the rows of a table's history find their place in a live table that was brought up to date.

    `joined` is that history with more renames taken for such: rows are read by the ids of `told`. `drops`:
    the policy lets the lake drop what the source has dropped, so such values may be left out.
    """
    history = told if joined is None else joined
    newest = history.latest
    beside = metadata_told(live)
    own = {c.name for c in row_columns(live.schema.key)}
    columns = tuple(c for c in live.schema.columns if c.name not in own)
    sourced = replace(live, schema=TableSchema(tuple(c for c in columns if c.name not in beside.values())))
    placed = places(sourced, history)
    lives = {v.number: v.incarnation for v in history.versions}
    alike = lake_names(newest.schema, sourced)
    now = {
        c.name: alike.get(c.name, "") if c.id is None else placed.names.get(c.id, "")
        for c in newest.schema.columns
    }
    called = {name: here for name, here in now.items() if name != here}
    key, life = live.schema.key, newest.incarnation
    same = _same_columns(told, history)
    names = {id: placed.names[now] for id, now in same.items() if now in placed.names}
    asked = undecided(history)
    present = {c.id for c in newest.schema.columns}
    homeless = {} if drops else {id: _NO_PLACE for id, now in same.items() if now not in present}
    homeless |= {id: asked[now] for id, now in same.items() if now in asked}
    unclear = {c.id for c in newest.schema.columns if c.name.lower() in placed.unclear}
    homeless |= {id: _UNCLEAR for id, now in same.items() if now in unclear and id not in names}
    types = {c.name: c.type for c in columns}
    placed_types = {id: types[n] for id, n in names.items() if n in types}
    moved = dict(member_places(told, history, sourced, placed_types))
    missing = _missing(history)
    there = {here for name, here in now.items() if name not in missing}
    left = frozenset(c.name for c in columns).difference(there, beside.values())
    return RowMap(columns, key, names, homeless, lives, life, called, beside, moved, left)


def _missing(history: TableHistory) -> frozenset[str]:
    """Columns of the newest version that rows lack which stand behind all that show it.

    They are of an older version: that these columns left was told in a record that is not read yet.
    """
    newest = history.latest
    life = [v for v in history.versions[:-1] if v.incarnation == newest.incarnation]
    kind = newest.at.position.kind
    shown = max(_shown(newest, kind), newest.at.position.rank)
    later = [v for v in life if _shown(v, kind) > shown]
    borne = [{c.id for c in v.schema.columns} for v in later]
    return frozenset(c.name for c in newest.schema.columns if any(c.id not in ids for ids in borne))


def _shown(version: SchemaVersion, kind: PositionKind) -> Rank:
    """The place of the last row of a version, among places of a kind; empty if none has one."""
    rows = (e for e in version.evidence if e.witness not in STATEMENTS)
    places = (mark.position for e in rows for mark in e.marks)
    return max((place.rank for place in places if place.kind == kind), default=())


def _same_columns(told: TableHistory, joined: TableHistory) -> dict[int, int]:
    """Each id of a column in a history, and what it is in the one where renames have been taken for such."""
    pairs = zip(told.versions, joined.versions, strict=True)
    columns = (zip(v.schema.columns, w.schema.columns, strict=True) for v, w in pairs)
    return {c.id: d.id for found in columns for c, d in found if c.id is not None and d.id is not None}


def undecided(history: TableHistory, *, reused: bool = False) -> dict[int, str]:
    """Columns that left, each by its id, and why it may be a present one: nobody has said that it is not.

    `reused`: names that came back mean other columns.
    """
    now = {c.id: c.name for c in history.latest.schema.columns if c.id is not None}
    reach, found = dict(now), dict[int, str]()
    for before, after in reversed(list(pairwise(history.versions))):
        for old, new, why in _asked(before, after, reused=reused):
            if old not in now and new in reach:
                reach.setdefault(old, reach[new])
                found.setdefault(old, why or f"rename not decided: it may have become {reach[new]}")
    return found


def _asked(before: SchemaVersion, after: SchemaVersion, *, reused: bool) -> Iterator[tuple[int, int, str]]:
    """Columns of a version, each with one of the next one that it may be, and why if that is not a rename."""
    pairs = [(candidate.old, candidate.new, "") for candidate in after.candidates]
    gone, came = made_anew(before, after)
    names = sorted({*gone, *came})
    if len(names) > 1 and not reused:
        pairs += [(old, new, _ANEW.format(", ".join(names))) for old in gone for new in came]
    for name, other, why in pairs:
        old, new = before.schema.column(name), after.schema.column(other)
        if old is not None and new is not None and old.id is not None and new.id is not None:
            yield old.id, new.id, why


def lake_change(change: RowChange, to: RowMap) -> LakeChange | Ended | Unfit:
    """The change in the words of the lake table. Truncates are no changes of rows."""
    if change.doubt == PLACE and to.key:
        return Unfit(to.key[0], _UNPLACED)
    if change.version is not None and to.lives.get(change.version, to.life) != to.life:
        return Ended()
    place = (change.place.topic, change.place.partition, change.place.offset)
    image = change.before if change.op == "d" else change.after
    if change.op == "d" and not to.key:
        lacking = next((c for c in change.unread.items() if _is_wanted(c[0], change, to)), None)
        if lacking is not None:
            return Unfit(*lacking)
    # Of a row that is gone only the key is written.
    told = {} if change.op == "d" and to.key else _values(image or {}, change, to)
    if isinstance(told, Unfit):
        return told
    unavailable = frozenset(n for n in (_name(u, change, to) for u in change.unavailable) if n)
    if not to.key:
        if unavailable:
            return Unfit(min(unavailable), "the value was not sent, and a table without a key has no old row")
        return LakeChange(change.op, change.order, place, told | _record(change) | _beside(change, to))
    key = _key(change, told, to)
    if isinstance(key, Unfit):
        return key
    values = key if change.op == "d" else told | key
    values = {**values, **_beside(change, to)}
    return LakeChange(change.op, change.order, place, values, unavailable - key.keys(), change.again)


def key_told(change: RowChange, to: RowMap) -> dict[str, object] | None:
    """The table's key as a record tells it that cannot be written; None if it does not, or there is none."""
    key = _key(change, {}, to) if to.key else None
    return None if isinstance(key, Unfit) else key


def _beside(change: RowChange, to: RowMap) -> dict[str, object]:
    """What the metadata columns of the table hold for a change."""
    place, ms = change.place, change.ts_ms
    values = {
        "op": change.op,
        "ts": None if ms is None else _EPOCH + timedelta(milliseconds=ms),
        "deleted": change.op == "d",
        "position": change.order,
        "stream": place.stream,
        "topic": place.topic,
        "partition": place.partition,
        "offset": place.offset,
    }
    return {name: values[role] for role, name in to.beside.items() if role in values}


def emptied(change: RowChange, to: RowMap) -> dict[str, object]:
    """What the metadata columns hold of rows that a TRUNCATE ends."""
    return {**_beside(change, to), **({to.beside["deleted"]: True} if "deleted" in to.beside else {})}


def _record(change: RowChange) -> dict[str, object]:
    place = change.place
    return {
        ORDER: change.order,
        OP: change.op,
        STREAM: place.stream,
        TOPIC: place.topic,
        PARTITION: place.partition,
        OFFSET: place.offset,
    }


def _key(change: RowChange, told: Mapping[str, object], to: RowMap) -> dict[str, object] | Unfit:
    """The table's key as the record tells it, by its own key, else by an image that can be trusted for it."""
    then = {_name(name, change, to) or name for name in change.schema.key}
    if then and then != set(to.key):
        told_by = f"({', '.join(change.schema.key)}), and the table's is ({', '.join(to.key)})"
        return Unfit(to.key[0], f"the row was written when the key was {told_by}")
    own = _values(change.key or {}, change, to)
    if isinstance(own, Unfit):
        return own
    if all(own.get(name) is not None for name in to.key):
        return {name: own[name] for name in to.key}
    missing = [name for name in to.key if name not in own]
    if not missing:
        return {name: own[name] for name in to.key}
    if change.op != "d" and all(name in told for name in to.key) and _key_stayed(change, told, to):
        return {name: told[name] for name in to.key}
    record = ", ".join(change.key or ()) or "none"
    wanted = ", ".join(to.key)
    return Unfit(missing[0], f"the record's key ({record}) does not tell the key of the table ({wanted})")


def _key_stayed(change: RowChange, told: Mapping[str, object], to: RowMap) -> bool:
    """Whether an update left the key as it was: PostgreSQL sends the old row only where the key changed.

    Source: PostgreSQL "Logical Replication Message Formats", Update: the old tuple is there if the replica
    identity changed, or is FULL.
    """
    if change.op != "u" or change.before is None:
        return True
    before = _values(change.before, change, to)
    return not isinstance(before, Unfit) and all(before.get(n) == told.get(n) for n in to.key)


def _values(row: Row, change: RowChange, to: RowMap) -> dict[str, object] | Unfit:
    """The values of a row by columns of the lake; what the policy keeps out of the lake is left out."""
    types = {c.name: c.type for c in to.columns}
    found: dict[str, object] = {}
    for name, value in row.items():
        here = _name(name, change, to)
        column = change.schema.column(name)
        if here is None or column is None:
            why = to.homeless.get(column.id) if column and column.id is not None else None
            if why is not None and value is not None:
                return Unfit(name, why)
            continue
        moved = None if change.version is None else to.members.get((change.version, name))
        try:
            value = value if moved is None else moved.value(value)
        except UnfitValue as reason:
            return Unfit(name, str(reason))
        held = fit(value, column.type if moved is None else moved.type, types[here], name)
        if isinstance(held, Unfit):
            return held
        found[here] = held
    return found


def _name(name: str, change: RowChange, to: RowMap) -> str | None:
    """The lake's name of a column of the record's version."""
    column = change.schema.column(name)
    if column is None:
        return None
    if column.id is not None and change.version is not None:
        return to.names.get(column.id)
    if name in to.called:
        return to.called[name] or None
    others = {*to.called.values(), *to.beside.values()}
    alike = (c.name for c in to.columns if c.name.lower() == name.lower() and c.name not in others)
    return next(alike, None)


def _is_wanted(name: str, change: RowChange, to: RowMap) -> bool:
    """Whether a value of a column would be written, or could not be left out."""
    column = change.schema.column(name)
    kept = column is not None and column.id is not None and column.id in to.homeless
    return kept or _name(name, change, to) is not None


def unplaced(change: RowChange, to: RowMap) -> Iterable[str]:
    """The columns of a record that have no place in the lake table."""
    return (c.name for c in change.schema.columns if _name(c.name, change, to) is None)
