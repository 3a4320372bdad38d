"""Map the nested fields of each version of a source to those of a lake table, as far as decisions go.

Nested fields have no id. One whose name may mean another field now waits for an answer. A dropped one
has no field in the lake if another field has its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.history.past_versions import CurrentField
from schemaman.history.struct_fields import (
    Question,
    UnsettledFields,
    find_unsettled_fields,
    format_path,
    lower_path,
    rename_parents,
    trace_fields,
)
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import Column, Path, TableSchema, walk_fields
from schemaman.model.types import Array, Map, Struct, Type
from schemaman.sink.values.struct_values import FieldRenaming, make_renaming

_UNDECIDED_RENAME = (
    "rename of a nested field not decided: {} has a value, and it may be that {} became {}: use "
    "`schemaman decide rename {} {} {}`, or not-rename"
)


def find_field_renamings(
    undecided: TableHistory, joined: TableHistory, stamped: int | None, lake_types: Mapping[int, Type]
) -> Iterator[tuple[tuple[int, str], FieldRenaming]]:
    """The columns of each version whose nested fields have other names in the lake, or have to wait.

    Each by the version's number and its name there. `joined` is the history with more renames applied.
    `stamped` is the version that the table's stamp means. `lake_types` are the types of the lake's columns,
    by the ids that the columns have in `undecided`.
    """
    incarnation = joined.latest.incarnation
    pairs = [
        (v, w)
        for v, w in zip(undecided.versions, joined.versions, strict=True)
        if w.incarnation == incarnation
    ]
    if not any(isinstance(type, Array | Map | Struct) for type in lake_types.values()):
        return
    versions = [w for _, w in pairs]
    at = -1 if stamped is None else stamped
    for ids, known in _group_by_last_version(versions, at, str(joined.table)):
        for index, (version, same) in enumerate(pairs[: len(known)]):
            for column, other in zip(version.schema.columns, same.schema.columns, strict=True):
                if other.id not in ids or column.id is None or column.id not in lake_types:
                    continue
                fields = known[index].get(other.id)
                if fields is None:
                    continue
                lake = lake_types[column.id]
                dropped = fields.dropped | {
                    path for path, made in fields.uncertain_renames.items() if not _has_renames(made, lake)
                }
                current_names = {
                    p: name for p, name in fields.later_names.items() if _has_path(lake, (*p[:-1], name))
                }
                dropped |= fields.later_names.keys() - current_names.keys()
                found = make_renaming(
                    column.type,
                    lake,
                    fields.current_names | current_names,
                    dropped,
                    fields.undecided,
                    fields.certain_names,
                )
                if found is not None:
                    yield (version.number, column.name), found


@dataclass(slots=True)
class _KnownFields:
    """The known state of the nested fields of a column of a version, by their paths below it.

    `uncertain_renames` are dropped, too, unless the lake made each of these renames inside of them (None:
    unknown). `later_names` were dropped under another name: dropped, too, unless the lake has that name.
    `certain_names`: their names in the lake; without them the lake has no such field.
    """

    current_names: dict[Path, str] = field(default_factory=dict)
    certain_names: dict[Path, str] = field(default_factory=dict)
    dropped: set[Path] = field(default_factory=set)
    undecided: dict[Path, str] = field(default_factory=dict)
    uncertain_renames: dict[Path, _Renames | None] = field(default_factory=dict)
    later_names: dict[Path, str] = field(default_factory=dict)


_Renames = set[tuple[Path, Path]]
"""Earlier and later paths of nested fields, in lower case, below the column."""

_FieldsByColumn = list[dict[int | None, _KnownFields]]


def _group_by_last_version(
    versions: Sequence[SchemaVersion], stamped: int, table: str
) -> Iterator[tuple[set[int], _FieldsByColumn]]:
    """The ids of nested columns in the newest version, then of dropped ones, with their known fields.

    Nested fields of a dropped column have the names of the last version that had it.
    """
    last = {
        c.id: at
        for at, version in enumerate(versions)
        for c in version.schema.columns
        if c.id is not None and isinstance(c.type, Array | Map | Struct)
    }
    for end in sorted(set(last.values()), reverse=True):
        yield (
            {id for id, at in last.items() if at == end},
            _collect_known_fields(versions[: end + 1], stamped, table),
        )


def _collect_known_fields(versions: Sequence[SchemaVersion], stamped: int, table: str) -> _FieldsByColumn:
    """The known nested fields of each version by the names of the last one; the table is at `stamped`."""
    ids = {c.name: c.id for c in versions[-1].schema.columns}
    current_paths = {lower_path(path) for path, _, _ in walk_fields(versions[-1].schema)}
    lake = _StampedFields(versions, stamped)
    found: _FieldsByColumn = [{} for _ in versions]
    traces, unsettled = trace_fields(versions, {}), find_unsettled_fields(versions)
    inner_renames = _find_inner_renames(traces, unsettled)
    for index, (parts, unsettled_fields) in enumerate(zip(traces, unsettled, strict=True)):
        for id, path, name in lake.list_names(index):
            fields = found[index].setdefault(id, _KnownFields())
            fields.certain_names[path] = name
            # A field that was renamed by hand in the lake since has its current name.
            fields.current_names[path] = path[-1]
        for id, path in lake.list_name_clashes(index):
            found[index].setdefault(id, _KnownFields()).dropped.add(path)
        for path in parts.keys() | unsettled_fields.questions.keys():
            fields = found[index].setdefault(ids[path[0]], _KnownFields())
            current, question = parts.get(path, CurrentField(path[-1])), unsettled_fields.questions.get(path)
            if (question or current.name is None) and path[1:] in fields.certain_names:
                del fields.current_names[path[1:]]
                continue
            if question is not None:
                fields.undecided[path[1:]] = _explain_undecided(path, question, table)
            elif current.name is not None:
                fields.current_names[path[1:]] = current.name
                if lower_path((*rename_parents(path, parts)[:-1], path[-1])) in current_paths:
                    fields.certain_names.setdefault(path[1:], current.name)
            elif (
                path in unsettled_fields.lost
                or (position := lower_path(_find_last_path(path, parts, unsettled_fields))) in current_paths
            ):
                fields.dropped.add(path[1:])
            elif path in unsettled_fields.new_names:
                fields.later_names[path[1:]] = unsettled_fields.new_names[path]
            elif position in inner_renames:
                fields.uncertain_renames[path[1:]] = inner_renames[position]
    return found


def _find_inner_renames(
    traces: Sequence[Mapping[Path, CurrentField]], unsettled: Sequence[UnsettledFields]
) -> dict[Path, _Renames | None]:
    """Paths of dropped fields inside of which fields were renamed before, with these renames.

    No stamp records whether a table made those renames before the whole was dropped. Its names show it, where
    no other field had one of them and no question is open inside (else None).
    """
    found: dict[Path, _Renames] = {}
    others: set[Path] = set()
    for parts, unsettled_fields in zip(traces, unsettled, strict=True):
        others |= {
            lower_path(rename_parents(path, parts))
            for path in unsettled_fields.questions.keys() | unsettled_fields.lost
        }
        for path, current in parts.items():
            old = lower_path(rename_parents(path, parts))
            if current.name is None or not current.is_sure:
                others.add(old)
            if current.name is None or current.name.lower() == path[-1].lower():
                continue
            for length in (n for n in range(2, len(path)) if parts.get(path[:n]) == CurrentField(None)):
                renames = found.setdefault(old[:length], set())
                renames.add((old[1:], (*old[1:-1], current.name.lower())))
    unknown = {outer for outer in found if any(o[: len(outer)] == outer and o != outer for o in others)}
    return {outer: None if outer in unknown else renames for outer, renames in found.items()}


def _find_last_path(path: Path, parts: Mapping[Path, CurrentField], open: UnsettledFields) -> Path:
    """The last path of a nested field, by the current names of its parents."""
    return (*rename_parents(path, parts)[:-1], open.new_names.get(path, path[-1]))


def _has_path(lake: Type, path: Path) -> bool:
    return lower_path(path) in {
        lower_path(at[1:]) for at, _, _ in walk_fields(TableSchema((Column("", lake),)))
    }


def _has_renames(renames: _Renames | None, lake: Type) -> bool:
    """Whether a lake's column has the later names of nested fields, and none of the earlier ones."""
    there = {lower_path(path[1:]) for path, _, _ in walk_fields(TableSchema((Column("", lake),)))}
    return renames is not None and all(new in there and old not in there for old, new in renames)


