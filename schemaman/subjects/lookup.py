"""Find versions and schemas, and the texts that a schema refers to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemaman.store.subjects import (
    QuarantinedVersion,
    RegisteredSchema,
    SchemaContent,
    SchemaReference,
    SubjectName,
    SubjectRows,
    SubjectVersion,
)
from schemaman.subjects.contents import compute_fingerprint, make_content, resolve_text
from schemaman.subjects.faults import (
    RefusedRequest,
    make_schema_missing,
    make_subject_missing,
    make_version_missing,
)
from schemaman.subjects.requests import LATEST, SchemaRequest, parse_name


@dataclass(frozen=True, slots=True)
class VersionedSchema:
    """A version of a subject with its schema.

    `quarantine` is there if the version was accepted just now, and quarantined.
    """

    version: SubjectVersion
    schema: RegisteredSchema
    quarantine: QuarantinedVersion | None = None


def list_versions(rows: SubjectRows, subject: SubjectName, *, deleted: bool = False) -> list[SubjectVersion]:
    """List the versions of a subject by number. Raises `RefusedRequest` with 40401 if there is none."""
    found = [v for v in rows.list_versions(subject) if deleted or not v.is_deleted]
    if not found:
        raise make_subject_missing(subject)
    return found


def find_version(
    rows: SubjectRows, subject: SubjectName, number: int, *, deleted: bool = False
) -> VersionedSchema:
    """Find a version by its number or the latest one. Raises `RefusedRequest` with 40401 or 40402."""
    versions = list_versions(rows, subject, deleted=deleted)
    if number == LATEST:
        return load_version(rows, versions[-1])
    for version in versions:
        if version.number == number:
            return load_version(rows, version)
    raise make_version_missing(number)


def load_version(rows: SubjectRows, version: SubjectVersion) -> VersionedSchema:
    """Load the schema of a version."""
    schema = rows.find_schema(version.subject.context, version.schema_id)
    if schema is None:
        raise make_schema_missing()
    return VersionedSchema(version, schema)


def fix_references(rows: SubjectRows, request: SchemaRequest, context: str) -> SchemaRequest:
    """Replace each reference to the latest version by its number. Raises `RefusedRequest` with 42201."""
    if not any(reference.version == LATEST for reference in request.references):
        return request
    fixed = tuple(
        replace(r, version=_find_referenced(rows, r, context, deleted=False).version.number)
        if r.version == LATEST
        else r
        for r in request.references
    )
    return replace(request, references=fixed)


def list_referenced_texts(
    rows: SubjectRows, references: Iterable[SchemaReference], context: str, *, deleted: bool = True
) -> tuple[str, ...]:
    """List the Avro texts behind references, each once and behind those that it refers to itself.

    Raises:
        RefusedRequest: 42201 for a reference to nothing, or from a schema to itself.
    """
    found: dict[tuple[SubjectName, int], str] = {}
    _collect(rows, references, context, deleted, found, ())
    return tuple(found.values())


def _collect(
    rows: SubjectRows,
    references: Iterable[SchemaReference],
    context: str,
    deleted: bool,
    found: dict[tuple[SubjectName, int], str],
    above: tuple[tuple[SubjectName, int], ...],
) -> None:
    for reference in references:
        target = _find_referenced(rows, reference, context, deleted=deleted)
        key = target.version.subject, target.version.number
        if key in above:
            raise RefusedRequest(42201, f"Invalid schema: {reference.name} refers to itself")
        if key not in found:
            content = target.schema.content
            _collect(rows, content.references, key[0].context, True, found, (*above, key))
            found[key] = content.text


def _find_referenced(
    rows: SubjectRows, reference: SchemaReference, context: str, *, deleted: bool
) -> VersionedSchema:
    try:
        subject = parse_name(reference.subject, context)
        return find_version(rows, subject, reference.version, deleted=deleted)
    except RefusedRequest as error:
        number = "latest" if reference.version == LATEST else reference.version
        raise RefusedRequest(
            42201,
            f"Invalid schema: the reference {reference.name!r} has no version {number} of "
            f"{reference.subject!r}",
        ) from error


def find_by_content(
    rows: SubjectRows, subject: SubjectName, request: SchemaRequest, *, normalize: bool, deleted: bool
) -> VersionedSchema:
    """Find the version of a subject that has a content.

    A request without metadata and rule set finds the newest version with its text; one without references
    also finds a version whose references resolve to the same text.

    Raises:
        RefusedRequest: 40401 without a version, 40403 without that content, 42201 for an invalid one.
    """
    versions = list_versions(rows, subject, deleted=deleted)
    context = subject.context
    request = fix_references(rows, request, context)
    referenced = list_referenced_texts(rows, request.references, context)
    content = make_content(request, referenced, normalize=normalize, is_strict=False)
    ids = rows.list_ids(context, compute_fingerprint(content))
    for version in reversed(versions):
        if version.schema_id in ids:
            return load_version(rows, version)
    if request.metadata is None and request.rule_set is None:
        for version in reversed(versions):
            found = load_version(rows, version)
            if _has_text(rows, found.schema, content):
                return found
    raise make_schema_missing()


def _has_text(rows: SubjectRows, schema: RegisteredSchema, wanted: SchemaContent) -> bool:
    content = schema.content
    if content.type != wanted.type:
        return False
    if content.references == wanted.references:
        return content.text == wanted.text
    if wanted.references or wanted.type != "AVRO":
        return False
    referenced = list_referenced_texts(rows, content.references, schema.context)
    return resolve_text(content, referenced) == resolve_text(wanted, ())


def find_resolved_text(rows: SubjectRows, schema: RegisteredSchema) -> str:
    """The text of a schema with the definitions of all types that it refers to; others than Avro as sent."""
    if schema.content.type != "AVRO":
        return schema.content.sent
    return resolve_text(
        schema.content, list_referenced_texts(rows, schema.content.references, schema.context)
    )
