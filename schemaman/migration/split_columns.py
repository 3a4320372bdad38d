"""Columns whose new type no format makes in place: values of the new type go into another column beside.

Laws: no stored value changes. A row has its value in one of the columns, by the version that it was written
with, and NULL in the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from schemaman.history.decisions import Decisions, Rename, apply_decisions
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.column_map import make_column_map
from schemaman.migration.plan import PreviousVersion
from schemaman.migration.projection.column_names import spell_name
from schemaman.migration.properties.stamped_version import find_version, format_began, is_before
from schemaman.migration.properties.table_record import SplitColumn, read_record
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.migration.type_mapping import Names, list_common_types
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Numeric, widens

TEXT, FORMER = "text", "former"
"""What `SplitColumn.holds` says of columns that hold values of every version, or of none here."""
_FIRST = 2
"""The number behind the name of the first column beside another one: `price__2`."""


def split_columns(history: TableHistory, lake: LakeTable | None) -> TableHistory:
    """The history in which each part of a split column is a column of its own, as the lake table has them.

    Only the newest incarnation has such columns. A part has an id below zero, which no history has.
    """
    splits = read_record(lake.properties).split if lake is not None else {}
    splits = {name: split for name, split in splits.items() if not split.holds}
    if not splits:
        return history
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    parts = _place_parts(splits, incarnation, migration_source(history).past)
    first = len(history.versions) - len(incarnation)
    there = {*lake.schema.names} if lake is not None else {*splits}
    begun = [
        [_follow_name(p, incarnation[: at + 1], there) for p in parts if p[0] <= at]
        for at in range(len(incarnation))
    ]
    split = [_split_version(v, mine) for v, mine in zip(incarnation, begun, strict=True)]
    split = [_name_former(v, *split[at - 1 : at], *incarnation[at - 1 : at]) for at, v in enumerate(split)]
    accepted = tuple(
        replace(a, path=(_find_name(parts, a.path[0]), *a.path[1:])) for a in history.accepted_types
    )
    return replace(history, versions=(*history.versions[:first], *split), accepted_types=accepted)


def join_retyped(
    history: TableHistory,
    lake: LakeTable,
    renames: Sequence[Rename],
    list_stuck: Callable[[TableHistory], Iterable[str]],
) -> TableHistory:
    """The history in which renames on proof are one column each, if the format cannot give it its new type.

    Then the column keeps its name in the table, and newer values go into a part. `list_stuck` lists the
    columns of the newest version of a history whose types the format cannot change in place.
    """
    if not renames:
        return history
    stuck = list_stuck(apply_decisions(history, Decisions(tuple(renames))))
    return join_split_renames(history, lake, renames, stuck)


def join_split_renames(
    history: TableHistory, lake: LakeTable | None, renames: Sequence[Rename], stuck: Iterable[str] = ()
) -> TableHistory:
    """The history in which renames on proof are one column each, where the lake table has it in parts.

    `stuck` are columns of the newest version that get a part. `renames` are in the order of the versions. So
    such a column has all names by which it became its present one.
    """
    splits = read_record(lake.properties).split if lake is not None else {}
    names = {split.column for split in splits.values() if split.beside}.union(stuck)
    names.update(rename.old for rename in reversed(renames) if rename.new in names)
    found = []
    for rename in renames if names else ():
        if not names.isdisjoint((rename.old, rename.new)):
            names.add(rename.new)
            found.append(rename)
    return apply_decisions(history, Decisions(tuple(found))) if found else history


def widen_types(history: TableHistory, versions: Collection[int]) -> TableSchema:
    """The newest schema for a new table, with types that also hold the numbers of these versions, by number.

    A table that was there before would have kept such a type, so a table gets the same wherever batches end.
    """
    newest = history.latest
    columns = {c.id: c for c in newest.schema.columns if c.id is not None}
    for version in (v for v in history.versions if v.number in versions):
        for earlier in version.schema.columns if version.incarnation == newest.incarnation else ():
            column = columns.get(earlier.id) if earlier.id is not None else None
            if earlier.id is None or column is None or widens(earlier.type, column.type):
                continue
            common = next(iter(list_common_types(earlier.type, column.type)), None)
            # A number without a declared precision is text in the lake, which is no number's type.
            if common is not None and not isinstance(earlier.type, Numeric):
                columns[earlier.id] = replace(column, type=common)
    found = tuple(columns[c.id] if c.id is not None else c for c in newest.schema.columns)
    return replace(newest.schema, columns=found)


def find_new_split(history: TableHistory, name: str, lake: LakeTable) -> dict[str, SplitColumn] | None:
    """The splits of a table with one more; `name` is the column in the newest version of a split history.

    None for a key column, by which rows are merged, and for a column that has always had this type: the
    table has another one of its name.
    """
    newest = history.latest
    column = newest.schema.column(name)
    if column is None or name in newest.schema.key or name in lake.schema.key:
        return None
    known = dict(read_record(lake.properties).split)
    source_name = known[name].column if name in known else name
    incarnation = [v for v in history.versions if v.incarnation == newest.incarnation]
    at = len(incarnation) - 1
    # A part begins with both, the type and the name: the record of it has one version and one name.
    while at and (before := _find_column(incarnation[at - 1], column.id)) and _is_alike(before, column):
        at -= 1
    if not at or _find_column(incarnation[at - 1], column.id) is None:
        return None
    past = migration_source(history).past[at]
    names = (c.name for version in incarnation for c in version.schema.columns)
    part = find_free_name(source_name, (*lake.schema.names, *known, *names))
    former = _find_column(incarnation[at - 1], column.id)
    is_renamed = former is not None and former.name not in known and former.name != source_name
    beside = former.name if former is not None and is_renamed and former.name in lake.schema.names else ""
    known[part] = SplitColumn(source_name, past.id, format_began(past.began), beside=beside)
    return known


def find_text_parts(
    history: TableHistory, ids: Collection[int], lake: LakeTable, style: Names
) -> dict[str, SplitColumn] | None:
    """The splits of a table with a column of texts beside each of these columns; None if it has them all.

    `ids` are columns of the newest incarnation. One of the table's key gets none, and one that the source has
    dropped gets one if the table keeps it. A part that an interrupted run recorded is used, though its column
    is not there yet.
    """
    known = dict(read_record(lake.properties).split)
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    recorded, columns = _place_text_parts(history, known), _find_last_columns(incarnation)
    is_whole = {recorded[id] for id in columns if id in ids and id in recorded} <= {*lake.schema.names}
    source = migration_source(history)
    kept = make_column_map(source, lake).names
    before = len(known)
    used = {c.name for version in incarnation for c in version.schema.columns}
    for id, (at, column) in columns.items():
        is_present = at == len(incarnation) - 1
        is_key = column.name in history.latest.schema.key if is_present else kept.get(id) in lake.schema.key
        if id in ids and id not in recorded and not is_key and (is_present or id in kept):
            taken = (*lake.schema.names, *known, *used)
            name = spell_name(column.name, style) if is_present else kept[id]
            past = source.past[at]
            part = find_free_name(name, taken)
            known[part] = SplitColumn(column.name, past.id, format_began(past.began), TEXT)
    return known if len(known) > before or not is_whole else None


def _find_last_columns(incarnation: Sequence[SchemaVersion]) -> dict[int, tuple[int, Column]]:
    """Each column of an incarnation by its id: the last version that has it, by its place, and the column.

    Those of the newest version come first, in their order.
    """
    found: dict[int, tuple[int, Column]] = {}
    for at, version in reversed(list(enumerate(incarnation))):
        for column in version.schema.columns:
            if column.id is not None:
                found.setdefault(column.id, (at, column))
    return found


def list_text_parts(history: TableHistory, lake: LakeTable) -> dict[int, str]:
    """The columns of texts that a table has, by the id of the source's column."""
    parts = _place_text_parts(history, read_record(lake.properties).split)
    return {id: name for id, name in parts.items() if name in lake.schema.names}


