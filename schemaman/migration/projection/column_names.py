"""How a lake table calls the columns of its source: as they are, made legal, in small letters.

Laws: no two columns have one name, whatever the case of its letters; a column that is in the lake keeps its
name there whatever comes later, unless the source renames it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.migration.column_map import FormerSpellings, read_names
from schemaman.migration.foreign_columns import read_added
from schemaman.migration.plan import MigrationSource, PreviousVersion, Refusal
from schemaman.migration.properties.displaced_columns import format_displaced, read_displaced
from schemaman.migration.properties.names import ADDED_PROPERTY, DISPLACED_PROPERTY, format_property
from schemaman.migration.properties.stamped_version import find_stamped_version
from schemaman.migration.target import LakeTable
from schemaman.migration.type_mapping import Names, Representation
from schemaman.model.ddl import quote_name
from schemaman.model.name_adjustment import adjust_field, explain_unusable_name
from schemaman.model.schema import Column, TableSchema


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of one table; `source_names` maps those in the lake to the source's, where they differ.

    `exact` maps names that `distinguish_names` made to those of the source.
    """

    representation: Representation
    source_names: Mapping[str, str] = field(default_factory=dict)
    exact: Mapping[str, str] = field(default_factory=dict)

    def find_lake_name(self, name: str) -> str:
        """The name in the lake of a column that is in it, by the source's name."""
        lake_names = (
            lake_name
            for lake_name, source_name in self.source_names.items()
            if source_name.lower() == name.lower()
        )
        return next(lake_names, name)

    def spell(self, name: str) -> str:
        """The name that a column of the source would get if it were alone."""
        return spell_name(self.exact.get(name, name), self.representation.names)

    def find_free_name(self, name: str, taken: Iterable[str]) -> str | None:
        """A name for a new column; None if it is taken and no number may be put behind it."""
        plain, used = self.spell(name), {other.lower() for other in taken}
        if plain.lower() not in used:
            return plain
        if self.representation.collisions == "refuse":
            return None
        number = 2
        while f"{plain}_{number}".lower() in used:
            number += 1
        return f"{plain}_{number}"


def spell_name(name: str, style: Names) -> str:
    """A name in that style; Avro's rules are Debezium's `field.name.adjustment.mode=avro`."""
    legal = adjust_field(name, "avro") if style in ("avro", "avro-lower") else name
    return legal.lower() if style in ("lower", "avro-lower") else legal


def distinguish_names(source: MigrationSource, *, newest: bool) -> tuple[MigrationSource, dict[str, str]]:
    """The source with other names for columns that only case tells apart, and those names → the exact ones.

    A lake knows names without regard to case, and so do those who compare them: within one version the
    second of `id` and `ID` is called `ID#2` among them. One that takes the place of the other is no second.
    Names that are in the `newest` version together keep theirs, if so wanted, for the target to refuse them.
    """
    versions = [tuple(past.names) for past in source.past] + [source.schema.names]
    together = {name for names in versions for name in _find_duplicates(names)}
    if not newest:
        together -= _find_duplicates(source.schema.names)
    if not together:
        return source, {}
    seen: dict[str, list[str]] = {}
    for name in (name for names in versions for name in names if name.lower() in together):
        if name not in seen.setdefault(name.lower(), []):
            seen[name.lower()].append(name)
    apart = {n: f"{n}#{i}" for names in seen.values() for i, n in enumerate(names, 1) if i > 1}
    return _rename_source(source, apart), {new: old for old, new in apart.items()}


def _find_duplicates(names: Iterable[str]) -> set[str]:
    """Names, in small letters, that several of them come to."""
    return {name for name, times in Counter(name.lower() for name in names).items() if times > 1}


def has_case_variants(lake: LakeTable) -> bool:
    """Whether a table has columns already that the source calls alike but for case."""
    source_names = read_names(lake)
    names = [source_names.get(name, name).lower() for name in lake.schema.names]
    return len(names) != len(set(names))


def _rename_source(source: MigrationSource, new: Mapping[str, str]) -> MigrationSource:
    def call(name: str) -> str:
        return new.get(name, name)

    columns = tuple(replace(c, name=call(c.name)) for c in source.schema.columns)
    past = tuple(
        replace(
            p,
            names={call(n): None if now is None else call(now) for n, now in p.names.items()},
            nested_fields={(call(path[0]), *path[1:]): now for path, now in p.nested_fields.items()},
            types={call(n): type for n, type in p.types.items()},
            ids={call(n): id for n, id in p.ids.items()},
        )
        for p in source.past
    )
    formers = {call(n): tuple(map(call, names)) for n, names in source.former_names.items()}
    schema = replace(source.schema, columns=columns, key=tuple(map(call, source.schema.key)))
    asked = tuple((call(a), call(b)) for a, b in source.unanswered)
    accepted = tuple(replace(a, path=(call(a.path[0]), *a.path[1:])) for a in source.accepted_types)
    return replace(
        source, schema=schema, past=past, former_names=formers, unanswered=asked, accepted_types=accepted
    )


