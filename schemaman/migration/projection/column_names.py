"""How a lake table calls the columns of its source: as they are, made legal, in small letters.

Laws: no two columns have one name, whatever the case of its letters; a column that is in the lake keeps its
name there whatever comes later, unless the source renames it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.migration.plan import Past, Refusal, Source
from schemaman.migration.properties.displaced_columns import retired, retired_text
from schemaman.migration.properties.names import NAMES_PROPERTY, RETIRED_PROPERTY
from schemaman.migration.properties.stamped_version import stamped
from schemaman.migration.target import Live
from schemaman.migration.type_mapping import Names, Representation
from schemaman.model.ddl import quote_name
from schemaman.model.name_adjustment import adjust_field, unusable
from schemaman.model.schema import Column, TableSchema


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of one table; `told` maps those in the lake to the source's, where they differ.

    `exact` maps names that were told apart (see `told_apart`) to those that the source has.
    """

    how: Representation
    told: Mapping[str, str] = field(default_factory=dict)
    exact: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """The name in the lake of a column that is in it, by the source's name."""
        here = (lake for lake, there in self.told.items() if there.lower() == name.lower())
        return next(here, name)

    def spelled(self, name: str) -> str:
        """The name that a column of the source would get if it were alone."""
        return spelled(self.exact.get(name, name), self.how.names)

    def free(self, name: str, taken: Iterable[str]) -> str | None:
        """A name for a new column; None if it is taken and no number may be put behind it."""
        plain, used = self.spelled(name), {other.lower() for other in taken}
        if plain.lower() not in used:
            return plain
        if self.how.collisions == "refuse":
            return None
        number = 2
        while f"{plain}_{number}".lower() in used:
            number += 1
        return f"{plain}_{number}"


def spelled(name: str, style: Names) -> str:
    """A name in that style; Avro's rules are Debezium's `field.name.adjustment.mode=avro`."""
    legal = adjust_field(name, "avro") if style in ("avro", "avro-lower") else name
    return legal.lower() if style in ("lower", "avro-lower") else legal


def told_apart(source: Source, *, newest: bool) -> tuple[Source, dict[str, str]]:
    """The source with other names for columns that only case tells apart, and those names → the exact ones.

    A lake knows names without regard to case, and so do those who compare them: within one version the
    second of `id` and `ID` is called `ID#2` among them. One that takes the place of the other is no second.
    Names that are in the `newest` version together keep theirs, if so wanted, for the target to refuse them.
    """
    versions = [tuple(past.names) for past in source.past] + [source.schema.names]
    together = {name for names in versions for name in _doubled(names)}
    if not newest:
        together -= _doubled(source.schema.names)
    if not together:
        return source, {}
    seen: dict[str, list[str]] = {}
    for name in (name for names in versions for name in names if name.lower() in together):
        if name not in seen.setdefault(name.lower(), []):
            seen[name.lower()].append(name)
    apart = {n: f"{n}#{i}" for names in seen.values() for i, n in enumerate(names, 1) if i > 1}
    return _renamed(source, apart), {new: old for old, new in apart.items()}


def _doubled(names: Iterable[str]) -> set[str]:
    """Names, in small letters, that several of them come to."""
    return {name for name, times in Counter(name.lower() for name in names).items() if times > 1}


def only_case_tells_apart(live: Live) -> bool:
    """Whether a table has columns already that the source calls alike but for case."""
    told = names_told(live)
    names = [told.get(name, name).lower() for name in live.schema.names]
    return len(names) != len(set(names))


def _renamed(source: Source, new: Mapping[str, str]) -> Source:
    def call(name: str) -> str:
        return new.get(name, name)

    columns = tuple(replace(c, name=call(c.name)) for c in source.schema.columns)
    past = tuple(
        replace(
            p,
            names={call(n): None if now is None else call(now) for n, now in p.names.items()},
            members={(call(path[0]), *path[1:]): now for path, now in p.members.items()},
            types={call(n): type for n, type in p.types.items()},
        )
        for p in source.past
    )
    formers = {call(n): tuple(map(call, names)) for n, names in source.former_names.items()}
    schema = replace(source.schema, columns=columns, key=tuple(map(call, source.schema.key)))
    asked = tuple((call(a), call(b)) for a, b in source.unanswered)
    return replace(source, schema=schema, past=past, former_names=formers, unanswered=asked)


