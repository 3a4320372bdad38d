"""The fold: observations of one table → its versions, incarnations, aliases, disagreements.

Law: the history is a function of the set of observations. Their order, their repetition, and the cuts of runs
by several ingests do not matter.

If schema-change records declare the schemas, these make the versions, and events support or contradict them.
Without declarations (PostgreSQL), the schemas of events make the versions. Inferred schemas make versions
only without other evidence; otherwise only their records count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import STATEMENT_KINDS, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import NO_SETTINGS_SHOWN, UNDECIDED, FormChange, Verdicts
from schemaman.history.fold.aliases import collect_aliases
from schemaman.history.fold.ambiguity import (
    ALTERED_UNSEEN,
    ALTERED_UNSEEN_MESSAGE,
    CREATED_UNSEEN_MESSAGE,
    MAX_OLDER_VERSIONS,
    describe_open_change,
    list_ambiguities,
    list_moves,
)
from schemaman.history.fold.column_ids import ColumnIdentifier
from schemaman.history.fold.connector_settings import find_shown_settings
from schemaman.history.fold.ddl_statements import (
    PendingStatements,
    complete_structure,
    describe_inserted_columns,
    find_inserted_columns,
    has_name_swap,
)
from schemaman.history.fold.disagreements import (
    CHANGED_WHILE_READ,
    find_changes_while_read,
    find_concurrent_connectors,
)
from schemaman.history.fold.encoding import NAMING_FORMS, Encoding
from schemaman.history.fold.event_encoding import (
    EventEncodingEpochs,
    EventFields,
    read_event_fields,
    select_event_fields,
)
from schemaman.history.fold.event_match import ColumnFit, find_fitting, fit_columns, list_differences
from schemaman.history.fold.inferred_versions import (
    DocumentVersions,
    build_document_versions,
    count_records,
    learn_types,
    split_by_weight,
)
from schemaman.history.fold.key_history import (
    EmittedKey,
    assume_key,
    build_key_spans,
    find_passing_keys,
)
from schemaman.history.fold.moved_columns import renumber_columns
from schemaman.history.fold.schema_history_check import is_schema_of, match_internal_schema
from schemaman.history.fold.stated_indexes import KEY_INDEX_DROPPED, StatedIndexes, describe_dropped_key
from schemaman.history.fold.timeline import (
    Point,
    build_timeline,
    find_time,
    is_incarnation_only,
    split_by_precedence,
)
from schemaman.history.fold.version_builder import (
    OpenVersion,
    count_undivided,
    find_shared_runs,
    is_untyped,
    learn_key,
    map_event_names,
)
from schemaman.history.fold.version_closing import close_versions
from schemaman.history.fold.writers import (
    ALTERNATION,
    PERHAPS_TWO_WRITERS,
    WRITERS_DIFFER,
    Writers,
    describe_lag,
    fingerprint_shape,
)
from schemaman.history.versions import Disagreement, Ending, Revision, TableEvent, TableHistory
from schemaman.model.schema import TableId, TableSchema, fingerprint

FindConnector = Callable[[str], Connector]


def fold(
    observations: Iterable[Observation],
    table: TableId,
    find_connector: FindConnector,
    verdicts: Verdicts = UNDECIDED,
) -> TableHistory | None:
    """The history of a table out of all observations that name it; None if none gives it a structure.

    `find_connector` gives the dialect of a connector by its name. `verdicts` are what the other tables of
    its server decide about the changes in its footprint (`epochs.decide`); without them each stays open.
    """
    own = [o for o in observations if table in (o.table, o.previous)]
    public, internal = split_by_precedence(own)
    single, documents, others = split_by_weight(public)
    line = build_timeline(single)
    names = {n for o in own if o.schema is not None for n in o.schema.names}
    # at one position, a table gives up its name before another table takes the name
    points = sorted(line.points, key=lambda p: (p.order, p.observation.table == table))
    declared = any(o.evidence in STATEMENT_KINDS and o.schema is not None for o in public)
    settings = NO_SETTINGS_SHOWN if declared else find_shown_settings(points)
    open_changes = [
        c for c in settings.changes if verdicts.get(c.id, "open") == "open" and c.was not in NAMING_FORMS
    ]
    building = _HistoryBuilder(
        table, find_connector, Encoding(names, verdicts, settings.changes), open_changes
    )
    for point in points:
        building.add_point(point)
    building.settle_early_events()
    for observation in line.repeated:
        building.add_repeated(observation)
    for observation in internal:
        building.check_internal(observation)
    building.flag_windows()
    if documents:
        building.add_document_versions(build_document_versions(documents))
    if not building.versions:
        return None
    count_records(building.versions, others)
    connector = max(public, key=lambda o: (find_time(o.last), o.connector)).connector
    spread = find_shared_runs(building.versions)
    versions = close_versions(building.versions, spread, find_connector)
    runs = (*dict.fromkeys(p.observation for p in points), *line.repeated)
    return TableHistory(
        table=table,
        connector=connector,
        versions=versions,
        aliases=collect_aliases(own, table),
        disagreements=building.list_disagreements(
            (*find_passing_keys(versions), *find_concurrent_connectors(runs, versions))
        ),
        events=tuple(building.events),
        epochs=tuple(building.event_epochs.epochs),
        settings_shown=settings,
        keys=build_key_spans(versions, building.versions, building.keys),
        identity="weak" if all(o.weak for o in own) else "source",
        shared_records=sum(map(count_undivided, spread)),
    )


class _HistoryBuilder:
    """The walk along the timeline; its versions are open until they are `closed`."""

    def __init__(
        self,
        table: TableId,
        find_connector: FindConnector,
        encoding: Encoding,
        open_changes: Iterable[FormChange],
    ) -> None:
        self.table = table
        self.find_connector = find_connector
        self.encoding = encoding
        self.identify, self.event_epochs = ColumnIdentifier(), EventEncodingEpochs()
        self.keys: list[tuple[OpenVersion, EmittedKey]] = []
        self.open_changes = tuple(open_changes)
        self.versions: list[OpenVersion] = []
        self.events: list[TableEvent] = []
        self.contradictions: dict[tuple[str, int, str], list[Coordinates]] = {}
        self.incarnation = 0
        self.has_ended, self.is_unshown = True, False
        self.next_id = 1
        self.last_mark: Coordinates | None = None
        self.statements = PendingStatements()
        self.writers = Writers()
        self.indexes = StatedIndexes()
        self.unseen_statement: Point | None = None
        self.is_key_from_snapshot = False
        self.early_events: list[tuple[Point, TableSchema, OpenVersion, str]] = []

    def add_point(self, point: Point) -> None:
        """Go on by one point."""
        observation = point.observation
        if is_incarnation_only(observation):
            self.recreate_table(point)
            return
        if observation.action == "drop":
            self.end_incarnation("dropped", point.coordinates, None)
        elif observation.action == "truncate":
            if not self.has_ended and point.coordinates == observation.first:
                self.events.append(TableEvent("truncated", point.coordinates, self.incarnation))
        elif observation.previous == self.table and observation.table != self.table:
            self.end_incarnation("renamed", point.coordinates, observation.table)
        elif observation.action == "statement":
            self.statements.add_statement(observation)
            self.unseen_statement = point
        else:
            if observation.action == "rename" or (observation.action == "create" and self.is_older(point)):
                self.end_incarnation("dropped", point.coordinates, None)
            if observation.schema is not None:
                self.add_structure(point, observation.schema)
            elif observation.evidence == "internal" or observation.action == "create":
                self.recreate_table(point)
                self.unseen_statement = point if self.is_unshown else self.unseen_statement
        # a point without a schema, or with that of a later version, may be after the end of the old version
        early = bool(self.early_events) and self.early_events[-1][0] is point
        if observation.action not in ("statement", "truncate") and not early:
            self.last_mark = point.coordinates

    def is_older(self, point: Point) -> bool:
        """Whether the newest incarnation began before a point, and not with the very statement there."""
        began = next((v.at for v in self.versions if v.incarnation == self.incarnation), point.coordinates)
        return began.position != point.coordinates.position and point.coordinates.position.kind != "none"

    def recreate_table(self, point: Point) -> None:
        """Begin an incarnation under the name of an ended table; no record has shown its schema yet."""
        if self.has_ended and not self.is_unshown and self.versions:
            self.incarnation += 1
            self.is_unshown = True
            self.events.append(TableEvent("created", point.coordinates, self.incarnation))

    def end_incarnation(self, kind: Ending, at: Coordinates, other: TableId | None) -> None:
        """The newest incarnation is over; a table that never was cannot end."""
        if self.has_ended and not self.is_unshown:
            return
        self.events.append(TableEvent(kind, at, self.incarnation, other))
        if not self.is_unshown:
            self.versions[-1].until = at
        self.has_ended, self.is_unshown = True, False
        self.statements.forget_statements()

    def add_structure(self, point: Point, schema: TableSchema) -> None:
        """A structure was seen: it supports a version, contradicts one, or begins one."""
        self.unseen_statement = None
        declared = point.observation.evidence in STATEMENT_KINDS
        if declared:
            schema = self.complete_declared(point, schema)
        if not self.has_ended:
            schema = self.complete_key(point, schema)
        if self.has_ended:
            self.begin_incarnation(point, schema, declared)
        elif declared:
            self.add_declared(point, schema)
            self.versions[-1].is_key_doubted = bool(schema.key) and schema.key == self.indexes.doubted_key
        elif self.versions[-1].is_declared:
            self.match_event(point, schema)
        else:
            observation = point.observation
            restored = self.encoding.restore_schema(
                point.coordinates, observation, schema, self.versions[-1].schema
            )
            for kind, message in restored.remarks:
                self.record_disagreement(kind, self.versions[-1], message, point)
            version = self.support_version(point, restored.schema) or self.continue_version(
                point, restored.schema, declared=False
            )
            if observation.writer:
                self.writers.latest[observation.writer] = version
            if not self.event_epochs.extend_run(point):
                self.record_event_schema(point, version, read_event_fields(schema, restored.schema))

    def support_version(self, point: Point, schema: TableSchema) -> OpenVersion | None:
        """Add a record to the earlier version that it is of, where a table has several writers, or None."""
        observation, newest = point.observation, self.versions[-1]
        version = self.writers.find_version(observation, schema, self.list_living_versions())
        if version is None or version is newest:
            return None
        version.points.append(point)
        if is_untyped(observation):
            learn_types(version, schema)
        if observation.writer:
            message = describe_lag(observation.writer, self.find_number(version))
            self.record_disagreement(WRITERS_DIFFER, newest, message, point)
        else:
            later = max(self.writers.alternating.values(), key=self.find_number)
            self.record_disagreement(PERHAPS_TWO_WRITERS, later, ALTERNATION, point)
        return version

    def merge_alternating(self, point: Point, schema: TableSchema) -> OpenVersion | None:
        """Undo a version that only began because two structures alternate; return the one of this record."""
        living = self.list_living_versions()
        found = self.writers.find_alternation(point.observation, schema, living)
        if found is None:
            return None
        version, other = found
        undone = living[-1]
        if undone is not other:
            other.points += undone.points
            for key in [key for key in self.contradictions if key[1] == len(self.versions) - 1]:
                del self.contradictions[key]
            self.versions.pop()
            self.versions[-1].until = None
        version.points.append(point)
        self.writers.alternating |= {version.id: version, other.id: other}
        newest = max(found, key=self.find_number)
        for one in (undone.points[0], point):
            self.record_disagreement(PERHAPS_TWO_WRITERS, newest, ALTERNATION, one)
        return version

    def complete_key(self, point: Point, schema: TableSchema) -> TableSchema:
        """Return a schema with the key of its table, as far as known, if its record does not show its key.

        A record that shows the key shows it for the versions before, too, whose records do not.
        """
        current, observation = self.versions[-1], point.observation
        if observation.is_key_unknown:
            return schema if current.is_declared else assume_key(schema, current.schema, observation)
        for version in takewhile(lambda v: v.is_key_unknown, self.list_newest_first()):
            learn_key(version, schema.key, observation)
        return schema

    def complete_declared(self, point: Point, schema: TableSchema) -> TableSchema:
        """Return a declared schema with the attributes that it lacks."""
        observation = point.observation
        current = None if self.has_ended or not self.versions[-1].is_declared else self.versions[-1]
        schema = complete_structure(schema, observation, None if current is None else current.schema)
        dropped = self.indexes.find_dropped_key(observation, schema.key)
        if current is not None and dropped is not None and current.schema.key == schema.key:
            self.indexes.doubted_key = schema.key
            self.record_disagreement(KEY_INDEX_DROPPED, current, describe_dropped_key(dropped, schema), point)
        if schema.key:
            self.is_key_from_snapshot = observation.snapshot
        elif (
            "key" in observation.unstated_attributes
            and current is not None
            and current.schema.key
            and self.is_key_from_snapshot
        ):
            message = (
                f"the change names no primary key; ({', '.join(current.schema.key)}) was read in a snapshot"
            )
            self.record_disagreement("key-not-told", current, message, point)
            self.indexes.doubted_key, self.indexes.is_unstated = current.schema.key, True
            return replace(schema, key=current.schema.key)
        return schema

    def begin_incarnation(self, point: Point, schema: TableSchema, declared: bool) -> None:
        """The first structure of a table, or of a new one under an old name."""
        self.incarnation += not self.is_unshown
        self.has_ended = self.is_unshown = False
        self.encoding.begin_table(point.observation)
        self.writers.begin_table()
        self.indexes.begin_table(point.observation, schema.key)
        self.statements.begin_table(point.observation)
        after = self.last_mark if self.versions else None
        self.open_version(point, self.identify(None, schema, (), False, self.next_id), declared, after)
        if not declared:
            self.writers.latest |= {point.observation.writer: self.versions[-1]}
            self.record_event_schema(point, self.versions[-1], read_event_fields(schema, schema))

    def add_declared(self, point: Point, schema: TableSchema) -> None:
        """A declared image refines what events had shown already, or is followed."""
        current = self.versions[-1]
        if not current.is_declared:
            fit = fit_columns(schema, current.schema)
            observation = point.observation
            if (
                fit.is_exact
                and not has_name_swap(observation.renames)
                and not self.statements.has_recreated(observation)
            ):
                current.refine_structure(fit, schema, point)
                return
        self.continue_version(point, schema, declared=True)

    def continue_version(self, point: Point, schema: TableSchema, declared: bool) -> OpenVersion:
        """Same shape: support, or a revision of attributes. Another shape: another version.

        Return the version of the record.
        """
        current, observation = self.versions[-1], point.observation
        if is_untyped(observation) and learn_types(current, schema):
            current.points.append(point)
            return current
        # the order of fields in JSON proves nothing, and runs of rows do not end where it changes
        append_only = self.find_connector(observation.connector).append_only and not is_untyped(observation)
        renames, anew = (
            self.statements.take_renames(observation, schema),
            self.statements.take_recreated(observation),
        )
        foreign = find_inserted_columns(current.schema, schema) if declared and append_only else ()
        ordered = append_only and not foreign
        known = self.identify(current.schema, schema, renames, ordered, self.next_id, anew)
        same = {(c.id, c.name) for c in known.columns} == {(c.id, c.name) for c in current.schema.columns}
        if not same or (known is not current.schema and fingerprint(known) != current.id):
            if not (declared or renames or anew) and (merged := self.merge_alternating(point, known)):
                return merged
            previous = [p.observation for p in current.points]
            self.open_version(point, known, declared, self.last_mark)
            for kind, message in list_moves(current.schema, known) if ordered else ():
                self.record_disagreement(kind, self.versions[-1], message, point)
            if not declared:
                recent = self.versions[-2 - MAX_OLDER_VERSIONS : -2]
                older = [v.schema for v in recent if v.incarnation == self.incarnation]
                for kind, message in list_ambiguities(current.schema, known, previous, observation, older):
                    self.record_disagreement(kind, self.versions[-1], message, point)
                self.mark_uncertain_types(point)
            self.versions[-1].has_statement = self.statements.has_statement
            self.statements.end_statements()
            if foreign:
                self.versions[-1].is_phantom = True
                self.record_disagreement(
                    "foreign-columns",
                    self.versions[-1],
                    describe_inserted_columns(foreign, self.table),
                    point,
                )
            return self.versions[-1]
        current.points.append(point)
        if known != current.schema:
            for kind, message in list_moves(current.schema, known) if ordered else ():
                self.record_disagreement(kind, current, message, point)
            current.add_revision(known, point.coordinates, self.last_mark)
        return current

    def mark_uncertain_types(self, point: Point) -> None:
        """Columns of a new version whose form a setting may have changed are not certain."""
        version = self.versions[-1]
        for change in self.open_changes:
            if change.at == point.coordinates:
                version.mark_uncertain_types(change.columns)
                self.record_disagreement(
                    describe_open_change(change)[0], version, describe_open_change(change)[1], point
                )

    def open_version(
        self, point: Point, schema: TableSchema, declared: bool, after: Coordinates | None
    ) -> None:
        """Begin a version at a point."""
        if self.versions and self.versions[-1].until is None:
            self.versions[-1].until = point.coordinates
        self.next_id = max([self.next_id, *((c.id or 0) + 1 for c in schema.columns)])
        revision = Revision(0, schema, point.coordinates)
        id = fingerprint_shape(schema, point.observation)
        version = OpenVersion(id, self.incarnation, declared, after, point.coordinates, [revision], [point])
        before = next(self.list_newest_first(), None)
        version.is_key_unknown = point.observation.is_key_unknown and (
            before is None or before.is_key_unknown
        )
        self.versions.append(version)

    def add_document_versions(self, documents: DocumentVersions) -> None:
        """Take the versions of a collection, all at once."""
        self.versions += documents.versions
        for kind, message, marks in documents.remarks:
            newest = len(self.versions) - 1
            self.contradictions[kind, newest, message] = list(marks or (self.versions[newest].at,))
        count_records(self.versions, documents.repeated)

    def record_event_schema(
        self, point: Point, version: OpenVersion, event_fields: EventFields, key: tuple[str, ...] = ()
    ) -> None:
        """Keep the event schema of a version; rows without a schema have none."""
        if point.observation.evidence == "emitted":
            epoch = self.event_epochs.add_event(
                point.coordinates, point.observation, version.schema, event_fields
            )
            version.add_event_schema(epoch, point.coordinates, event_fields)
            if version.is_declared and not point.observation.is_key_unknown:
                self.keys.append((version, EmittedKey(point.coordinates, key)))

    def match_event(self, point: Point, emitted: TableSchema) -> None:
        """An event beside a declared structure: which version is it of, and does it agree?"""
        newest = self.versions[-1]
        version, fit = find_fitting(self.list_newest_first, emitted)
        if fit.unexplained:
            message = (
                f"events carry {', '.join(fit.unexplained)}, which the declared structure does not explain"
            )
            self.early_events.append((point, emitted, version, message))
            return
        version.points.append(point)
        version.emitted_names.update(map_event_names(fit, emitted))
        self.next_id = renumber_columns(self.versions, self.find_number(version) - 1, emitted, self.next_id)
        self.record_event_schema(
            point, version, select_event_fields(fit.names, emitted), fit.translate_names(emitted.key)
        )
        if version is not newest and fit.is_exact:
            message = f"events still had the structure of version {self.find_number(version)}"
            self.record_disagreement("emitted-lags-declared", newest, message, point)
        if fit.missing:
            message = f"no event carries the declared {', '.join(fit.missing)}"
            self.record_disagreement("column-not-emitted", version, message, point)
        self.record_differences(version, emitted, fit, point)

    def settle_early_events(self) -> None:
        """What no structure explained that was declared so far may be of one that was declared later."""
        for point, emitted, version, message in self.early_events:
            later = self.versions[self.find_number(version) :]
            living = (v for v in later if v.incarnation == version.incarnation and v.is_declared)
            names = frozenset(emitted.names)
            likely = (v for v in living if names <= v.fields)
            found = next(((v, f) for v in likely if (f := fit_columns(v.schema, emitted)).is_exact), None)
            if found is None:
                self.record_disagreement("emitted-differs", version, message, point)
                continue
            following, fit = found
            following.points[1:] = sorted([*following.points[1:], point], key=lambda p: p.order)
            following.emitted_names.update(map_event_names(fit, emitted))
            self.next_id = renumber_columns(
                self.versions, self.find_number(following) - 1, emitted, self.next_id
            )
            following.add_event_schema(
                len(self.event_epochs.epochs), point.coordinates, select_event_fields(fit.names, emitted)
            )
            if (
                not point.observation.snapshot
                and point.coordinates.position.rank < following.at.position.rank
            ):
                number = self.find_number(following)
                message = f"events had the structure of version {number} before it was declared"
                self.record_disagreement("emitted-leads-declared", following, message, point)
            self.record_differences(following, emitted, fit, point)

    def add_repeated(self, observation: Observation) -> None:
        """Records delivered again: support for the version that they show, or a contradiction."""
        if observation.schema is None or observation.action == "drop" or not self.versions:
            return
        rank = observation.first.position.rank
        for version in reversed(self.versions):
            if is_schema_of(version, observation.schema) or any(
                p.observation.schema == observation.schema for p in version.points
            ):
                version.repeats.append(observation)
                return
        begun = [v for v in self.versions if v.at.position.rank <= rank] or self.versions[:1]
        message = "the same records were delivered again with another structure"
        point = Point((0, (), 0, 0, "", 0, 0), observation.first, observation)
        self.record_disagreement("delivered-twice-differently", begun[-1], message, point)

    def check_internal(self, observation: Observation) -> None:
        """Add the connector's own schema history: support for a version, or a contradiction."""
        if observation.schema is None or not self.versions:
            return
        version, kind, message = match_internal_schema(
            observation, observation.schema, self.table, self.versions, self.events
        )
        if message is None:
            version.internal_observations.append(observation)
            return
        point = Point((0, (), 0, 0, "", 0, 0), observation.first, observation)
        self.record_disagreement(kind, version, message, point)

    def flag_windows(self) -> None:
        """Keep which versions began while rows were being read, and what was altered and not seen since."""
        if self.unseen_statement is not None and self.versions and (self.is_unshown or not self.has_ended):
            created = self.unseen_statement.observation.action == "create"
            message = CREATED_UNSEEN_MESSAGE if created else ALTERED_UNSEEN_MESSAGE
            self.record_disagreement(ALTERED_UNSEEN, self.versions[-1], message, self.unseen_statement)
        for index, message, point in find_changes_while_read(
            [(v.incarnation, v.points) for v in self.versions]
        ):
            self.record_disagreement(CHANGED_WHILE_READ, self.versions[index], message, point)

    def record_differences(
        self, version: OpenVersion, emitted: TableSchema, fit: ColumnFit, point: Point
    ) -> None:
        """Keep the contradictions between an event and its declared schema."""
        if point.observation.is_key_unknown:
            emitted = replace(emitted, key=tuple(fit.names.get(k, k) for k in version.schema.key))
        for kind, message in list_differences(version.schema, emitted, fit):
            self.record_disagreement(kind, version, message, point)

    def record_disagreement(self, kind: str, version: OpenVersion, message: str, point: Point) -> None:
        """Keep a disagreement; the same one at many records is kept once, with its coordinates."""
        disagreement = (kind, self.find_number(version) - 1, message)
        self.contradictions.setdefault(disagreement, []).append(point.coordinates)

    def find_number(self, version: OpenVersion) -> int:
        """The ordinal of a version, which mostly is one of the newest."""
        return next(n for n in range(len(self.versions), 0, -1) if self.versions[n - 1] is version)

    def list_living_versions(self) -> list[OpenVersion]:
        """The versions of the newest incarnation, the oldest first."""
        return [v for v in self.versions if v.incarnation == self.incarnation]

    def list_newest_first(self) -> Iterator[OpenVersion]:
        """The versions of the newest incarnation, the newest first."""
        return takewhile(lambda v: v.incarnation == self.incarnation, reversed(self.versions))

    def list_disagreements(self, others: Iterable[Disagreement]) -> tuple[Disagreement, ...]:
        """The disagreements and others in order of versions, each with its first and last coordinates."""
        own = (
            Disagreement(kind, (index + 1,), message, tuple(dict.fromkeys((marks[0], marks[-1]))))
            for (kind, index, message), marks in self.contradictions.items()
        )
        return tuple(sorted([*own, *others], key=lambda d: (d.versions, d.kind, d.message)))