def read_naming(
    source: MigrationSource,
    lake: LakeTable | None,
    representation: Representation,
    own_names: Collection[str],
    exact: Mapping[str, str],
) -> Naming:
    """The names that a live table has: as it says itself, else as they would be made.

    `own_names`: columns of the live table that are not the source's.
    """
    if lake is None:
        return Naming(representation, {}, exact)
    apart = {name: own for own, name in exact.items()}
    stated = {
        lake_name: apart.get(source_name, source_name)
        for lake_name, source_name in read_names(lake).items()
        if lake_name not in own_names
    }
    plain = {name.lower(): name for name in lake.schema.names if name not in stated and name not in own_names}
    stamped = find_stamped_version(source, lake)
    past = source.past if stamped is None else source.past[: stamped + 1]
    second = _find_variants(lake, plain.values(), past if stamped is not None else (), exact)
    own = plain.keys() - {name.lower() for name in second}
    source_names = {
        lake_name: source_name for lake_name, source_name in stated.items() if source_name.lower() not in own
    } | second
    mapped = {source_name.lower() for source_name in source_names.values()}
    known = {name.lower() for each in past for name in each.names}
    made = {c.name: Naming(representation, {}, exact).spell(c.name).lower() for c in source.schema.columns}
    for name, lake_name in made.items():
        alone = list(made.values()).count(lake_name) == 1
        # A column that the source called so itself is that one, whatever would get its name today.
        if alone and lake_name in own - known and name.lower() not in (own | mapped):
            source_names[plain[lake_name]] = name
    return Naming(representation, source_names, exact)


def _find_variants(
    lake: LakeTable, names: Iterable[str], past: Sequence[PreviousVersion], exact: Mapping[str, str]
) -> dict[str, str]:
    """Columns with their own names in the lake that `distinguish_names` separates from others by now."""
    if not exact:
        return {}
    apart = {own: name for name, own in exact.items()}
    spellings = FormerSpellings(read_names(lake), ([exact.get(name, name) for name in p.names] for p in past))
    # One that left is what it was when it did, and not what later versions call so but for case.
    former_names = {lake_name: each.column for lake_name, each in read_displaced(lake).items() if each.column}
    found = {
        lake_name: source_name
        for lake_name in names
        if (source_name := spellings.find_name(lake_name)) in apart
    }
    return {
        lake_name: apart[source_name]
        for lake_name, source_name in found.items()
        if former_names.get(lake_name, source_name) == source_name
    }


def map_lake_names(schema: TableSchema, lake: LakeTable) -> dict[str, str]:
    """The source's name of each column → its name in a live table that was brought up to date.

    Columns that the table does not have are left out, and no two have one place. It goes by names alone:
    where rows have to be, `column_map` tells.
    """
    source_names = read_names(lake)
    spellings = FormerSpellings(source_names, [schema.names])
    found: dict[str, str] = {}
    # A name that is exactly the source's goes before one that only case tells apart from it.
    near = {
        name: (source_names.get(name, name) not in schema.names, name not in source_names)
        for name in lake.schema.names
    }
    for lake_name in sorted(near, key=near.__getitem__):
        name = spellings.find_name(lake_name)
        if name is not None:
            found.setdefault(name, lake_name)
    return found