def _explain_undecided(path: Path, question: Question, table: str) -> str:
    old, new = map(format_path, question)
    return _UNDECIDED_RENAME.format(format_path(path), old, new, table, old, new)


@dataclass(frozen=True, slots=True)
class _StampedFields:
    """The nested fields of a table that stayed at version `version_index`, with no rename since.

    Only a policy lets rows into such a table.
    """

    versions: Sequence[SchemaVersion]
    version_index: int

    def list_names(self, at: int) -> Iterator[tuple[int | None, Path, str]]:
        """The table's names of those nested fields of version number `at` whose identity is certain.

        Each with the id of its column and its path below that.
        """
        ids, ends = self._map_paths(at)
        several = Counter(lower_path(end) for end in ends.values() if end is not None)
        for path, end in ends.items():
            if end is None or several[lower_path(end)] > 1 or len(path) < 2:
                continue
            here, name = (path, end[-1]) if at <= self.version_index else (end, path[-1])
            yield ids[path[0]], here[1:], name

    def list_name_clashes(self, at: int) -> Iterator[tuple[int | None, Path]]:
        """The nested fields of a later version whose name the table has for another field."""
        ids, ends = self._map_paths(at) if at > self.version_index else ({}, {})
        taken = set(map(lower_path, ends))
        stamped_paths = {lower_path(end): path for path, end in ends.items() if end is not None}
        for path, _, _ in walk_fields(self.versions[at].schema) if ends else ():
            holder = stamped_paths.get(lower_path(path[:-1]))
            if path[0] not in ids or holder is None or lower_path(path) in stamped_paths:
                continue
            if lower_path((*holder, path[-1])) in taken:
                yield ids[path[0]], path[1:]

    def _map_paths(self, at: int) -> tuple[dict[str, int | None], dict[Path, Path | None]]:
        """Map the nested fields of the earlier of two versions, `at` and the table's, to the later one.

        The first result is the ids of columns by their names there. None where a field is uncertain or
        dropped.
        """
        if not 0 <= self.version_index < len(self.versions) - 1:
            return {}, {}
        first, last = sorted((at, self.version_index))
        window = self.versions[first : last + 1]
        parts, open = trace_fields(window, {})[0], find_unsettled_fields(window)[0]
        ids = {c.name: c.id for c in window[-1].schema.columns}
        called = {id: name for name, id in ids.items()}
        then = (replace(c, name=called[c.id]) for c in window[0].schema.columns if c.id in called)
        return ids, {
            path: _follow_path(path, parts, open) for path, _, _ in walk_fields(TableSchema(tuple(then)))
        }


def _follow_path(path: Path, parts: Mapping[Path, CurrentField], open: UnsettledFields) -> Path | None:
    """The path of a nested field in the last version, if it is certain for it and for all its parents."""
    found = path[:1]
    for length in range(2, len(path) + 1):
        now = parts.get(path[:length], CurrentField(path[length - 1]))
        if now.name is None or not now.is_sure or path[:length] in open.questions:
            return None
        found = (*found, now.name)
    return found