def naming(
    source: Source,
    live: Live | None,
    how: Representation,
    besides: Collection[str],
    exact: Mapping[str, str],
) -> Naming:
    """The names that a live table has: as it says itself, else as they would be made.

    `besides`: columns of the live table that are not the source's.
    """
    if live is None:
        return Naming(how, {}, exact)
    apart = {name: own for own, name in exact.items()}
    said = {lake: apart.get(there, there) for lake, there in names_told(live).items() if lake not in besides}
    plain = {name.lower(): name for name in live.schema.names if name not in said and name not in besides}
    standing = stamped(source, live)
    past = source.past if standing is None else source.past[: standing + 1]
    second = _seconds(live, plain.values(), past if standing is not None else (), exact)
    own = plain.keys() - {name.lower() for name in second}
    told = {lake: there for lake, there in said.items() if there.lower() not in own} | second
    mapped = {there.lower() for there in told.values()}
    known = {name.lower() for each in past for name in each.names}
    made = {c.name: Naming(how, {}, exact).spelled(c.name).lower() for c in source.schema.columns}
    for name, lake in made.items():
        alone = list(made.values()).count(lake) == 1
        # A column that the source called so itself is that one, whatever would get its name today.
        if alone and lake in own - known and name.lower() not in (own | mapped):
            told[plain[lake]] = name
    return Naming(how, told, exact)


def _seconds(
    live: Live, names: Iterable[str], past: Sequence[Past], exact: Mapping[str, str]
) -> dict[str, str]:
    """Columns that have their own names in the lake and were told apart from others by now (`told_apart`)."""
    if not exact:
        return {}
    apart = {own: name for name, own in exact.items()}
    spellings = Spellings(names_told(live), ([exact.get(name, name) for name in p.names] for p in past))
    # One that left is what it was when it did, and not what later versions call so but for case.
    left = {lake: each.column for lake, each in retired(live).items() if each.column}
    found = {lake: there for lake in names if (there := spellings.of(lake)) in apart}
    return {lake: apart[there] for lake, there in found.items() if left.get(lake, there) == there}


class Spellings:
    """How the source called the columns of a live table, version by version.

    `told` is what the table says (`names_told`), `versions` are the names of each, oldest first.
    """

    def __init__(self, told: Mapping[str, str], versions: Iterable[Iterable[str]]) -> None:
        self.told = told
        self.theirs = frozenset(told.values())
        self.versions: list[dict[str, list[str]]] = []
        for names in versions:
            self.versions.append({})
            for name in names:
                self.versions[-1].setdefault(name.lower(), []).append(name)

    def of(self, lake: str) -> str | None:
        """What a column of the lake was called in the last version that had it."""
        exact = self.told.get(lake, lake)
        others = self.theirs - {exact} if lake in self.told else self.theirs
        alike = [names.get(exact.lower(), []) for names in self.versions]
        if lake in self.told and any(exact in names for names in alike):
            return exact
        for found in reversed(alike):
            if exact in found and exact not in others:
                return exact
            own = [name for name in found if name not in others]
            if own:
                # Of those that only case tells apart the first one has the name, as in `told_apart`.
                seen = list(dict.fromkeys(name for names in alike for name in names))
                return min(own, key=seen.index)
        return None


def names_told(live: Live) -> dict[str, str]:
    """What a table says of its names, for columns that it has: name in the lake → the source's."""
    told = json.loads(live.properties.get(NAMES_PROPERTY, "{}"))
    return {lake: there for lake, there in told.items() if lake in live.schema.names}


def lake_names(schema: TableSchema, live: Live) -> dict[str, str]:
    """The source's name of each column → its name in a live table that was brought up to date.

    Columns that the table does not have are left out, and no two have one place. It goes by names alone:
    where rows have to be, `column_places` tells.
    """
    told = names_told(live)
    spellings = Spellings(told, [schema.names])
    found: dict[str, str] = {}
    # A name that is exactly the source's goes before one that only case tells apart from it.
    near = {name: (told.get(name, name) not in schema.names, name not in told) for name in live.schema.names}
    for lake in sorted(near, key=near.__getitem__):
        name = spellings.of(lake)
        if name is not None:
            found.setdefault(name, lake)
    return found


def as_the_source_calls(live: Live, names: Naming) -> Live:
    """The live table with its columns under the names that the source has for them."""
    if not names.told:
        return live
    columns = tuple(replace(c, name=names.told.get(c.name, c.name)) for c in live.schema.columns)
    key = tuple(names.told.get(name, name) for name in live.schema.key)
    away = {
        names.told.get(name, name): replace(each, was=names.told.get(each.was, each.was))
        for name, each in retired(live).items()
    }
    properties = {**live.properties, **({RETIRED_PROPERTY: retired_text(away)} if away else {})}
    return replace(live, schema=replace(live.schema, columns=columns, key=key), properties=properties)


