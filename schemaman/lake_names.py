"""How a lake table calls the columns of its source: as they are, made legal, in small letters.

Laws: no two columns have one name, whatever the case of its letters; a column that is in the lake keeps its
name there whatever comes later, unless the source renames it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.names import adjust_field
from schemaman.plan import NAMES_PROPERTY, Live, Source
from schemaman.representation import Names, Representation
from schemaman.schema import Column, TableSchema


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


def told_apart(source: Source) -> tuple[Source, dict[str, str]]:
    """The source with other names for columns that only case tells apart, and those names → the exact ones.

    A lake knows names without regard to case, and so do those who compare them: within one version the
    second of `id` and `ID` is called `ID#2` among them. One that takes the place of the other is no second.
    """
    versions = [tuple(past.names) for past in source.past] + [source.schema.names]
    together: set[str] = set()
    for names in versions:
        lowered = [name.lower() for name in names]
        together |= {name for name in lowered if lowered.count(name) > 1}
    if not together:
        return source, {}
    seen: dict[str, list[str]] = {}
    for name in (name for names in versions for name in names if name.lower() in together):
        if name not in seen.setdefault(name.lower(), []):
            seen[name.lower()].append(name)
    apart = {n: f"{n}#{i}" for names in seen.values() for i, n in enumerate(names, 1) if i > 1}
    return _renamed(source, apart), {new: old for old, new in apart.items()}


def _renamed(source: Source, new: Mapping[str, str]) -> Source:
    def call(name: str) -> str:
        return new.get(name, name)

    columns = tuple(replace(c, name=call(c.name)) for c in source.schema.columns)
    past = tuple(
        replace(
            p,
            names={call(n): None if now is None else call(now) for n, now in p.names.items()},
            members={(call(path[0]), *path[1:]): now for path, now in p.members.items()},
        )
        for p in source.past
    )
    formers = {call(n): tuple(map(call, names)) for n, names in source.former_names.items()}
    schema = replace(source.schema, columns=columns, key=tuple(map(call, source.schema.key)))
    asked = tuple((call(a), call(b)) for a, b in source.unanswered)
    return replace(source, schema=schema, past=past, former_names=formers, unanswered=asked)


def naming(
    source: TableSchema,
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
    told = {lake: there for lake, there in said.items() if there.lower() not in plain}
    mapped = {there.lower() for there in told.values()}
    made = {c.name: Naming(how, {}, exact).spelled(c.name).lower() for c in source.columns}
    for name, lake in made.items():
        alone = list(made.values()).count(lake) == 1
        if alone and lake in plain and name.lower() not in (plain.keys() | mapped):
            told[plain[lake]] = name
    return Naming(how, told, exact)


def names_told(live: Live) -> dict[str, str]:
    """What a table says of its names, for columns that it has: name in the lake → the source's."""
    told = json.loads(live.properties.get(NAMES_PROPERTY, "{}"))
    return {lake: there for lake, there in told.items() if lake in live.schema.names}


def lake_names(schema: TableSchema, live: Live) -> dict[str, str]:
    """The source's name of each column → its name in a live table that was brought up to date.

    What a writer of rows needs. Columns that the table does not have are left out.
    """
    told = names_told(live)
    exact = {there: lake for lake, there in told.items()}
    alike = {there.lower(): lake for lake, there in told.items() if there not in schema.names}
    plain = {name.lower(): name for name in live.schema.names if name not in told}
    found = ((n, exact.get(n) or plain.get(n.lower()) or alike.get(n.lower())) for n in schema.names)
    return {name: lake for name, lake in found if lake is not None}


def as_the_source_calls(live: Live, names: Naming) -> Live:
    """The live table with its columns under the names that the source has for them."""
    if not names.told:
        return live
    columns = tuple(replace(c, name=names.told.get(c.name, c.name)) for c in live.schema.columns)
    key = tuple(names.told.get(name, name) for name in live.schema.key)
    return replace(live, schema=replace(live.schema, columns=columns, key=key))


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
    lake: dict[str, str] = {}
    fresh: list[Column] = []
    for column in wanted.columns:
        if column.name in besides:
            lake[column.name] = column.name
        elif column.name.lower() in had and column.name not in before:
            lake[column.name] = names.of(had[column.name.lower()])
        else:
            fresh.append(column)
    refused: list[str] = []
    kept: list[str] = []
    # A renamed column is in the table already, and older than what is added.
    for column in sorted(fresh, key=lambda c: (c.name not in before, ages.get(c.name, 0))):
        name = names.free(column.name, lake.values())
        if name is not None:
            lake[column.name] = name
        elif column.name in before:
            lake[column.name] = names.of(before[column.name])
            kept.append(column.name)
        else:
            refused.append(column.name)
    columns = tuple(replace(c, name=lake[c.name]) for c in wanted.columns if c.name in lake)
    key = tuple(lake[name] for name in wanted.key if name in lake)
    moved = {names.of(had[old.lower()]): lake[new] for old, new in renames.items() if old.lower() in had}
    changed = {old: new for old, new in moved.items() if old != new}
    schema = TableSchema(columns, key, wanted.comment)
    return Named(schema, changed, lake, tuple(refused), tuple(kept))


def names_property(named: Mapping[str, str], exact: Mapping[str, str]) -> dict[str, str]:
    """Name in the lake → the source's own, where they are not one to a lake or were told apart."""
    return {lake: exact.get(there, there) for there, lake in named.items() if lake.lower() != there.lower()}


def as_json(value: Mapping[str, str] | Sequence[object]) -> str:
    """A value of a table property, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=isinstance(value, Mapping))
