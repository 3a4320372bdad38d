"""What a schema registry keeps: schemas by id, versions of subjects, references, and settings.

A schema belongs to a context. Ids are unique in a context, and one content has one id there. A version joins
a subject to a schema; its number is unique in the subject. Source: Confluent Schema Registry, REST API.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from schemaman.store.log import RegistrationEntry

DEFAULT_CONTEXT = "."
"""The context of a subject without one."""

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True, order=True)
class SubjectName:
    """A subject in a context; the name may be empty."""

    context: str
    name: str

    def __str__(self) -> str:
        return self.name if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.name}"


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """The name by which a schema refers to the schema of a version; `subject` may contain a context."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SchemaContent:
    """What clients register; `text` identifies it, `sent` is the text as the first client sent it."""

    type: str
    text: str
    references: tuple[SchemaReference, ...] = ()
    metadata: JsonObject | None = None
    rule_set: JsonObject | None = None
    sent: str = ""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A content with its id in a context; `guid` is the same in every context and registry."""

    context: str
    id: int
    guid: str
    content: SchemaContent


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """A version of a subject; a soft-deleted one keeps its number. `at_ms` is when it was registered."""

    subject: SubjectName
    number: int
    schema_id: int
    at_ms: int
    is_deleted: bool = False
    actor: str = ""


@dataclass(frozen=True, slots=True)
class QuarantinedVersion:
    """A version that was accepted although it fails; it stays so until somebody releases it.

    `failures` are JSON objects with texts: `rule`, `path`, `message` and `fix`.
    """

    number: int
    schema_id: int
    at_ms: int
    failures: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Association:
    """What binds a resource, such as a topic, to a subject; `kind` is `key` or `value`.

    The lifecycle is STRONG if the subject belongs to the resource, and WEAK otherwise.
    """

    resource_name: str
    resource_namespace: str
    resource_id: str
    resource_type: str
    kind: str
    lifecycle: str
    guid: str
    created_ms: int
    updated_ms: int

    @property
    def is_frozen(self) -> bool:
        """Whether it can only go with its resource."""
        return self.lifecycle == "STRONG"


@dataclass(frozen=True, slots=True)
class SubjectSettings:
    """The settings of a subject or of a context; `mode` is empty, and `config` None, where there is none.

    Clients of Confluent's API never see `policy` and `quarantine`; an empty policy is inherited.
    """

    config: JsonObject | None = None
    mode: str = ""
    policy: str = ""
    quarantine: tuple[QuarantinedVersion, ...] = ()
    associations: tuple[Association, ...] = ()


@dataclass(frozen=True, slots=True)
class SubjectFilter:
    """Which subjects to list, in order; no context means all, no limit means all."""

    context: str | None = None
    prefix: str = ""
    deleted: bool = False
    deleted_only: bool = False
    offset: int = 0
    limit: int | None = None


class SubjectRows(Protocol):
    """One transaction over all subjects."""

    def read_ahead(
        self, subjects: Collection[SubjectName], contents: Collection[tuple[str, str]] = ()
    ) -> None:
        """Read together what registrations under these subjects ask for, where each question is a wait.

        `contents` are pairs of a context and a fingerprint.
        """

    def find_revision(self) -> str | None:
        """What all subjects have another of after each change, as this transaction found it.

        None if to know it takes a wait, or if another writer shares this transaction and wrote before.
        """

    def append_registrations(self, entries: Sequence[RegistrationEntry]) -> bool:
        """Append registrations to the log; False if it takes none now, and then none is there."""

    def now_ms(self) -> int:
        """The time in epoch milliseconds."""

    def find_schema(self, context: str, id: int) -> RegisteredSchema | None:
        """Find a schema by its id."""

    def list_ids(self, context: str, fingerprint: str) -> tuple[int, ...]:
        """List the ids of a content, the one that it was given first in front.

        Several ids have one content only after an import from a registry that tells such contents apart.
        """

    def list_by_guid(self, guid: str) -> tuple[RegisteredSchema, ...]:
        """List the schemas with a guid, one a context."""

    def add_schema(self, schema: RegisteredSchema, fingerprint: str) -> None:
        """Add a schema with an id that is free, and its references."""

    def remove_schema(self, context: str, id: int) -> None:
        """Remove a schema and its references."""

    def find_largest_id(self, context: str) -> int:
        """The largest id that was ever given in a context; 0 for none."""

    def set_largest_id(self, context: str, id: int) -> None:
        """Remember the largest id of a context."""

    def list_versions(self, subject: SubjectName) -> tuple[SubjectVersion, ...]:
        """List the versions of a subject by number, also soft-deleted ones."""

    def list_uses(self, context: str, id: int) -> tuple[SubjectVersion, ...]:
        """List the versions that have a schema, also soft-deleted ones, by subject and number."""

    def add_version(self, version: SubjectVersion) -> None:
        """Add a version whose number is free."""

    def mark_deleted(self, subject: SubjectName, numbers: tuple[int, ...]) -> None:
        """Soft-delete live versions."""

    def remove_versions(self, subject: SubjectName, numbers: tuple[int, ...]) -> None:
        """Remove soft-deleted versions."""

    def list_subjects(self, wanted: SubjectFilter) -> tuple[SubjectName, ...]:
        """List subjects by context and name."""

    def list_schemas(
        self, wanted: SubjectFilter, latest_only: bool
    ) -> tuple[tuple[SubjectVersion, RegisteredSchema], ...]:
        """List versions with their schemas by subject and number; offset and limit count versions."""

    def list_contexts(self) -> tuple[str, ...]:
        """List the contexts that have a version or an id, in order."""

    def list_referrers(self, subject: SubjectName, number: int, deleted: bool) -> tuple[int, ...]:
        """List the ids of the schemas that refer to a version and are themselves in use, by id."""

    def read_settings(self, scope: str) -> SubjectSettings:
        """Read the settings of a scope: a subject, or a context as `:.context:`."""

    def list_settings(self, scopes: Iterable[str]) -> Mapping[str, SubjectSettings]:
        """Read the settings of several scopes; one without settings is left out."""

    def list_all_settings(self) -> Mapping[str, SubjectSettings]:
        """Read the settings of every scope that has some, in order."""

    def write_settings(self, scope: str, settings: SubjectSettings) -> None:
        """Replace the settings of a scope."""

    def list_quarantining(self) -> tuple[SubjectName, ...]:
        """List the subjects that have a quarantined version, by context and name."""

    def list_associations(self) -> Sequence[tuple[SubjectName, Association]]:
        """List all associations with their subjects, by context and name."""

    def clear_modes(self, context: str) -> None:
        """Take the mode of each subject of a context away."""

    def add_copied(
        self,
        schemas: Sequence[tuple[RegisteredSchema, str]],
        versions: Sequence[SubjectVersion],
    ) -> None:
        """Add schemas with their fingerprints, and then versions; none of them is there yet.

        A content that has an id already may get another one.
        """

    def remove_context(self, context: str) -> None:
        """Forget the largest id of a context without versions."""


class SubjectStore(Protocol):
    """Transactions over subjects; of several writers, one writes at a time."""

    @property
    def last_subject_change(self) -> object:
        """Stands for the last change through this store: another object after each one."""

    def find_revision(self) -> object | None:
        """What all subjects have another of after each change, also by others; None if that takes a wait."""

    def read_revision(self) -> object:
        """Read the revision of all subjects, waiting for the network if need be."""

    @property
    def is_local(self) -> bool:
        """Whether a read waits neither for a network nor for a writer."""

    def reading_subjects(self) -> AbstractContextManager[SubjectRows]:
        """Begin a transaction that sees one moment."""

    def writing_subjects(self) -> AbstractContextManager[SubjectRows]:
        """Begin a transaction that writes; at its end, all of it is durable."""