@dataclass(frozen=True, slots=True)
class Named:
    """A wanted table under the lake's names: `names` maps the source's to them.

    For `refused` new columns no name was free; renamed ones for which none was have `kept` theirs.
    """

    schema: TableSchema
    renames: Mapping[str, str]
    names: Mapping[str, str]
    refused: tuple[str, ...]
    kept: tuple[str, ...]


def as_the_lake_calls(
    wanted: TableSchema,
    renames: Mapping[str, str],
    live: Live | None,
    names: Naming,
    ages: Mapping[str, int],
    besides: Collection[str],
) -> Named:
    """A wanted table, written with the source's names, under the lake's.

    `renames` and `live` are written with the source's names too; `ages` order new columns, `besides` are
    columns that are not the source's and keep their names.
    """
    before = {new: old for old, new in renames.items()}
    had = {name.lower(): name for name in (live.schema.names if live else ())}
    leaving = {old.lower() for old in renames}
    lake: dict[str, str] = {}
    fresh: list[Column] = []
    for column in wanted.columns:
        if column.name in besides:
            lake[column.name] = column.name
        elif column.name.lower() in had.keys() - leaving:
            lake[column.name] = names.of(had[column.name.lower()])
        else:
            fresh.append(column)
    # Also what is to be dropped has its name until then: another column of that name would be taken for it.
    taken = {names.of(name) for lowered, name in had.items() if lowered not in leaving}
    # A renamed column is in the table already, and older than what is added.
    fresh.sort(key=lambda c: (c.name not in before, ages.get(c.name, 0)))
    given, kept = _given(fresh, before, names, (*lake.values(), *taken))
    lake |= given
    refused = [c.name for c in fresh if c.name not in lake]
    columns = tuple(replace(c, name=lake[c.name]) for c in wanted.columns if c.name in lake)
    key = tuple(lake[name] for name in wanted.key if name in lake)
    moved = {names.of(had[old.lower()]): lake[new] for old, new in renames.items() if old.lower() in had}
    changed = {old: new for old, new in moved.items() if old != new}
    schema = TableSchema(columns, key, wanted.comment)
    return Named(schema, changed, lake, tuple(refused), tuple(kept))


def _given(
    fresh: Sequence[Column], before: Mapping[str, str], names: Naming, taken: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """The names of columns that get one, and those of them that keep their own since none was free.

    `before` maps renamed ones to their names before; a name that is kept is free for no other column.
    """
    kept: list[str] = []
    while True:
        given = {new: names.of(before[new]) for new in kept}
        for column in (c for c in fresh if c.name not in kept):
            name = names.free(column.name, (*taken, *given.values()))
            if name is not None:
                given[column.name] = name
            elif column.name in before:
                kept.append(column.name)
                break
        else:
            return given, kept


def names_property(named: Mapping[str, str], exact: Mapping[str, str]) -> dict[str, str]:
    """Name in the lake → the source's own, where they are not one to a lake or were told apart."""
    alike = {own.lower() for own in exact.values()}
    return {
        lake: exact.get(there, there)
        for there, lake in named.items()
        if lake.lower() != there.lower() or (lake != there and there.lower() in alike)
    }


def as_json(value: Mapping[str, str] | Sequence[object]) -> str:
    """A value of a table property, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


_OUT = "leave the column out, or rename it at the source"

_CASE = f"{_OUT}; or say collisions = number in [[projection]]"

_EXCLUDE = "leave the column out (Debezium's column.exclude.list), or rename it at the source"


def unusable_names(schema: TableSchema, lake: Mapping[str, str] | None = None) -> dict[str, Refusal]:
    """The columns that no Spark table can call by their names; `lake` maps them to those that they get."""
    spellings = Counter(name.lower() for name in schema.names)
    refused: dict[str, Refusal] = {}
    for name in schema.names:
        change = f"name a column {quote_name(name)}"
        given = (lake or {}).get(name, name)
        if given and schema.names.count(name) > 1:
            reason = "a mirrored table has a column of its own under this name, and it must stay the only one"
            refused[name] = Refusal(change, reason, _EXCLUDE)
        elif given and spellings[name.lower()] > 1:
            refused[name] = Refusal(
                change, "another column differs from it only by case, which Spark ignores", _CASE
            )
        elif why := unusable(given):
            refused[name] = Refusal(change, why, _OUT)
    return refused