def _place_text_parts(history: TableHistory, splits: Mapping[str, SplitColumn]) -> dict[int, str]:
    """The columns of texts that splits record, by the id of the source's column."""
    texts = {name: split for name, split in splits.items() if split.holds == TEXT}
    if not texts:
        return {}
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    parts = _place_parts(texts, incarnation, migration_source(history).past)
    return {id: name for _, id, name, _ in parts}


def list_former_parts(history: TableHistory, lake: LakeTable) -> dict[str, int]:
    """The columns with values from before the source table got its name; the id of the source's column."""
    parts = {
        name: split for name, split in read_record(lake.properties).split.items() if split.holds == FORMER
    }
    return {name: id for name, id in find_part_ids(history, parts).items() if name in lake.schema.names}


def find_part_ids(history: TableHistory, parts: Mapping[str, SplitColumn]) -> dict[str, int]:
    """The id of the source's column of each part; those whose version is unknown here are left out."""
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    placed = _place_parts(parts, incarnation, migration_source(history).past) if parts else ()
    return {name: id for _, id, name, _ in placed}


def find_free_name(name: str, taken: Collection[str]) -> str:
    """Find the first name of a part, `price__2`, `price__3` and so on, that is not taken in any case."""
    lowered, number = {n.lower() for n in taken}, _FIRST
    while f"{name}__{number}".lower() in lowered:
        number += 1
    return f"{name}__{number}"


