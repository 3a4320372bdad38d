"""The walk along the timeline of one table: each point supports a version, contradicts one, or begins one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import takewhile

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import FormChange
from schemaman.history.fold.ambiguity import (
    MAX_OLDER_VERSIONS,
    describe_open_change,
    list_ambiguities,
    list_moves,
)
from schemaman.history.fold.column_ids import ColumnIdentifier
from schemaman.history.fold.ddl_statements import (
    PendingStatements,
    describe_inserted_columns,
    find_inserted_columns,
    has_name_swap,
)
from schemaman.history.fold.declared_structure import complete_declared
from schemaman.history.fold.encoding import Encoding
from schemaman.history.fold.event_encoding import read_event_fields
from schemaman.history.fold.event_match import fit_columns
from schemaman.history.fold.inferred_versions import learn_types
from schemaman.history.fold.key_history import assume_key
from schemaman.history.fold.matched_events import EarlyEvent, EmittedEvents, match_event
from schemaman.history.fold.open_versions import Incarnations, OpenVersions
from schemaman.history.fold.repeated_events import EventRepetition, find_state
from schemaman.history.fold.stated_indexes import StatedIndexes
from schemaman.history.fold.timeline import Point, is_incarnation_only
from schemaman.history.fold.version_builder import (
    NO_CAVEATS,
    OpenVersion,
    VersionCaveats,
    VersionShape,
    is_untyped,
    learn_key,
)
from schemaman.history.fold.writers import (
    ALTERNATION,
    PERHAPS_TWO_WRITERS,
    WRITERS_DIFFER,
    Writers,
    describe_lag,
    fingerprint_shape,
)
from schemaman.history.versions import Ending, Revision
from schemaman.model.schema import TableId, TableSchema, fingerprint


@dataclass(frozen=True, slots=True)
class TableWalk:
    """What the points of one table have shown so far, each kind of fact in a value of its own.

    `open_changes` are the changes of form that no other table decides.
    """

    table: TableId
    find_connector: Callable[[str], Connector]
    encoding: Encoding
    open_changes: tuple[FormChange, ...]
    identify: ColumnIdentifier = field(default_factory=ColumnIdentifier)
    incarnations: Incarnations = field(default_factory=Incarnations)
    versions: OpenVersions = field(default_factory=OpenVersions)
    events: EmittedEvents = field(default_factory=EmittedEvents)
    statements: PendingStatements = field(default_factory=PendingStatements)
    writers: Writers = field(default_factory=Writers)
    indexes: StatedIndexes = field(default_factory=StatedIndexes)
    repetition: EventRepetition = field(default_factory=EventRepetition)


@dataclass(frozen=True, slots=True)
class ShownStructure:
    """A structure that a record shows: `after` are the coordinates of the record before it."""

    point: Point
    schema: TableSchema
    after: Coordinates | None
    is_declared: bool

    def with_schema(self, schema: TableSchema) -> ShownStructure:
        """Return it with another schema; the same object if it has that one."""
        if schema is self.schema:
            return self
        return ShownStructure(self.point, schema, self.after, self.is_declared)


def walk_points(walk: TableWalk, points: list[Point]) -> tuple[EarlyEvent, ...]:
    """Take the points in order; return the events that no structure declared before them explains."""
    after: Coordinates | None = None
    early_events: list[EarlyEvent] = []
    for point in points:
        if walk.repetition.is_repeated(point.observation):
            walk.versions.newest.points.append(point)
            walk.events.epochs.repeat_event(point)
            after = point.coordinates
            continue
        state = find_state(walk.versions, len(walk.events.epochs.epochs))
        early = _add_point(walk, point, after)
        is_same = state.is_same(find_state(walk.versions, len(walk.events.epochs.epochs)))
        has_context = _has_context(walk)
        walk.repetition.note_point(
            point.observation,
            is_shown=not has_context and _is_shown(walk, point.observation),
            has_changed=not is_same or has_context,
        )
        if early is not None:
            early_events.append(early)
        elif _is_in_order(point):
            after = point.coordinates
    return tuple(early_events)


def _has_context(walk: TableWalk) -> bool:
    """Whether more than the newest version decides about an event, or its structures were declared."""
    return bool(
        walk.writers.alternating
        or walk.encoding.has_changes
        or walk.incarnations.has_ended
        or walk.versions.newest.is_declared
        or walk.versions.newest.caveats.is_key_unknown
    )


def _is_shown(walk: TableWalk, observation: Observation) -> bool:
    """Whether the newest version has the schema of an event as it is, and no statement waits to be shown."""
    schema = observation.schema
    return (
        schema is not None
        and walk.identify.has_identified(schema, walk.versions.newest.schema)
        and walk.encoding.is_plain(observation, schema)
        and not walk.statements.has_column_changes
    )


def _is_in_order(point: Point) -> bool:
    """Whether what follows is after a point.

    A point without a schema, or with that of a later version, may be after the end of the old version.
    """
    observation = point.observation
    return observation.action not in ("statement", "truncate") and not is_incarnation_only(observation)


def _add_point(walk: TableWalk, point: Point, after: Coordinates | None) -> EarlyEvent | None:
    """Go on by one point; return it if it is an event that no structure explains so far."""
    observation = point.observation
    if is_incarnation_only(observation):
        _recreate_table(walk, point)
    elif observation.action == "drop" and observation.previous is not None:
        walk.statements.unseen = point
    elif observation.action == "drop":
        _end_incarnation(walk, "dropped", point.coordinates, None)
    elif observation.action == "truncate":
        if not walk.incarnations.has_ended and point.coordinates == observation.first:
            walk.incarnations.truncate(point.coordinates)
    elif observation.previous == walk.table and observation.table != walk.table:
        _end_incarnation(walk, "renamed", point.coordinates, observation.table)
    elif observation.action == "statement":
        walk.statements.add_statement(point)
    else:
        if observation.action == "rename" or (observation.action == "create" and _is_older(walk, point)):
            _end_incarnation(walk, "dropped", point.coordinates, None)
        if observation.schema is not None:
            declared = observation.evidence in STATEMENT_KINDS
            return _add_structure(walk, ShownStructure(point, observation.schema, after, declared))
        if observation.evidence == "internal" or observation.action == "create":
            _recreate_table(walk, point)
            if walk.incarnations.is_unshown:
                walk.statements.unseen = point
    return None


def _is_older(walk: TableWalk, point: Point) -> bool:
    """Whether the newest incarnation began before a point, and not with the very statement there."""
    own = (v.at for v in walk.versions.in_order if v.incarnation == walk.incarnations.number)
    began = next(own, point.coordinates)
    return began.position != point.coordinates.position and point.coordinates.position.kind != "none"


def _recreate_table(walk: TableWalk, point: Point) -> None:
    """Begin an incarnation under the name of an ended table; no record has shown its schema yet."""
    if walk.versions.in_order:
        walk.incarnations.create_unshown(point.coordinates)


def _end_incarnation(walk: TableWalk, kind: Ending, at: Coordinates, other: TableId | None) -> None:
    """The newest incarnation is over; a table that never was cannot end."""
    if walk.incarnations.has_ended and not walk.incarnations.is_unshown:
        return
    if not walk.incarnations.is_unshown:
        walk.versions.newest.until = at
    walk.incarnations.end_newest(kind, at, other)
    walk.statements.forget_statements()


def _add_structure(walk: TableWalk, shown: ShownStructure) -> EarlyEvent | None:
    """A structure was seen: it supports a version, contradicts one, or begins one."""
    walk.statements.unseen = None
    current = None if walk.incarnations.has_ended else walk.versions.newest
    if shown.is_declared:
        declared = current if current is not None and current.is_declared else None
        schema = complete_declared(shown.point, shown.schema, declared, walk.versions, walk.indexes)
        shown = shown.with_schema(schema)
    if current is None:
        _begin_incarnation(walk, shown)
        return None
    shown = shown.with_schema(_complete_key(walk.versions, shown))
    if shown.is_declared:
        _add_declared(walk, shown)
        key, newest = shown.schema.key, walk.versions.newest
        is_doubted = bool(key) and key == walk.indexes.doubted_key
        newest.caveats = replace(newest.caveats, is_key_doubted=is_doubted)
        return None
    if current.is_declared:
        return match_event(walk.versions, walk.events, shown.point, shown.schema)
    _add_event(walk, shown)
    return None


def _complete_key(versions: OpenVersions, shown: ShownStructure) -> TableSchema:
    """Return a schema with the key of its table, as far as known, if its record does not show its key.

    A record that shows the key shows it for the versions before, too, whose records do not.
    """
    current, observation = versions.newest, shown.point.observation
    if observation.is_key_unknown:
        schema = shown.schema
        return schema if current.is_declared else assume_key(schema, current.schema, observation)
    for version in takewhile(lambda v: v.caveats.is_key_unknown, versions.list_newest_first()):
        learn_key(version, shown.schema.key, observation)
    return shown.schema


def _begin_incarnation(walk: TableWalk, shown: ShownStructure) -> None:
    """The first structure of a table, or of a new one under an old name."""
    observation = shown.point.observation
    walk.incarnations.begin_shown()
    walk.encoding.begin_table(observation)
    walk.writers.begin_table()
    walk.indexes.begin_table(observation, shown.schema.key)
    walk.statements.begin_table(observation)
    if not walk.versions.in_order:
        shown = replace(shown, after=None)
    known = walk.identify(None, shown.schema, (), False, walk.versions.next_id)
    version = _open_version(walk, shown.with_schema(known))
    if not shown.is_declared:
        walk.writers.latest |= {observation.writer: version}
        walk.events.add_event(shown.point, version, read_event_fields(shown.schema, shown.schema))


def _add_declared(walk: TableWalk, shown: ShownStructure) -> None:
    """A declared image refines what events had shown already, or is followed."""
    current, observation = walk.versions.newest, shown.point.observation
    if not current.is_declared:
        fit = fit_columns(shown.schema, current.schema)
        recreated = walk.statements.has_recreated(observation)
        if fit.is_exact and not has_name_swap(observation.renames) and not recreated:
            current.refine_structure(fit, shown.schema, shown.point)
            return
    _continue_version(walk, shown)


def _add_event(walk: TableWalk, shown: ShownStructure) -> None:
    """Add an event or a row of a table without declared structures."""
    point, versions = shown.point, walk.versions
    observation = point.observation
    restored = walk.encoding.restore_schema(
        point.coordinates, observation, shown.schema, versions.newest.schema
    )
    for kind, message in restored.remarks:
        versions.record_disagreement(kind, versions.newest, message, point)
    own = shown.with_schema(restored.schema)
    version = _support_version(walk, own) or _continue_version(walk, own)
    if observation.writer:
        walk.writers.latest[observation.writer] = version
    if not walk.events.epochs.extend_run(point):
        walk.events.add_event(point, version, read_event_fields(shown.schema, restored.schema))


def _support_version(walk: TableWalk, shown: ShownStructure) -> OpenVersion | None:
    """Add a record to the earlier version that it is of, where a table has several writers, or None."""
    point, versions = shown.point, walk.versions
    observation, newest = point.observation, versions.newest
    version = walk.writers.find_version(observation, shown.schema, versions)
    if version is None or version is newest:
        return None
    version.points.append(point)
    if is_untyped(observation):
        learn_types(version, shown.schema)
    if observation.writer:
        message = describe_lag(observation.writer, versions.find_number(version))
        versions.record_disagreement(WRITERS_DIFFER, newest, message, point)
    else:
        later = max(walk.writers.alternating.values(), key=versions.find_number)
        versions.record_disagreement(PERHAPS_TWO_WRITERS, later, ALTERNATION, point)
    return version


def _continue_version(walk: TableWalk, shown: ShownStructure) -> OpenVersion:
    """Same shape: support, or a revision of attributes. Another shape: another version.

    Return the version of the record.
    """
    point, schema, versions = shown.point, shown.schema, walk.versions
    current, observation = versions.newest, point.observation
    if is_untyped(observation) and learn_types(current, schema):
        current.points.append(point)
        return current
    # the order of fields in JSON proves nothing, and runs of rows do not end where it changes
    append_only = walk.find_connector(observation.connector).append_only and not is_untyped(observation)
    renames = walk.statements.take_renames(observation, schema)
    anew = walk.statements.take_recreated(observation)
    foreign = find_inserted_columns(current.schema, schema) if shown.is_declared and append_only else ()
    ordered = append_only and not foreign
    known = walk.identify(current.schema, schema, renames, ordered, versions.next_id, anew)
    is_other = known is not current.schema
    is_new = is_other and (not _has_same_columns(known, current.schema) or fingerprint(known) != current.id)
    has_changed = is_other and known != current.schema
    named = shown.with_schema(known)
    if is_new and not (shown.is_declared or renames or anew):
        merged = _merge_alternating(walk, named)
        if merged is not None:
            return merged
    moves = list_moves(current.schema, known) if ordered and has_changed else ()
    if is_new:
        return _begin_version(walk, named, moves, foreign)
    current.points.append(point)
    if has_changed:
        for kind, message in moves:
            versions.record_disagreement(kind, current, message, point)
        current.add_revision(known, point.coordinates, shown.after)
    return current


def _has_same_columns(one: TableSchema, other: TableSchema) -> bool:
    """Whether both have the same columns, in any order, under the same names."""
    if len(one.columns) != len(other.columns):
        return False
    return {(c.id, c.name) for c in one.columns} == {(c.id, c.name) for c in other.columns}


def _begin_version(
    walk: TableWalk, shown: ShownStructure, moves: tuple[tuple[str, str], ...], foreign: tuple[str, ...]
) -> OpenVersion:
    """Begin a version after another one; `foreign` are columns that may be of another table."""
    point, versions = shown.point, walk.versions
    before = versions.newest
    previous = [p.observation for p in before.points]
    recent = versions.in_order[-1 - MAX_OLDER_VERSIONS : -1]
    older = [v.schema for v in recent if v.incarnation == before.incarnation]
    version = _open_version(walk, shown)
    for kind, message in moves:
        versions.record_disagreement(kind, version, message, point)
    if not shown.is_declared:
        ambiguities = list_ambiguities(before.schema, shown.schema, previous, point.observation, older)
        for kind, message in ambiguities:
            versions.record_disagreement(kind, version, message, point)
        _mark_uncertain_types(walk, version, point)
    if walk.statements.has_statement or foreign:
        version.caveats = replace(
            version.caveats, has_statement=walk.statements.has_statement, is_phantom=bool(foreign)
        )
    walk.statements.end_statements()
    if foreign:
        message = describe_inserted_columns(foreign, walk.table)
        versions.record_disagreement("foreign-columns", version, message, point)
    return version


def _merge_alternating(walk: TableWalk, shown: ShownStructure) -> OpenVersion | None:
    """Undo a version that only began because two structures alternate; return the one of this record."""
    point, versions = shown.point, walk.versions
    found = walk.writers.find_alternation(point.observation, shown.schema, versions)
    if found is None:
        return None
    version, other = found
    undone = versions.newest
    if undone is not other:
        versions.merge_newest(other)
    version.points.append(point)
    walk.writers.alternating |= {version.id: version, other.id: other}
    newest = max(found, key=versions.find_number)
    for one in (undone.points[0], point):
        versions.record_disagreement(PERHAPS_TWO_WRITERS, newest, ALTERNATION, one)
    return version


def _mark_uncertain_types(walk: TableWalk, version: OpenVersion, point: Point) -> None:
    """Columns of a new version whose form a setting may have changed are not certain."""
    for change in walk.open_changes:
        if change.at == point.coordinates:
            version.mark_uncertain_types(change.columns)
            kind, message = describe_open_change(change)
            walk.versions.record_disagreement(kind, version, message, point)


def _open_version(walk: TableWalk, shown: ShownStructure) -> OpenVersion:
    """Begin a version at a point."""
    point, number, versions = shown.point, walk.incarnations.number, walk.versions
    shape = VersionShape(
        fingerprint_shape(shown.schema, point.observation),
        (Revision(0, shown.schema, point.coordinates),),
        shown.is_declared,
    )
    is_first = not versions.in_order or versions.newest.incarnation != number
    is_key_unknown = point.observation.is_key_unknown and (is_first or versions.newest.caveats.is_key_unknown)
    caveats = VersionCaveats(is_key_unknown=True) if is_key_unknown else NO_CAVEATS
    version = OpenVersion(number, shown.after, point.coordinates, shape, [point], caveats)
    versions.add_version(version)
    return version
