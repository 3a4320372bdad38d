"""What only this registry knows of its subjects: their source tables, verdicts, policies and quarantine.

Clients of Confluent's API see nothing of it but a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schemaman.errors import CouldNotDo, UsageError
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import TableId
from schemaman.store.subject_names import GLOBAL_CONTEXT, format_context
from schemaman.store.subjects import (
    QuarantinedVersion,
    SubjectName,
    SubjectRows,
    SubjectStore,
    SubjectVersion,
)
from schemaman.subjects import lookup
from schemaman.subjects.contents import make_content
from schemaman.subjects.event_schemas import EventStructure, SubjectMeaning, find_meaning, read_structure
from schemaman.subjects.faults import RefusedRequest, make_subject_missing
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import (
    POLICIES,
    Judgement,
    RegisteredText,
    RegistrationGate,
    list_accepted,
    load_text,
)
from schemaman.subjects.requests import LATEST, SchemaRequest, parse_failures, parse_name
from schemaman.subjects.scopes import read_scope
from schemaman.subjects.source_tables import (
    ColumnField,
    FittingVersion,
    TableHistories,
    find_tables,
    list_collisions,
    list_fitting_versions,
    map_columns,
    map_fields,
)


@dataclass(frozen=True, slots=True)
class SubjectSource:
    """What a subject describes: its meaning, its source tables, and the columns with their fields.

    `tables` is empty if no history knows the topic or the record. The columns are those of `version`: that of
    `table` to which the latest schema belongs, or its newest one if there is none yet. `collisions` are
    columns that become one field.
    """

    subject: SubjectName
    meaning: SubjectMeaning
    tables: tuple[TableId, ...] = ()
    table: TableId | None = None
    version: SchemaVersion | None = None
    is_fitting: bool = False
    columns: tuple[ColumnField, ...] = ()
    collisions: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectStep:
    """A version of a subject, the versions of histories that it belongs to, and its mark in quarantine."""

    version: SubjectVersion
    belongs: tuple[tuple[TableId, FittingVersion], ...] = ()
    quarantine: QuarantinedVersion | None = None


@dataclass(frozen=True, slots=True)
class HeldSchema:
    """The version of a table at a position or time, and the versions of the subject that belong to it."""

    table: TableId
    version: SchemaVersion
    steps: tuple[SubjectStep, ...]


class TableSubjects:
    """Answers for the subjects of one context; each call is one transaction of the store.

    Each method raises `RefusedRequest`, whose `code` is that of the REST API.
    """

    def __init__(
        self,
        store: SubjectStore,
        context: str,
        gate: RegistrationGate,
        histories: TableHistories | None,
    ) -> None:
        self._store = store
        self._context = context
        self._gate = gate
        self._histories = histories

    # Source tables

    def find_source(self, subject: str) -> SubjectSource:
        """Find the tables that a subject describes, and the columns behind its fields."""
        name = parse_name(subject, self._context)
        with self._store.reading_subjects() as rows:
            text = load_text(rows, lookup.find_version(rows, name, LATEST))
        structure = read_structure(text.content, text.referenced)
        meaning = find_meaning(name.name, structure)
        source = SubjectSource(name, meaning, find_tables(self._histories, meaning.names))
        if structure is None:
            return source
        histories = [h for h in map(self._find_history, source.tables) if h is not None]
        if not histories:
            return replace(source, columns=map_fields(structure))
        fitting = [(h, list_fitting_versions(h, structure, meaning.part)) for h in histories]
        history, versions = next((pair for pair in fitting if pair[1]), fitting[0])
        version = versions[-1].version if versions else history.latest
        columns = map_columns(version, structure)
        if meaning.part == "key":
            columns = tuple(column for column in columns if column.field is not None)
        return replace(
            source,
            table=history.table,
            version=version,
            is_fitting=bool(versions),
            columns=columns,
            collisions=list_collisions(version.schema),
        )

    def list_steps(self, subject: str, number: int | None = None) -> tuple[SubjectStep, ...]:
        """List the live versions of a subject, or one, each with the versions that it belongs to."""
        name = parse_name(subject, self._context)
        with self._store.reading_subjects() as rows:
            found = (
                [lookup.load_version(rows, each) for each in lookup.list_versions(rows, name)]
                if number is None
                else [lookup.find_version(rows, name, number)]
            )
            texts = [load_text(rows, each) for each in found]
            marks = _list_marks(rows, name)
        structures = [read_structure(text.content, text.referenced) for text in texts]
        return tuple(
            SubjectStep(each.version, self._list_belonging(name, structure), _find_mark(marks, each.version))
            for each, structure in zip(found, structures, strict=True)
        )

    def find_held(self, subject: str, when: str) -> HeldSchema:
        """Find what a table was at a position or a time, as after the `@` of a REF, and who describes it.

        Raises:
            RefusedRequest: 40471 without a table or a version that early, 42271 for a malformed or an
                uncertain question.
        """
        source = self.find_source(subject)
        for table in source.tables:
            history = self._find_history(table)
            if history is None:
                continue
            try:
                version = history.at(when)
            except UsageError as error:
                raise RefusedRequest(42271, f"{error.message}") from error
            except CouldNotDo as error:
                raise RefusedRequest(40471, f"{error.message}") from error
            steps = tuple(
                step
                for step in self.list_steps(subject)
                if any(t == table and one.version.number == version.number for t, one in step.belongs)
            )
            return HeldSchema(table, version, steps)
        raise RefusedRequest(40471, f"No table of the history belongs to subject '{source.subject}'")

    def _find_history(self, table: TableId) -> TableHistory | None:
        return None if self._histories is None else self._histories.history(table)

    def _list_belonging(
        self, name: SubjectName, structure: EventStructure | None
    ) -> tuple[tuple[TableId, FittingVersion], ...]:
        meaning = find_meaning(name.name, structure)
        return tuple(
            (table, one)
            for table in find_tables(self._histories, meaning.names)
            if structure is not None and (history := self._find_history(table)) is not None
            for one in list_fitting_versions(history, structure, meaning.part)
        )

    # Verdicts

    def judge(self, subject: str, schema: SchemaRequest, against: int = LATEST) -> Judgement:
        """Judge a schema as the next one of a subject; by default after its latest accepted version.

        A subject without versions has nothing that could break.
        """
        name = parse_name(subject, self._context)
        with self._store.reading_subjects() as rows:
            accepted = list_accepted(rows, name)
            old = None
            if against != LATEST:
                old = load_text(rows, lookup.find_version(rows, name, against))
            elif accepted:
                old = load_text(rows, lookup.load_version(rows, accepted[-1]))
            return self._gate.judge(rows, name, old, self._make_text(rows, schema))

    def judge_version(self, subject: str, number: int, against: int | None = None) -> Judgement:
        """Judge a version after another one; by default after the live version before it."""
        name = parse_name(subject, self._context)
        with self._store.reading_subjects() as rows:
            new = lookup.find_version(rows, name, number)
            earlier = [v for v in lookup.list_versions(rows, name) if v.number < new.version.number]
            old = None
            if against is not None:
                old = load_text(rows, lookup.find_version(rows, name, against))
            elif earlier:
                old = load_text(rows, lookup.load_version(rows, earlier[-1]))
            return self._gate.judge(rows, name, old, load_text(rows, new))

    def judge_schemas(self, old: SchemaRequest, new: SchemaRequest, name: str = "") -> Judgement:
        """Judge the step between two given schemas, of a table with that name."""
        with self._store.reading_subjects() as rows:
            texts = [self._make_text(rows, each) for each in (old, new)]
            return self._gate.judge(rows, SubjectName(self._context, name), texts[0], texts[1])

    def _make_text(self, rows: SubjectRows, request: SchemaRequest) -> RegisteredText:
        request = lookup.fix_references(rows, request, self._context)
        referenced = lookup.list_referenced_texts(rows, request.references, self._context)
        return RegisteredText(make_content(request, referenced, is_strict=False), referenced)

    # Topics

    def find_topic(self, topic: str) -> tuple[VersionedSchema | None, VersionedSchema | None]:
        """Find the latest schemas of the key and of the value of a topic; None for one without versions."""
        key, value = name_parts(topic, self._context)
        with self._store.reading_subjects() as rows:
            found = [
                lookup.load_version(rows, live[-1])
                if (live := [v for v in rows.list_versions(each) if not v.is_deleted])
                else None
                for each in (key, value)
            ]
        if found == [None, None]:
            raise make_subject_missing(key)
        return found[0], found[1]

    # Policies and quarantine

    def read_policy(self, subject: str | None = None, *, is_own: bool = False) -> str:
        """Read the policy that holds for a subject, or for this context; its own one may be empty."""
        scope, context = self._find_scope(subject)
        with self._store.reading_subjects() as rows:
            return rows.read_settings(scope).policy if is_own else read_scope(rows, scope, context).policy

    def set_policy(self, body: object, subject: str | None = None) -> str:
        """Set the policy of a subject or of this context; an empty one is inherited again."""
        policy = body.get("policy") if isinstance(body, Mapping) else None
        if policy not in (*POLICIES, ""):
            raise RefusedRequest(42272, f"Invalid policy. Valid values are {', '.join(POLICIES)}")
        scope, context = self._find_scope(subject)
        with self._store.writing_subjects() as rows:
            rows.write_settings(scope, replace(rows.read_settings(scope), policy=policy))
            return read_scope(rows, scope, context).policy

    def list_quarantined(self) -> tuple[SubjectStep, ...]:
        """List the quarantined versions of all contexts, by subject and number."""
        with self._store.reading_subjects() as rows:
            return tuple(
                SubjectStep(version, quarantine=mark)
                for subject in rows.list_quarantining()
                for version in rows.list_versions(subject)
                if not version.is_deleted
                and (mark := _find_mark(_list_marks(rows, subject), version)) is not None
            )

    def mark_quarantined(self, subject: str, number: int, body: object = None) -> SubjectStep:
        """Quarantine a live version; a mark of the version is replaced.

        Raises:
            RefusedRequest: 42273 for a body that is no mark.
        """
        parts = body if isinstance(body, Mapping) else {}
        failures, since = parse_failures(parts.get("failures")), parts.get("since_ms")
        if since is not None and not (isinstance(since, int) and 0 <= since < 2**53):
            raise RefusedRequest(42273, "Invalid mark: since_ms is no time in milliseconds")
        name = parse_name(subject, self._context)
        with self._store.writing_subjects() as rows:
            version = lookup.find_version(rows, name, number).version
            settings = rows.read_settings(str(name))
            moment = rows.now_ms() if since is None else since
            mark = QuarantinedVersion(version.number, version.schema_id, moment, failures)
            kept = [each for each in settings.quarantine if each.number != version.number]
            marks = tuple(sorted([*kept, mark], key=lambda each: each.number))
            rows.write_settings(str(name), replace(settings, quarantine=marks))
        return SubjectStep(version, quarantine=mark)

    def release(self, subject: str, number: int) -> SubjectStep:
        """Take a version out of quarantine: the next schema of the subject follows it.

        Raises:
            RefusedRequest: 40472 for a version that is not quarantined.
        """
        name = parse_name(subject, self._context)
        with self._store.writing_subjects() as rows:
            version = lookup.find_version(rows, name, number).version
            settings = rows.read_settings(str(name))
            mark = _find_mark(_list_marks(rows, name), version)
            if mark is None:
                raise RefusedRequest(
                    40472, f"Version {version.number} of subject '{name}' is not quarantined"
                )
            kept = tuple(each for each in settings.quarantine if each != mark)
            rows.write_settings(str(name), replace(settings, quarantine=kept))
        return SubjectStep(version, quarantine=mark)

    def _find_scope(self, subject: str | None) -> tuple[str, str]:
        if subject is None:
            return format_context(self._context), self._context
        name = parse_name(subject, self._context, may_be_global=True)
        is_context = name.context == GLOBAL_CONTEXT or (subject.startswith(":.") and not name.name)
        return format_context(name.context) if is_context else str(name), name.context


def name_parts(topic: str, context: str) -> tuple[SubjectName, SubjectName]:
    """Name the subjects of the key and of the value of a topic. Raises `RefusedRequest` with 42208."""
    return parse_name(f"{topic}-key", context), parse_name(f"{topic}-value", context)


_Marks = Mapping[tuple[int, int], QuarantinedVersion]


def _list_marks(rows: SubjectRows, name: SubjectName) -> _Marks:
    return {(mark.number, mark.schema_id): mark for mark in rows.read_settings(str(name)).quarantine}


def _find_mark(marks: _Marks, version: SubjectVersion) -> QuarantinedVersion | None:
    return marks.get((version.number, version.schema_id))