_Part = tuple[int, int, str, str]
"""Where a part begins in the newest incarnation, its column's id, its name, and the source's name then."""


def _place_parts(
    splits: Mapping[str, SplitColumn],
    incarnation: Sequence[SchemaVersion],
    past: Sequence[PreviousVersion],
) -> list[_Part]:
    """The parts by where they begin; a part whose version is unknown here is left out.

    One from before all versions is of a table that had another name then: it begins with the first.
    """
    found: list[_Part] = []
    for name, split in splits.items():
        is_older = is_before(split.began, past)
        at = 0 if is_older else find_version(past, split.version, split.began)
        column = None if at is None else incarnation[at].schema.column(split.column)
        if at is not None and column is not None and column.id is not None:
            found.append((at, column.id, name, split.column))
    return sorted(found)


def _follow_name(part: _Part, versions: Sequence[SchemaVersion], there: Collection[str]) -> _Part:
    """The part as the last of these versions has it, without a name of its own where the lake has none such.

    Such a part got the names of its column since, and has that of its first version again if the column has.
    """
    begin, id, name, then = part
    columns = (_find_column(version, id) for version in versions[begin:])
    is_renamed = name not in there and any(c is not None and c.name != then for c in columns)
    return (begin, id, name, "") if is_renamed else part


def _split_version(version: SchemaVersion, parts: Sequence[_Part]) -> SchemaVersion:
    """A version with the parts that have begun: of each column the last one."""
    if not parts:
        return version
    ids = {id: (-1 - number, name, column) for number, (_, id, name, column) in enumerate(parts)}

    def part(column: Column) -> Column:
        if column.id not in ids:
            return column
        id, name, then = ids[column.id]
        return replace(column, id=id, name=name if column.name == then else column.name)

    def split(schema: TableSchema) -> TableSchema:
        names = {c.name: part(c).name for c in schema.columns}
        return replace(
            schema, columns=tuple(map(part, schema.columns)), key=tuple(names.get(n, n) for n in schema.key)
        )

    names = {c.name: part(c).name for c in version.schema.columns}
    facts = (fact.partition(":") for fact in version.unconfirmed)
    return replace(
        version,
        revisions=tuple(replace(r, schema=split(r.schema)) for r in version.revisions),
        unconfirmed=tuple(f"{kind}{sign}{names.get(name, name)}" for kind, sign, name in facts),
        candidates=tuple(replace(c, new=names.get(c.new, c.new)) for c in version.candidates),
    )


def _name_former(version: SchemaVersion, *before: SchemaVersion) -> SchemaVersion:
    """A version whose candidates name parts of the version before; `before` is that one, split and not."""
    if not before or not version.candidates:
        return version
    split, whole = (v.schema.columns for v in before)
    names = {was.name: part.name for was, part in zip(whole, split, strict=True)}
    return replace(
        version, candidates=tuple(replace(c, old=names.get(c.old, c.old)) for c in version.candidates)
    )


def _find_column(version: SchemaVersion, id: int | None) -> Column | None:
    return next((c for c in version.schema.columns if c.id == id), None)


def _is_alike(one: Column, other: Column) -> bool:
    return one.type == other.type and one.name == other.name


def _find_name(parts: Sequence[_Part], name: str) -> str:
    return next((part for _, _, part, column in reversed(parts) if column == name), name)
