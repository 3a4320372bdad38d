"""A schema registry: what the HTTP server serves, and what tests and jobs use in their own process.

Each call is one transaction of the store. Several registries may share a store, also in several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeVar

from schemaman.errors import SchemamanError, StoreUnavailable
from schemaman.store.log import RegistrationEntry
from schemaman.store.subject_names import ALL_CONTEXTS, GLOBAL_CONTEXT, format_context, parse_subject
from schemaman.store.subjects import (
    DEFAULT_CONTEXT,
    JsonObject,
    RegisteredSchema,
    SubjectFilter,
    SubjectName,
    SubjectRows,
    SubjectStore,
    SubjectVersion,
)
from schemaman.subjects import deletion, lookup
from schemaman.subjects.compatibility import SubjectVerdict, check_content
from schemaman.subjects.contents import make_content
from schemaman.subjects.copies import RegistryCopy, read_registry, restore_registry
from schemaman.subjects.evidence import make_evidence
from schemaman.subjects.faults import (
    RefusedRequest,
    make_schema_missing,
    make_subject_missing,
    make_version_missing,
)
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import (
    RegisteredText,
    RegistrationGate,
    format_failure,
    list_accepted,
    load_text,
)
from schemaman.subjects.registration import (
    Registration,
    find_registered,
    parse_registration,
    prepare_registration,
    register_schema,
)
from schemaman.subjects.requests import (
    LATEST,
    SchemaRequest,
    parse_config_update,
    parse_mode,
    parse_name,
    parse_prefix,
)
from schemaman.subjects.scopes import DEFAULT_CONFIG, DEFAULT_MODE, follow_alias, list_aliases, read_scope
from schemaman.subjects.source_tables import TableHistories
from schemaman.subjects.table_subjects import TableSubjects, name_parts
from schemaman.subjects.topic_associations import TopicAssociations

V = TypeVar("V")
Requested = SchemaRequest | str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a registry uses beyond its subjects, and whom it tells.

    `gate` judges for the policies. `histories` find source tables. `record` takes the evidence of the
    new versions of a call, and `notify` each quarantined one, when they are durable.
    """

    gate: RegistrationGate = field(default_factory=RegistrationGate)
    histories: TableHistories | None = None
    record: Callable[[Sequence[RegistrationEntry]], None] | None = None
    notify: Callable[[VersionedSchema], None] | None = None


@dataclass(frozen=True, slots=True)
class WantedRegistration:
    """A request to register a schema under a subject, for `actor`."""

    subject: SubjectName
    request: SchemaRequest
    normalize: bool = False
    actor: str = ""

    def parse(self, rows: SubjectRows) -> Registration:
        """Parse the registration. Raises as `parse_registration`."""
        return parse_registration(rows, self.subject, self.request, normalize=self.normalize)

    def prepare(self, rows: SubjectRows) -> Registration:
        """Prepare the registration. Raises as `prepare_registration`."""
        return prepare_registration(rows, self.subject, self.request, normalize=self.normalize)


