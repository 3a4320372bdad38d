"""Members of structs through the versions of a table: which left, which came, which a person calls one.

Nobody gives a member an id: its name is all that it is known by. One that went and came back is the same, and
one that may have another's values is a question for people, as with columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from schemaman.past import Became
from schemaman.plan import Source
from schemaman.renames import candidates
from schemaman.schema import Column, Path, TableSchema, quote_part, walk
from schemaman.types import Array, Field, Map, Struct, Type
from schemaman.versions import MemberAnswer, SchemaVersion

Fields = tuple[Field, ...]
Ids = Mapping[int | None, int | None]
_Fate = tuple[Path | None, bool]
"""Where a member is (None: it left), and whether that is sure."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a member that a live table has; `exact`: the table stands where it was still there.

    `young`: it came after the table's stamp, by a plan that was made in part; `maybe`: as any of these.
    """

    became: Became
    exact: bool
    maybe: tuple[str, ...] = ()
    young: bool = False


@dataclass(frozen=True, slots=True)
class _Pair:
    """A struct before and after a step, and where; `partners` are members that are on both sides."""

    here: Path
    there: Path
    old: Fields
    new: Fields
    partners: Mapping[str, Field]

    @property
    def went(self) -> Fields:
        return tuple(f for f in self.old if f.name not in self.partners)

    @property
    def came(self) -> Fields:
        taken = {f.name for f in self.partners.values()}
        return tuple(f for f in self.new if f.name not in taken)


def path_text(path: Path) -> str:
    """A member as decisions name it: `address.street`, `lines.element.qty`."""
    return ".".join(quote_part(part) for part in path)


def exchanged(before: TableSchema, after: TableSchema) -> Mapping[tuple[str, str], tuple[Path, Path]]:
    """Each pair of a member that went and one that came into the same struct, by how decisions name them."""
    found: dict[tuple[str, str], tuple[Path, Path]] = {}
    for column in before.columns:
        same = (c for c in after.columns if c.id == column.id and (c.id is not None or c.name == column.name))
        for other in same:
            for pair in _structs(column.type, other.type, (column.name,), (other.name,), ()):
                for a, b in ((a, b) for a in pair.went for b in pair.came):
                    old, new = (*pair.here, a.name), (*pair.there, b.name)
                    found[path_text(old), path_text(new)] = old, new
    return found


def became(versions: Sequence[SchemaVersion], ids: Ids) -> list[dict[Path, Became]]:
    """For each version what became of its members that are no more what they were; see `Past.members`.

    One that is what it was is told of where another version's member of that name is not.

    `ids` maps ids of columns to that which the same column had before, where a person said so.
    """
    newest = versions[-1].schema
    now = {ids.get(c.id, c.id): c for c in newest.columns if isinstance(c.type, Array | Map | Struct)}
    told: list[dict[Path, Became]] = [{} for _ in versions]
    for id, column in now.items():
        stands = {(column.name, *path[1:]) for path, _, _ in walk(TableSchema((column,)))}
        after: dict[Path, _Fate] = {}
        for at in reversed(range(len(versions) - 1)):
            before, next = (_column(v, id, ids) for v in versions[at : at + 2])
            if before is None or next is None:
                break
            after = {
                path: _later(after, *fate) for path, fate in _step(before, next, versions[at + 1].members)
            }
            told[at] |= _changed(after, column, stands)
    changed = {path for each in told for path in each}
    for version, found in zip(versions, told, strict=True):
        found |= {path: Became(path[-1]) for path in _paths(version, now, ids) & changed - found.keys()}
    return told


def fates(source: Source, standing: int | None) -> Mapping[Path, Fate]:
    """What became of the members of a live table; `standing`: the past version that its stamp means."""
    found: dict[Path, Fate] = {}
    if standing is not None:
        younger = _since(source, standing)
        found = {path: Fate(now, True) for path, now in source.past[standing].members.items()}
        # One that left, and whose name came back: a plan that was made in part may have filled it since.
        back = {path for path in found.keys() & younger.keys() if found[path].became.name is None}
        back = {path for path in back if _names(younger[path])}
        found = younger | {path: fate for path, fate in found.items() if path not in back}
        found |= {path: Fate(Became(None), False, _names(younger[path])) for path in back}
    earlier = source.past if standing is None else source.past[:standing]
    for past in reversed(earlier):
        for path, now in past.members.items():
            if now == Became(path[-1]):
                continue
            # What a stamped table still has of earlier times is what an earlier plan kept.
            told = now if standing is None else Became(None)
            found.setdefault(path, Fate(told, False))
    return found


def _names(fate: Fate) -> tuple[str, ...]:
    """What a member may be called now."""
    return fate.maybe or ((fate.became.name,) if fate.became.name is not None else ())


def _since(source: Source, standing: int) -> dict[Path, Fate]:
    """What became of members that are younger than the stamp: of plans that were made in part."""
    meant: dict[Path, dict[Became, None]] = {}
    for past in source.past[standing + 1 :]:
        for path, now in past.members.items():
            meant.setdefault(path, {})[now] = None
    return {
        path: Fate(next(iter(all)), False, young=True)
        if len(all) == 1
        else Fate(Became(None), False, tuple(now.name for now in all if now.name is not None))
        for path, all in meant.items()
    }


def _structs(
    old: Type, new: Type, here: Path, there: Path, answers: Sequence[MemberAnswer]
) -> Iterator[_Pair]:
    match old, new:
        case Struct(a), Struct(b):
            pair = _Pair(here, there, a, b, _partners(a, b, here, there, answers))
            yield pair
            for field in a:
                other = pair.partners.get(field.name)
                if other is not None:
                    inner = (*here, field.name), (*there, other.name)
                    yield from _structs(field.type, other.type, *inner, answers)
        case Array(a), Array(b):
            yield from _structs(a, b, (*here, "element"), (*there, "element"), answers)
        case Map(key, a), Map(other_key, b):
            yield from _structs(key, other_key, (*here, "key"), (*there, "key"), answers)
            yield from _structs(a, b, (*here, "value"), (*there, "value"), answers)
        case _:
            return


def _partners(
    old: Fields, new: Fields, here: Path, there: Path, answers: Sequence[MemberAnswer]
) -> dict[str, Field]:
    told = {a.old[-1]: a.new[-1] for a in answers if a.same and (a.old[:-1], a.new[:-1]) == (here, there)}
    names = {f.name.lower(): f for f in new}
    own = {name: f for name, f in names.items() if f.name not in told.values()}
    found = {f.name: own[f.name.lower()] for f in old if f.name not in told and f.name.lower() in own}
    return found | {a: names[b.lower()] for a, b in told.items() if b.lower() in names}


def _step(before: Column, after: Column, answers: Sequence[MemberAnswer]) -> Iterator[tuple[Path, _Fate]]:
    """Where each member of a column is after one step."""
    for pair in _structs(before.type, after.type, (before.name,), (after.name,), answers):
        asked = _asked(pair, answers)
        for field in pair.old:
            partner, maybe = pair.partners.get(field.name), asked.get(field.name)
            name = partner.name if partner else maybe
            yield (*pair.here, field.name), (None if name is None else (*pair.there, name), maybe is None)


def _asked(pair: _Pair, answers: Sequence[MemberAnswer]) -> dict[str, str]:
    """Members that went, each with one that came and may be it; nobody can be asked inside a renamed one."""
    if pair.here[1:] != pair.there[1:]:
        return {}
    answered = {(a.old, a.new) for a in answers}
    old, new = (TableSchema(tuple(map(_as_column, fields))) for fields in (pair.went, pair.came))
    return {
        c.old: c.new
        for c in candidates(old, new, append_only=False)
        if ((*pair.here, c.old), (*pair.there, c.new)) not in answered
    }


def _as_column(field: Field) -> Column:
    return Column(field.name, field.type, field.nullable, comment=field.comment)


def _later(after: Mapping[Path, _Fate], path: Path | None, sure: bool) -> _Fate:
    """Where a member is in the end that was at `path` one step later."""
    if path is None:
        return None, True
    end, certain = after.get(path, (path, True))
    return end, end is None or (sure and certain)


def _changed(
    fates: Mapping[Path, _Fate], now: Column, stands: set[Path]
) -> Iterator[tuple[Path, Became]]:
    """The members whose name says no more what they are."""
    for path, (end, sure) in fates.items():
        parent = _moved(fates, path[:-1], now)
        back = parent is not None and (*parent, path[-1]) in stands
        if end is not None and sure:
            if end[-1].lower() != path[-1].lower():
                yield (now.name, *path[1:]), Became(end[-1])
        elif not back:
            yield (now.name, *path[1:]), Became(None if end is None else end[-1], sure)


def _moved(fates: Mapping[Path, _Fate], path: Path, now: Column) -> Path | None:
    """Where a place is now that is a member, or an element, a key or a value of one."""
    known = next((n for n in range(len(path), 1, -1) if path[:n] in fates), None)
    if known is None:
        return (now.name, *path[1:])
    end, _ = fates[path[:known]]
    return None if end is None else (*end, *path[known:])


def _paths(version: SchemaVersion, now: Mapping[int | None, Column], ids: Ids) -> set[Path]:
    """The members of a version, under the names that their columns have now."""
    there = (
        replace(c, name=now[ids.get(c.id, c.id)].name)
        for c in version.schema.columns
        if ids.get(c.id, c.id) in now
    )
    return {path for path, _, _ in walk(TableSchema(tuple(there)))}


def _column(version: SchemaVersion, id: int | None, ids: Ids) -> Column | None:
    return next((c for c in version.schema.columns if ids.get(c.id, c.id) == id), None)
