"""Members of structs through the versions of a table: which left, which came, which a person calls one.

Nobody gives a member an id: its name is all that it is known by. One that went and came back is the same, and
one that may have another's values is a question for people, as with columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.past import Became, Past
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


@dataclass(frozen=True, slots=True)
class _Step:
    """A column after a step: where the members of before are, which left, which came by a person's word."""

    after: Column
    partners: Mapping[Path, Path]
    called: frozenset[Path]
    left: frozenset[Path]


@dataclass(slots=True)
class _Life:
    """A column through its versions, from the newest back: where its members are in the end.

    `fates` are those of the members of each version; `taken` are places where one that left may still stand
    in a lake, and whose name a person gave to another one later.
    """

    steps: dict[int, _Step] = field(default_factory=dict)
    fates: dict[int, dict[Path, _Fate]] = field(default_factory=dict)
    taken: dict[int, set[Path]] = field(default_factory=dict)

    def step(self, at: int, before: Column, after: Column, answers: Sequence[MemberAnswer]) -> None:
        """One step further back: from version number `at` to the next one."""
        pairs = list(_structs(before.type, after.type, (before.name,), (after.name,), answers))
        partners = {
            (*pair.here, old): (*pair.there, new.name) for pair in pairs for old, new in pair.partners.items()
        }
        called = {new for old, new in partners.items() if old[-1].lower() != new[-1].lower()}
        left = {(*pair.here, old.name) for pair in pairs for old in pair.went}
        self.steps[at] = _Step(after, partners, frozenset(called), frozenset(left))
        fates = self.fates[at] = {}
        for pair in pairs:
            asked = _asked(pair, answers)
            for old in pair.old:
                here = (*pair.here, old.name)
                if here in partners:
                    fates[here] = self._end(at + 1, partners[here])
                else:
                    fates[here] = self._gone(at + 1, (*pair.there, old.name), asked.get(old.name))
                    fates |= self._inside(at, here, old.type, (*pair.there, old.name))

    def told(self) -> dict[int, dict[Path, Became]]:
        """The members of each version whose name says no more what they are."""
        found: dict[int, dict[Path, Became]] = {}
        for at in sorted(self.fates.keys() | self.taken.keys()):
            found[at] = dict.fromkeys(self.taken.get(at, ()), Became(None))
            for path, (end, sure) in self.fates.get(at, {}).items():
                if end is None or not sure or end[-1].lower() != path[-1].lower():
                    found[at][path] = Became(None if end is None else end[-1], sure)
        return found

    def _end(self, at: int, path: Path) -> _Fate:
        return self.fates.get(at, {}).get(path, (path, True))

    def _gone(self, at: int, place: Path, asked: str | None) -> _Fate:
        """Where one is that left `place` before version `at`, if it is not the one `asked` about."""
        landed = self._back(at, place)
        left = (None, True) if landed is None else self._end(*landed)
        if asked is None:
            return left
        other, _ = self._end(at, (*place[:-1], asked))
        same = left[0] is not None and left[0][-1].lower() == place[-1].lower()
        return left if other is None or same or left[0] == other else (other, False)

    def _inside(self, at: int, here: Path, type: Type, place: Path) -> dict[Path, _Fate]:
        """Where the members of one are that left before the next version, and came back."""
        landed = self._back(at + 1, place)
        if landed is None:
            return {}
        back, there = landed
        other = _type_at(self.steps[back - 1].after, there)
        found: dict[Path, _Fate] = {}
        for pair in _structs(type, other, here, there, ()):
            for old in pair.old:
                to = pair.partners.get(old.name)
                end = (back, (*pair.there, old.name if to is None else to.name))
                found[*pair.here, old.name] = self._gone(*end, None) if to is None else self._end(*end)
        return found

    def _back(self, at: int, place: Path) -> tuple[int, Path] | None:
        """The version, and where, in which one came back that had left `place` before version `at`."""
        empty: list[tuple[int, Path]] = []
        while at - 1 in self.steps:
            step = self.steps[at - 1]
            there = next((p for p in _members_of(step.after) if _alike(p, place)), None)
            if there is not None and there not in step.called:
                return at, there
            if there is not None:
                for version, path in empty:
                    self.taken.setdefault(version, set()).add(path)
                return None
            empty.append((at, place))
            moved = self._moved(at, place[:-1])
            if moved is None:
                return None
            at, place = moved[0], (*moved[1], place[-1])
        return None

    def _moved(self, at: int, path: Path) -> tuple[int, Path] | None:
        """A place of version `at` in the next one, or in the one in which what held it came back.

        An element, a key or a value goes with its own.
        """
        if at not in self.steps:
            return at + 1, path
        step = self.steps[at]
        gone = next((n for n in range(2, len(path) + 1) if path[:n] in step.left), None)
        if gone is not None:
            up = self._moved(at, path[: gone - 1])
            landed = None if up is None else self._back(up[0], (*up[1], path[gone - 1]))
            return None if landed is None else (landed[0], (*landed[1], *path[gone:]))
        known = next((n for n in range(len(path), 1, -1) if path[:n] in step.partners), 1)
        start = step.partners[path[:known]] if known > 1 else (step.after.name,)
        return at + 1, (*start, *path[known:])