class SchemaRegistry:
    """Subjects, their versions and settings, as the Confluent Schema Registry REST API names them.

    A subject is a name such as `orders-value`, or `:.team:orders-value` in the context `.team`. A schema is a
    text of Avro, or a `SchemaRequest` for another type, references or metadata. Each method raises
    `RefusedRequest`, whose `code` is that of the REST API, and `StoreUnavailable` as its store does.
    """

    def __init__(
        self,
        store: SubjectStore,
        context: str = DEFAULT_CONTEXT,
        surroundings: Surroundings | None = None,
    ) -> None:
        self._store = store
        self._surroundings = surroundings or Surroundings()
        self.context = context

    def in_context(self, context: str) -> SchemaRegistry:
        """The same registry, in which a name without a context is in this one."""
        return SchemaRegistry(self._store, context, self._surroundings)

    @property
    def tables(self) -> TableSubjects:
        """What only this registry knows: source tables, verdicts of readers, policies, quarantine."""
        around = self._surroundings
        return TableSubjects(self._store, self.context, around.gate, around.histories)

    @property
    def associations(self) -> TopicAssociations:
        """Which subjects the keys and the values of topics have."""
        return TopicAssociations(self._store, self._surroundings.gate, self._write)

    @property
    def last_change(self) -> object:
        """Stands for the last change in this process: another object after each one."""
        return self._store.last_subject_change

    def find_revision(self) -> object | None:
        """What the registry has another of after each change, also by others; None if that takes a wait."""
        return self._store.find_revision()

    def read_revision(self) -> object:
        """Read the revision of the registry, waiting for the network if need be."""
        return self._store.read_revision()

    @property
    def is_local(self) -> bool:
        """Whether a read waits neither for a network nor for a writer."""
        return self._store.is_local

    # Register and look up

    def register(
        self, subject: str, schema: Requested, *, normalize: bool = False, actor: str = ""
    ) -> VersionedSchema:
        """Register a schema under a subject, unless it is live there; return its version."""
        wanted = WantedRegistration(
            parse_name(subject, self.context), _make_request(schema), normalize, actor
        )
        (outcome,) = self.register_group((wanted,))
        if isinstance(outcome, SchemamanError):
            raise outcome
        return outcome

    def register_group(
        self, group: Sequence[WantedRegistration]
    ) -> tuple[VersionedSchema | SchemamanError, ...]:
        """Register several schemas in order, with one commit for all; each has its own outcome.

        A refused one leaves the others. Raises `StoreUnavailable` if the commit fails; then none is there.
        """
        outcomes: dict[int, VersionedSchema | SchemamanError] = {}
        parsed: dict[int, Registration] = {}
        prepared: dict[int, Registration] = {}
        with self._store.reading_subjects() as rows:
            revision = rows.find_revision()
            rows.read_ahead([each.subject for each in group])
            for number, each in enumerate(group):
                try:
                    parsed[number] = each.parse(rows)
                except RefusedRequest as error:
                    outcomes[number] = error
            rows.read_ahead((), [each.content_key for each in parsed.values()])
            for number, one in parsed.items():
                try:
                    prepared[number] = found = find_registered(rows, one)
                    if found.existing is not None:
                        outcomes[number] = register_schema(rows, found, group[number].actor)
                except RefusedRequest as error:
                    outcomes[number] = error
        rest = {number: (each, group[number]) for number, each in prepared.items() if number not in outcomes}
        if rest:
            outcomes |= self._write(lambda rows: self._write_group(rows, rest, outcomes, revision))
        return tuple(outcomes[number] for number in range(len(group)))

    def _write_group(
        self,
        rows: SubjectRows,
        group: Mapping[int, tuple[Registration, WantedRegistration]],
        outcomes: dict[int, VersionedSchema | SchemamanError],
        revision: str | None,
    ) -> dict[int, VersionedSchema]:
        """Register what a group has not registered yet; return the new versions.

        The group was prepared at a revision. What has changed since, also by the group itself, is read again.
        """
        fresh: dict[int, VersionedSchema] = {}
        is_unchanged = revision is not None and rows.find_revision() == revision
        read = [each for each, _ in group.values()]
        rows.read_ahead([each.subject for each in read], [each.content_key for each in read])
        changed: set[object] = set()
        for number, (before, wanted) in group.items():
            keys = {before.subject, before.content_key}
            is_as_read = is_unchanged and changed.isdisjoint(keys) and not (changed and before.referenced)
            changed |= keys
            try:
                prepared = before if is_as_read else wanted.prepare(rows)
                found = register_schema(rows, prepared, wanted.actor, self._surroundings.gate)
            except RefusedRequest as error:
                outcomes[number] = error
                continue
            outcomes[number] = found
            if prepared.is_new:
                fresh[number] = found
        return fresh

    def register_pair(
        self, topic: str, key: Requested, value: Requested, *, actor: str = ""
    ) -> tuple[VersionedSchema, VersionedSchema]:
        """Register the schemas of key and value of a topic as one unit: both, or none if one is refused."""
        found: dict[int, VersionedSchema] = {}
        names = name_parts(topic, self.context)

        def register(rows: SubjectRows) -> dict[int, VersionedSchema]:
            rows.read_ahead(names)
            fresh: dict[int, VersionedSchema] = {}
            for number, (name, schema) in enumerate(zip(names, (key, value), strict=True)):
                prepared = prepare_registration(rows, name, _make_request(schema), normalize=False)
                found[number] = register_schema(rows, prepared, actor, self._surroundings.gate)
                if prepared.is_new:
                    fresh[number] = found[number]
            return fresh

        for fault in self._write(register).values():
            raise fault
        return found[0], found[1]

    def _write(
        self, register: Callable[[SubjectRows], Mapping[int, VersionedSchema]]
    ) -> Mapping[int, SchemamanError]:
        """Write new versions and their evidence with one commit, and then announce quarantined ones.

        Evidence that the log does not take now is written behind. Returns the faults of finding evidence.
        """
        evidence: tuple[RegistrationEntry, ...] = ()
        try:
            with self._store.writing_subjects() as rows:
                fresh = register(rows)
                evidence, faults = self._list_evidence(rows, fresh)
                is_noted = not evidence or rows.append_registrations(evidence)
        except StoreUnavailable:
            if not evidence:
                raise
            # What the log meets is no fault of the subjects.
            with self._store.writing_subjects() as rows:
                fresh = register(rows)
                evidence, faults = self._list_evidence(rows, fresh)
                is_noted = False
        self._pass_on(fresh.values(), () if is_noted else evidence)
        return faults

    def _list_evidence(
        self, rows: SubjectRows, fresh: Mapping[int, VersionedSchema]
    ) -> tuple[tuple[RegistrationEntry, ...], Mapping[int, SchemamanError]]:
        """List the evidence of new versions, and the faults of finding it."""
        around, faults = self._surroundings, dict[int, SchemamanError]()
        entries: list[RegistrationEntry] = []
        for number, found in fresh.items() if around.record is not None else ():
            try:
                evidence = make_evidence(found, load_text(rows, found), around.histories)
            except SchemamanError as error:
                faults[number] = error
                continue
            entries += () if evidence is None else (evidence,)
        return tuple(entries), faults

    def _pass_on(self, fresh: Iterable[VersionedSchema], evidence: Sequence[RegistrationEntry]) -> None:
        around = self._surroundings
        if around.record is not None and evidence:
            around.record(evidence)
        for found in fresh:
            if around.notify is not None and found.quarantine is not None:
                around.notify(found)

    def look_up(
        self, subject: str, schema: Requested, *, normalize: bool = False, deleted: bool = False
    ) -> VersionedSchema:
        """Find the version of a subject that has a schema."""
        name, request = parse_name(subject, self.context), _make_request(schema)
        with self._store.reading_subjects() as rows:
            name = follow_alias(rows, name)
            normal = normalize or read_scope(rows, str(name), name.context).config.get("normalize") is True
            return lookup.find_by_content(rows, name, request, normalize=normal, deleted=deleted)

    def check(
        self, subject: str, schema: Requested, version: int | None = None, *, normalize: bool = False
    ) -> SubjectVerdict:
        """Check a schema against a version of a subject, or against those that its level requires.

        A subject without versions accepts every schema. `version` is a number or -1 for the latest. Unless a
        number is given, the policy CDC counts: what it refuses is not compatible.
        """
        name, request = parse_name(subject, self.context), _make_request(schema)
        with self._store.reading_subjects() as rows:
            scope = read_scope(rows, str(name), name.context)
            config = scope.config
            live = list(list_accepted(rows, name))
            if version not in (None, LATEST):
                live = [v for v in rows.list_versions(name) if v.number == version and not v.is_deleted]
                if not live:
                    raise make_version_missing(version)
            elif version == LATEST:
                live = live[-1:]
            request = lookup.fix_references(rows, request, name.context)
            referenced = lookup.list_referenced_texts(rows, request.references, name.context)
            normal = normalize or config.get("normalize") is True
            content = make_content(request, referenced, normalize=normal)
            verdict = check_content(rows, content, referenced, live, config)
            if not verdict.is_compatible or scope.policy != "CDC" or version not in (None, LATEST):
                return verdict
            gate, text = self._surroundings.gate, RegisteredText(content, referenced)
            failures = gate.list_failures(rows, name, list_accepted(rows, name), text)
            return SubjectVerdict(not failures, tuple(map(format_failure, failures)))

    # Versions and schemas

    def list_subjects(
        self, prefix: str = f":{ALL_CONTEXTS}:", *, deleted: bool = False, deleted_only: bool = False,
        offset: int = 0, limit: int | None = None,
    ) -> tuple[SubjectName, ...]:  # fmt: skip
        """List subjects that begin with a prefix, in order; the prefix `:*:` is that of all contexts."""
        wanted = _make_filter(prefix, self.context, deleted, offset, limit)
        with self._store.reading_subjects() as rows:
            return rows.list_subjects(replace(wanted, deleted_only=deleted_only))

    def list_schemas(
        self, prefix: str = f":{ALL_CONTEXTS}:", *, deleted: bool = False, latest_only: bool = False,
        offset: int = 0, limit: int | None = None,
    ) -> tuple[VersionedSchema, ...]:  # fmt: skip
        """List versions of subjects that begin with a prefix, with their schemas."""
        wanted = _make_filter(prefix, self.context, deleted, offset, limit)
        with self._store.reading_subjects() as rows:
            return tuple(VersionedSchema(*found) for found in rows.list_schemas(wanted, latest_only))

    def list_aliases(self, prefix: str = f":{ALL_CONTEXTS}:") -> tuple[tuple[SubjectName, SubjectName], ...]:
        """List the aliases that begin with a prefix, each with its subject."""
        wanted = _make_filter(prefix, self.context, False, 0, None)
        with self._store.reading_subjects() as rows:
            found = list_aliases(rows)
        return tuple(
            (alias, subject)
            for alias, subject in found
            if wanted.context in (None, alias.context) and alias.name.startswith(wanted.prefix)
        )

    def list_versions(
        self, subject: str, *, deleted: bool = False, deleted_only: bool = False
    ) -> tuple[SubjectVersion, ...]:
        """List the versions of a subject by number."""
        name = parse_name(subject, self.context)
        with self._store.reading_subjects() as rows:
            name = follow_alias(rows, name)
            found = lookup.list_versions(rows, name, deleted=deleted or deleted_only)
            kept = tuple(version for version in found if version.is_deleted or not deleted_only)
            if not kept:
                raise make_subject_missing(name)
            return kept

    def find_version(self, subject: str, version: int = LATEST, *, deleted: bool = False) -> VersionedSchema:
        """Find a version of a subject by its number; -1 is the latest."""
        name = parse_name(subject, self.context)
        with self._store.reading_subjects() as rows:
            return lookup.find_version(rows, follow_alias(rows, name), version, deleted=deleted)

    def find_by_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = False
    ) -> VersionedSchema:
        """Find the newest version of a subject whose metadata has these properties."""
        name = parse_name(subject, self.context)
        with self._store.reading_subjects() as rows:
            for version in reversed(lookup.list_versions(rows, follow_alias(rows, name), deleted=deleted)):
                found = lookup.load_version(rows, version)
                has = (found.schema.content.metadata or {}).get("properties")
                if isinstance(has, Mapping) and properties.items() <= has.items():
                    return found
        raise make_schema_missing()

    def find_schema(self, id: int, subject: str = "") -> tuple[RegisteredSchema, SubjectVersion | None]:
        """Find a schema by its id, and the newest version of `subject` that has it.

        The context is that of the subject. A subject without a context may also be in another context, if
        this one does not have the id.
        """
        name = parse_name(subject, self.context)
        with self._store.reading_subjects() as rows:
            found = rows.find_schema(name.context, id)
            if found is None and name.name:
                found = _find_in_other_contexts(rows, id, name)
            if found is None:
                raise RefusedRequest(40403, f"Schema {id} not found")
            uses = (
                [v for v in rows.list_uses(found.context, id) if v.subject.name == name.name]
                if name.name
                else []
            )
            return found, uses[-1] if uses else None

    def list_uses(self, id: int, subject: str = "", *, deleted: bool = False) -> tuple[SubjectVersion, ...]:
        """List the versions that have a schema, of one subject or of all."""
        found, _ = self.find_schema(id, subject)
        with self._store.reading_subjects() as rows:
            uses = rows.list_uses(found.context, id)
        name = parse_subject(subject, self.context).name
        return tuple(v for v in uses if (deleted or not v.is_deleted) and name in ("", v.subject.name))

    def find_largest_id(self) -> int:
        """The largest id that was given in this context; 0 for none."""
        with self._store.reading_subjects() as rows:
            return rows.find_largest_id(self.context)

    def list_by_guid(self, guid: str) -> tuple[RegisteredSchema, ...]:
        """List the schemas with a guid, one a context."""
        with self._store.reading_subjects() as rows:
            found = rows.list_by_guid(guid.lower())
        if not found:
            raise RefusedRequest(40403, "No schema has this guid")
        return found

    def list_referrers(
        self, subject: str, version: int = LATEST, *, deleted: bool = False
    ) -> tuple[int, ...]:
        """List the ids of the schemas that refer to a version."""
        name = parse_name(subject, self.context)
        with self._store.reading_subjects() as rows:
            found = lookup.find_version(rows, name, version, deleted=True).version
            return rows.list_referrers(found.subject, found.number, deleted)

    def resolve(self, schema: RegisteredSchema) -> str:
        """The text of a schema with the definitions of all types that it refers to."""
        with self._store.reading_subjects() as rows:
            return lookup.find_resolved_text(rows, schema)

    # Delete

    def delete_subject(self, subject: str, *, permanent: bool = False) -> tuple[int, ...]:
        """Delete the versions of a subject; return their numbers."""
        name = parse_name(subject, self.context)
        with self._store.writing_subjects() as rows:
            return deletion.delete_subject(rows, name, permanent=permanent)

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> int:
        """Delete a version of a subject; return its number."""
        name = parse_name(subject, self.context)
        with self._store.writing_subjects() as rows:
            return deletion.delete_version(rows, name, version, permanent=permanent)

    # Settings

    def read_config(self, subject: str | None = None, *, effective: bool = False) -> JsonObject:
        """Read the settings of a subject, or of this context; `effective` are those that hold there."""
        scope, context = self._find_scope(subject)
        with self._store.reading_subjects() as rows:
            own = rows.read_settings(scope).config
            if effective:
                return read_scope(rows, scope, context).config
        if subject is None:
            return {**DEFAULT_CONFIG, **(own or {})}
        if own is None:
            raise RefusedRequest(
                40408, f"Subject '{subject}' does not have subject-level compatibility configured"
            )
        return own

    def update_config(self, update: object, subject: str | None = None) -> JsonObject:
        """Change settings; one with the value None is cleared, one that is not there stays."""
        changed = parse_config_update(update)
        scope, _ = self._find_scope(subject)
        with self._store.writing_subjects() as rows:
            before = rows.read_settings(scope)
            merged = {n: v for n, v in {**(before.config or {}), **changed}.items() if v is not None}
            rows.write_settings(scope, replace(before, config=merged or None))
        return changed

    def delete_config(self, subject: str | None = None) -> JsonObject:
        """Take the settings of a subject or of this context away; return them."""
        own = self.read_config(subject)
        scope, _ = self._find_scope(subject)
        with self._store.writing_subjects() as rows:
            rows.write_settings(scope, replace(rows.read_settings(scope), config=None))
        return own

    def read_mode(self, subject: str | None = None, *, effective: bool = False) -> str:
        """Read the mode of a subject, or of this context; `effective` is the one that holds there."""
        scope, context = self._find_scope(subject)
        with self._store.reading_subjects() as rows:
            own = rows.read_settings(scope).mode
            if effective or (subject is None and not own):
                return read_scope(rows, scope, context).mode
        if not own:
            raise RefusedRequest(40409, f"Subject '{subject}' does not have subject-level mode configured")
        return own

    def set_mode(self, body: object, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject or of this context; an empty one clears it.

        IMPORT needs a subject or a context without live versions, unless `force`; soft-deleted versions are
        removed for good.
        """
        mode = parse_mode(body)
        scope, context = self._find_scope(subject)
        with self._store.writing_subjects() as rows:
            before = rows.read_settings(scope)
            if mode == "IMPORT" and before.mode != "IMPORT" and not force:
                _require_empty(rows, scope, context)
            rows.write_settings(scope, replace(before, mode=mode))
        return mode

    def delete_mode(self, subject: str | None = None, *, recursive: bool = False) -> str:
        """Take the mode of a subject or of this context away; return it."""
        scope, context = self._find_scope(subject)
        with self._store.writing_subjects() as rows:
            before = rows.read_settings(scope)
            if subject is not None and not before.mode:
                raise RefusedRequest(
                    40409, f"Subject '{subject}' does not have subject-level mode configured"
                )
            rows.write_settings(scope, replace(before, mode=""))
            if recursive and scope == format_context(context):
                rows.clear_modes(context)
        return before.mode or DEFAULT_MODE

    # Contexts

    def list_contexts(self, prefix: str = "") -> tuple[str, ...]:
        """List the contexts, the default one first."""
        with self._store.reading_subjects() as rows:
            found = (DEFAULT_CONTEXT, *rows.list_contexts())
        return tuple(context for context in dict.fromkeys(found) if context.startswith(prefix))

    def delete_context(self, context: str) -> None:
        """Delete a context without subjects. Raises `RefusedRequest` with 42211 if it has some."""
        with self._store.writing_subjects() as rows:
            if rows.list_subjects(SubjectFilter(context, deleted=True, limit=1)):
                raise RefusedRequest(42211, f"Context '{context}' has subjects")
            rows.remove_context(context)

    # Copies

    def read_all(self) -> tuple[tuple[VersionedSchema, ...], RegistryCopy]:
        """Read all versions of all contexts at one moment; the settings and largest ids are in the copy."""
        with self._store.reading_subjects() as rows:
            return read_registry(rows)

    def restore(self, copy: RegistryCopy) -> None:
        """Write a copy of a registry into this one. Raises as `restore_registry`; then nothing is written."""
        with self._store.writing_subjects() as rows:
            restore_registry(rows, copy)

    def _find_scope(self, subject: str | None) -> tuple[str, str]:
        """The scope of a subject's settings and its context; `:.team:` is the context itself."""
        if subject is None:
            return format_context(self.context), self.context
        name = parse_name(subject, self.context, may_be_global=True)
        if name.context == GLOBAL_CONTEXT or (subject.startswith(":.") and not name.name):
            return format_context(name.context), name.context
        return str(name), name.context


def paginate(found: Iterable[V], offset: int, limit: int | None) -> tuple[V, ...]:
    """The part of a list from an offset on; no limit means all."""
    return tuple(islice(found, offset, None if limit is None else offset + limit))


def _make_request(schema: Requested) -> SchemaRequest:
    return schema if isinstance(schema, SchemaRequest) else SchemaRequest(schema)


def _make_filter(prefix: str, context: str, deleted: bool, offset: int, limit: int | None) -> SubjectFilter:
    name = parse_prefix(prefix, context)
    chosen = None if name.context == ALL_CONTEXTS else name.context
    return SubjectFilter(chosen, name.name, deleted, offset=offset, limit=limit)


def _find_in_other_contexts(rows: SubjectRows, id: int, name: SubjectName) -> RegisteredSchema | None:
    for context in rows.list_contexts():
        if any(version.subject.name == name.name for version in rows.list_uses(context, id)):
            return rows.find_schema(context, id)
    return None


def _require_empty(rows: SubjectRows, scope: str, context: str) -> None:
    """Remove what is soft-deleted. Raises `RefusedRequest` with 42205 if something is live."""
    is_context = scope == format_context(context)
    chosen = None if context == GLOBAL_CONTEXT else context
    subjects = (
        rows.list_subjects(SubjectFilter(chosen, deleted=True)) if is_context else (parse_subject(scope),)
    )
    for subject in subjects:
        if any(not version.is_deleted for version in rows.list_versions(subject)):
            raise RefusedRequest(
                42205, f"Import mode needs an empty registry, and subject '{subject}' has versions"
            )
    modes = {subject: rows.read_settings(str(subject)) for subject in subjects}
    deletion.empty_context(rows, subjects)
    for subject, settings in modes.items():
        rows.write_settings(str(subject), replace(settings, quarantine=()))