def rename_to_source(lake: LakeTable, names: Naming) -> LakeTable:
    """The live table with its columns under the names that the source has for them."""
    if not names.source_names:
        return lake
    columns = tuple(replace(c, name=names.source_names.get(c.name, c.name)) for c in lake.schema.columns)
    key = tuple(names.source_names.get(name, name) for name in lake.schema.key)
    displaced = {
        names.source_names.get(name, name): replace(each, was=names.source_names.get(each.was, each.was))
        for name, each in read_displaced(lake).items()
    }
    added = [names.source_names.get(name, name) for name in sorted(read_added(lake))]
    properties = {
        **lake.properties,
        **({ADDED_PROPERTY: format_property(added)} if added else {}),
        **({DISPLACED_PROPERTY: format_displaced(displaced)} if displaced else {}),
    }
    return replace(lake, schema=replace(lake.schema, columns=columns, key=key), properties=properties)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A wanted table under the lake's names: `names` maps the source's to them.

    For `refused` new columns no name was free; renamed ones for which none was have `kept` theirs.
    """

    schema: TableSchema
    renames: Mapping[str, str]
    names: Mapping[str, str]
    refused: tuple[str, ...]
    kept: tuple[str, ...]


def rename_to_lake(
    wanted: TableSchema,
    renames: Mapping[str, str],
    lake: LakeTable | None,
    names: Naming,
    ages: Mapping[str, int],
    own_names: Collection[str],
) -> NamedTable:
    """A wanted table, written with the source's names, under the lake's.

    `renames` and `lake` are written with the source's names too; `ages` order new columns, `own_names` are
    columns that are not the source's and keep their names.
    """
    before = {new: old for old, new in renames.items()}
    had = {name.lower(): name for name in (lake.schema.names if lake else ())}
    leaving = {old.lower() for old in renames}
    given_names: dict[str, str] = {}
    fresh: list[Column] = []
    for column in wanted.columns:
        if column.name in own_names:
            given_names[column.name] = column.name
        elif column.name.lower() in had.keys() - leaving:
            given_names[column.name] = names.find_lake_name(had[column.name.lower()])
        else:
            fresh.append(column)
    # Also what is to be dropped has its name until then: another column of that name would be taken for it.
    taken = {names.find_lake_name(name) for lowered, name in had.items() if lowered not in leaving}
    # A renamed column is in the table already, and older than what is added.
    fresh.sort(key=lambda c: (c.name not in before, ages.get(c.name, 0)))
    new_names, kept = _give_names(fresh, before, names, (*given_names.values(), *taken))
    given_names |= new_names
    refused = [c.name for c in fresh if c.name not in given_names]
    columns = tuple(replace(c, name=given_names[c.name]) for c in wanted.columns if c.name in given_names)
    key = tuple(given_names[name] for name in wanted.key if name in given_names)
    moved = {
        names.find_lake_name(had[old.lower()]): given_names[new]
        for old, new in renames.items()
        if old.lower() in had
    }
    changed = {old: new for old, new in moved.items() if old != new}
    schema = TableSchema(columns, key, wanted.comment)
    return NamedTable(schema, changed, given_names, tuple(refused), tuple(kept))


def _give_names(
    fresh: Sequence[Column], before: Mapping[str, str], names: Naming, taken: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """The names of columns that get one, and those of them that keep their own since none was free.

    `before` maps renamed ones to their names before; a name that is kept is free for no other column.
    """
    kept: list[str] = []
    while True:
        given = {new: names.find_lake_name(before[new]) for new in kept}
        for column in (c for c in fresh if c.name not in kept):
            name = names.find_free_name(column.name, (*taken, *given.values()))
            if name is not None:
                given[column.name] = name
            elif column.name in before:
                kept.append(column.name)
                break
        else:
            return given, kept


def list_renamed_columns(named: Mapping[str, str], exact: Mapping[str, str]) -> dict[str, str]:
    """Name in the lake → the source's own, where they are not one to a lake or were told apart."""
    alike = {own.lower() for own in exact.values()}
    return {
        lake_name: exact.get(source_name, source_name)
        for source_name, lake_name in named.items()
        if lake_name.lower() != source_name.lower()
        or (lake_name != source_name and source_name.lower() in alike)
    }


_LEAVE_OUT = "leave the column out, or rename it at the source"

_NUMBER_OR_LEAVE_OUT = f"{_LEAVE_OUT}; or set collisions = number in [[projection]]"

_EXCLUDE = "leave the column out (Debezium's column.exclude.list), or rename it at the source"


def refuse_unusable_names(
    schema: TableSchema, lake_names: Mapping[str, str] | None = None
) -> dict[str, Refusal]:
    """Refuse columns whose names no Spark table accepts; `lake_names` maps columns to their lake names."""
    spellings = Counter(name.lower() for name in schema.names)
    refused: dict[str, Refusal] = {}
    for name in schema.names:
        change = f"name a column {quote_name(name)}"
        given = (lake_names or {}).get(name, name)
        if given and schema.names.count(name) > 1:
            reason = "the sink adds a column of this name to its tables, so no other column can have it"
            refused[name] = Refusal(change, reason, _EXCLUDE)
        elif given and spellings[name.lower()] > 1:
            refused[name] = Refusal(
                change,
                "another column differs from it only by case, which Spark ignores",
                _NUMBER_OR_LEAVE_OUT,
            )
        elif why := explain_unusable_name(given):
            refused[name] = Refusal(change, why, _LEAVE_OUT)
    return refused