def _members_of(column: Column) -> tuple[Path, ...]:
    return tuple(path for path, _, _ in walk(TableSchema((column,))))


def _type_at(column: Column, path: Path) -> Type:
    return next(type for at, type, _ in walk(TableSchema((column,))) if at == path)


def _alike(path: Path, other: Path) -> bool:
    return lowered(path) == lowered(other)


def path_text(path: Path) -> str:
    """A member as decisions name it: `address.street`, `lines.element.qty`."""
    return ".".join(quote_part(part) for part in path)


def lowered(path: Path) -> Path:
    """A path as a lake compares it: without regard to case."""
    return tuple(part.lower() for part in path)


def named_now(path: Path, told: Mapping[Path, Became]) -> Path:
    """Where a member of a version is by the names of now, as far as those that hold it have one.

    `told` is what became of the members of that version.
    """
    above = (told.get(path[:n]) for n in range(2, len(path)))
    between = zip(above, path[1:-1], strict=True)
    return (path[0], *(now.name if now and now.name else part for now, part in between), path[-1])


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
        life = _Life()
        for at in reversed(range(len(versions) - 1)):
            before, next = (_column(v, id, ids) for v in versions[at : at + 2])
            if before is None or next is None:
                break
            life.step(at, before, next, versions[at + 1].members)
        for at, found in life.told().items():
            told[at] |= {(column.name, *path[1:]): now for path, now in found.items()}
    changed = {lowered(path) for each in told for path in each}
    for version, found in zip(versions, told, strict=True):
        same = (path for path in _paths(version, now, ids) - found.keys() if lowered(path) in changed)
        found |= {path: Became(path[-1]) for path in same}
    return told


def fates(source: Source, standing: int | None) -> Mapping[Path, Fate]:
    """What became of the members of a live table; `standing`: the past version that its stamp means."""
    found: dict[Path, Fate] = {}
    if standing is not None:
        younger = _since(source, standing)
        found = {path: Fate(now, True) for path, now in source.past[standing].members.items()}
        # One that left, and whose name came back: a plan that was made in part may have filled it since.
        named: dict[Path, tuple[str, ...]] = {}
        for path, fate in younger.items():
            named[lowered(path)] = (*named.get(lowered(path), ()), *_names(fate))
        left = {path for path, fate in found.items() if _unlike(path, fate.became)}
        # What an earlier plan kept still has the name under which that plan found it.
        left |= _lost(source.past[:standing]) - found.keys()
        back = {path: names for path in left if (names := named.get(lowered(path)))}
        found = younger | {path: fate for path, fate in found.items() if path not in back}
        found |= {path: Fate(Became(None), False, names) for path, names in back.items()}
    else:
        # One that left, and whose name another had: nothing says which of them the table has.
        meant = _since(source, -1)
        found = {path: Fate(Became(None), False, fate.maybe) for path, fate in meant.items() if fate.maybe}
        found = {path: found[path] for path in found.keys() & _lost(source.past)}
    earlier = source.past if standing is None else source.past[:standing]
    for past in reversed(earlier):
        for path, now in past.members.items():
            if now == Became(path[-1]):
                continue
            # What a stamped table still has of earlier times is what an earlier plan kept.
            told = now if standing is None else Became(None)
            found.setdefault(path, Fate(told, False))
    return found


def _unlike(path: Path, now: Became) -> bool:
    """Whether what has the name now is another, or may be."""
    return now.name is None or (not now.sure and now.name.lower() == path[-1].lower())


def _lost(versions: Sequence[Past]) -> set[Path]:
    """Members of any of these versions that left for good."""
    return {path for past in versions for path, now in past.members.items() if now == Became(None)}


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
