"""A history as something that a lake table can follow: its newest version, and what columns were before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from schemaman.history import struct_fields as struct_fields
from schemaman.history.untyped_columns import is_read_as_texts, read_as_texts
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.plan import MigrationSource, PreviousVersion
from schemaman.model.schema import Path, walk_comments

Pair = tuple[str, str]
ColumnId = int | None


def migration_source(
    history: TableHistory,
    answers: Mapping[Pair, bool] | None = None,
    *,
    proven: bool = False,
    newer: Sequence[SchemaVersion] = (),
) -> MigrationSource:
    """The newest version of a table as something to follow, with what its columns were called before.

    `answers` are people's decisions on renames: (old name, new name) → whether it is one column; with
    `proven`, renames that nobody has answered and the evidence proves are taken for renames too. Only the
    newest incarnation counts: a table that was dropped and made again shares no column with the old. `newer`
    are versions that came after the newest one of a history that was cut off there. Columns without a type
    are texts.
    """
    history = read_as_texts(history)
    newest = history.latest
    versions = [v for v in history.versions if v.incarnation == newest.incarnation]
    on_proof = _find_proven_renames(versions, answers or {}) if proven else {}
    answered = {**dict.fromkeys(on_proof, True), **(answers or {})}
    same = _match_ids(versions, answered)
    now = {same.get(c.id, c.id): c.name for c in newest.schema.columns}
    types = {same.get(c.id, c.id): c.type for c in newest.schema.columns}
    came = {same.get(id, id) for ids in on_proof.values() for id in ids}
    field_names = struct_fields.trace_fields(versions, same)
    past = tuple(
        PreviousVersion(
            v.id,
            _began_document(v),
            {c.name: now.get(same.get(c.id, c.id)) for c in v.schema.columns},
            v.previous_ids,
            field_names[number],
            {c.name: c.type for c in v.schema.columns if types.get(same.get(c.id, c.id), c.type) != c.type},
            {c.name: id for c in v.schema.columns if (id := same.get(c.id, c.id)) is not None},
        )
        for number, v in enumerate(versions)
    )
    ended = tuple(_name_version(v) for v in history.versions if v.incarnation != newest.incarnation)
    formers: dict[str, dict[str, None]] = {}
    for earlier in reversed(past):
        for then, name in earlier.names.items():
            if name is not None and name != then:
                formers.setdefault(name, {})[then] = None
    return MigrationSource(
        table=str(history.table),
        version=newest.number,
        id=newest.id,
        revision=newest.revision,
        schema=newest.schema,
        began=_began_document(newest),
        former_names={name: tuple(thens) for name, thens in formers.items()},
        unanswered=_list_unanswered(versions, answered, now),
        past=past,
        ended=ended,
        newer=tuple(map(_name_version, newer)),
        proven=tuple(sorted(now[id] for id in came if id in now)),
        unsure_types=tuple(f.removeprefix("type:") for f in newest.unconfirmed if f.startswith("type:")),
        inferred=newest.status == "inferred" and not is_read_as_texts(newest),
        untyped=is_read_as_texts(newest),
        phantom=newest.status == "phantom",
        accepted_types=history.accepted_types,
        former_comments=_list_former_comments(versions, same),
    )


def _list_former_comments(
    versions: Sequence[SchemaVersion], same: Mapping[ColumnId, ColumnId]
) -> dict[Path, tuple[str, ...]]:
    """List the earlier comments of what has no comment now; nested fields by the names that they have now."""
    newest = versions[-1].schema
    now = {same.get(c.id, c.id): c.name for c in newest.columns if c.id is not None}
    bare = {path for path, comment in walk_comments(newest) if not comment}
    found: dict[Path, dict[str, None]] = {}
    for revision in (revision for version in versions for revision in version.revisions):
        names = {c.name: now.get(same.get(c.id, c.id)) for c in revision.schema.columns}
        for path, comment in walk_comments(revision.schema):
            name = names.get(path[0]) if path else ""
            current = (name, *path[1:]) if path and name is not None else path
            if comment and name is not None and current in bare:
                found.setdefault(current, {})[comment] = None
    return {path: tuple(comments) for path, comments in found.items()}


def _find_proven_renames(
    versions: Sequence[SchemaVersion], answers: Mapping[Pair, bool]
) -> dict[Pair, tuple[ColumnId, ...]]:
    """Each pair that evidence proves and nobody has answered, with the ids of the column that came."""
    found: dict[Pair, tuple[ColumnId, ...]] = {}
    for version in versions:
        for candidate in version.candidates:
            pair = candidate.old, candidate.new
            column = version.schema.column(candidate.new)
            if candidate.grade == "proven" and pair not in answers and column is not None:
                found[pair] = (*found.get(pair, ()), column.id)
    return found


def _match_ids(versions: Sequence[SchemaVersion], answers: Mapping[Pair, bool]) -> dict[ColumnId, ColumnId]:
    """Column id → the id of the same column earlier, where a person said that it is the same."""
    same: dict[ColumnId, ColumnId] = {}
    for before, after in pairwise(versions):
        for old, new in (pair for pair, yes in answers.items() if yes):
            dropped, added = before.schema.column(old), after.schema.column(new)
            if dropped and added and not before.schema.column(new) and not after.schema.column(old):
                same[added.id] = same.get(dropped.id, dropped.id)
    return same


def _list_unanswered(
    versions: Sequence[SchemaVersion], answers: Mapping[Pair, bool], now: Mapping[int | None, str]
) -> tuple[Pair, ...]:
    asked: dict[Pair, None] = {}
    # A successor's history begins with its first version: the columns from before it are in another table.
    for version in versions[1:]:
        for candidate in version.candidates:
            column = version.schema.column(candidate.new)
            name = now.get(column.id) if column else None
            if (candidate.old, candidate.new) not in answers and name is not None:
                asked[candidate.old, name] = None
    return tuple(asked)


def _name_version(version: SchemaVersion) -> PreviousVersion:
    """A version as a stamp may name it, of which nothing but that matters."""
    return PreviousVersion(version.id, _began_document(version), previous_ids=version.previous_ids)


def _began_document(version: SchemaVersion) -> dict[str, object]:
    at = version.at
    return {
        "position": {"kind": at.position.kind, "value": at.position.value},
        "topic": at.topic,
        "partition": at.partition,
        "offset": at.offset,
    }
