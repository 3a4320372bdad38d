"""Associations: which subject a topic's keys and values have, if it is not the one of the topic's name.

Laws: a resource has one association of a kind; a STRONG one is frozen, came with its schema, and shares its
subject with no other one; a WEAK one points to a subject that has versions. The mode IMPORT takes both as
they are. Source: Confluent Schema Registry, REST API, "Associations", and the validation in its Java client.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemaman.store.subjects import DEFAULT_CONTEXT, Association, SubjectName, SubjectRows
from schemaman.subjects import deletion
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import SchemaRequest, parse_name, parse_schema_request
from schemaman.subjects.scopes import read_scope

TOPIC = "topic"
"""The one type of resources."""
KINDS = ("key", "value")
LIFECYCLES = ("STRONG", "WEAK")
_LARGEST_NAME = 250
"""Characters; the name of a topic has 249 at most. Source: Kafka, `common.internals.Topic`."""
ANY = "-"
"""The name or the namespace that means every one."""

Register = Callable[[SubjectName, SchemaRequest, bool], VersionedSchema]
"""Registers a schema in the same transaction; the last argument is whether it is normalized."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A topic: its name, the namespace of that name, such as a cluster, and its id."""

    name: str
    namespace: str
    id: str
    type: str = TOPIC


@dataclass(frozen=True, slots=True)
class AssociationRequest:
    """A binding that a client asks for; what it leaves out is empty or None."""

    kind: str
    subject: SubjectName | None
    lifecycle: str = ""
    is_frozen: bool | None = None
    schema: SchemaRequest | None = None
    is_normalized: bool = False


@dataclass(frozen=True, slots=True)
class AssociationFilter:
    """Which associations are meant; an empty part means every one."""

    name: str = ""
    namespace: str = ""
    id: str = ""
    type: str = TOPIC
    kinds: Sequence[str] = ()
    lifecycle: str = ""
    subject: SubjectName | None = None

    def matches(self, subject: SubjectName, association: Association) -> bool:
        """Whether an association is meant."""
        return (
            self.name in ("", ANY, association.resource_name)
            and self.namespace in ("", ANY, association.resource_namespace)
            and self.id in ("", association.resource_id)
            and self.type in ("", association.resource_type)
            and (not self.kinds or association.kind in self.kinds)
            and self.lifecycle in ("", association.lifecycle)
            and self.subject in (None, subject)
        )


Bound = tuple[SubjectName, Association]
"""A subject and what is associated with it."""


def list_associations(rows: SubjectRows, wanted: AssociationFilter) -> tuple[Bound, ...]:
    """List associations by subject, in the order in which they were made."""
    if wanted.subject is not None:
        found: Iterable[Bound] = (
            (wanted.subject, one) for one in rows.read_settings(str(wanted.subject)).associations
        )
    else:
        found = rows.list_associations()
    return tuple(bound for bound in found if wanted.matches(*bound))


def parse_lifecycle(text: str) -> str:
    """Read the lifecycle of a filter; empty for any. Raises `RefusedRequest` with 42212."""
    if text and text not in LIFECYCLES:
        raise _refuse("lifecycle", f"must be one of {', '.join(LIFECYCLES)}")
    return text


def parse_associations(
    body: object, context: str, *, id: str = "", may_lack_id: bool = False
) -> tuple[Resource, tuple[AssociationRequest, ...]]:
    """Read a request that binds a resource to subjects; `id` is the one in the path.

    Raises:
        RefusedRequest: 42212 for a part that is missing or of another kind, 42201 for such a schema.
    """
    if not isinstance(body, Mapping):
        raise _refuse("associations", "the request is no JSON object")
    resource = Resource(
        _read_text(body, "resourceName"),
        _read_text(body, "resourceNamespace"),
        _read_text(body, "resourceId", id, is_optional=may_lack_id or bool(id)) or id,
        _read_text(body, "resourceType", TOPIC, is_optional=True) or TOPIC,
    )
    if id and resource.id != id:
        raise _refuse("resourceId", "differs from that of the path")
    if resource.type != TOPIC:
        raise _refuse("resourceType", f"must be '{TOPIC}'")
    values = body.get("associations")
    if not isinstance(values, list) or not values:
        raise _refuse("associations", "cannot be empty")
    requests = tuple(_parse_request(value, context) for value in values)
    if len({request.kind for request in requests}) < len(requests):
        raise _refuse("associationType", "is there twice")
    return resource, requests


def _parse_request(value: object, context: str) -> AssociationRequest:
    if not isinstance(value, Mapping):
        raise _refuse("associations", "has an entry that is no JSON object")
    kind = value.get("associationType") or "value"
    if kind not in KINDS:
        raise _refuse("associationType", f"must be one of {', '.join(KINDS)}")
    subject, lifecycle, frozen = (value.get(name) for name in ("subject", "lifecycle", "frozen"))
    if not isinstance(subject, str | None) or not isinstance(frozen, bool | None):
        raise _refuse("subject" if not isinstance(subject, str | None) else "frozen", "is of another type")
    if lifecycle is not None and lifecycle not in LIFECYCLES:
        raise _refuse("lifecycle", f"must be one of {', '.join(LIFECYCLES)}")
    schema = value.get("schema")
    return AssociationRequest(
        kind,
        None if subject is None else parse_name(subject, context),
        lifecycle or "",
        frozen,
        None if schema is None else parse_schema_request(schema),
        value.get("normalize") is True,
    )


def bind_resource(
    rows: SubjectRows,
    resource: Resource,
    requests: Sequence[AssociationRequest],
    register: Register,
    *,
    is_upsert: bool,
) -> tuple[tuple[SubjectName, Association, VersionedSchema | None], ...]:
    """Bind a resource to subjects, and register the schemas that come with it.

    An upsert changes an association, or adds one to a resource that exists; it takes no schema.

    Raises:
        RefusedRequest: 40903 if the resource has another association of the kind, 40904 and 40905 if the
            subject cannot be shared, 40907 for a subject without a version, 40908 for a frozen association,
            42212 for parts that do not fit; and as a registration.
    """
    found = []
    for request in requests:
        same = AssociationFilter(id=resource.id, type=resource.type, kinds=(request.kind,))
        known = next(iter(list_associations(rows, same)), None) if resource.id else None
        if known is None:
            found.append(_add(rows, resource, request, register, is_upsert=is_upsert))
        else:
            found.append(_change(rows, known, request, register, is_upsert=is_upsert))
    return tuple(found)


def _add(
    rows: SubjectRows,
    resource: Resource,
    request: AssociationRequest,
    register: Register,
    *,
    is_upsert: bool,
) -> tuple[SubjectName, Association, VersionedSchema | None]:
    wanted = _complete(resource, request, is_upsert=is_upsert)
    subject = wanted.subject
    if subject is None:
        raise _refuse("subject", "must be there for a WEAK association")
    others = rows.read_settings(str(subject)).associations
    is_strong = wanted.lifecycle == "STRONG"
    if others and is_strong:
        raise RefusedRequest(40904, f"An association already exists for subject '{subject}'")
    if any(other.lifecycle == "STRONG" for other in others):
        raise RefusedRequest(40905, f"A strong association already exists for subject '{subject}'")
    live = any(not version.is_deleted for version in rows.list_versions(subject))
    is_import = read_scope(rows, str(subject), subject.context).mode == "IMPORT"
    if is_strong and wanted.schema is None and not is_import:
        raise _refuse("schema", "must be there for a STRONG association, which is made with its resource")
    if is_strong and live and not is_import:
        raise _refuse("subject", f"'{subject}' has versions, and a frozen association brings the first one")
    if not is_strong and not live and not is_import:
        raise RefusedRequest(40907, f"Subject '{subject}' has no version that is not deleted")
    registered = None if wanted.schema is None else register(subject, wanted.schema, wanted.is_normalized)
    now = rows.now_ms()
    guid = uuid.uuid5(uuid.NAMESPACE_OID, f"{resource}/{wanted.kind}/{subject}/{now}")
    association = Association(
        resource.name, resource.namespace, resource.id, resource.type, wanted.kind, wanted.lifecycle,
        str(guid), now, now,
    )  # fmt: skip
    _write(rows, subject, (*others, association))
    return subject, association, registered


def _complete(resource: Resource, request: AssociationRequest, *, is_upsert: bool) -> AssociationRequest:
    """Add what a new association has by default. Raises `RefusedRequest` with 42212 for what does not fit."""
    if request.schema is not None and is_upsert:
        raise _refuse("schema", "comes with a new resource only")
    if request.schema is not None and request.lifecycle == "WEAK":
        raise _refuse("lifecycle", "cannot be WEAK with a schema")
    lifecycle = "STRONG" if request.schema is not None else request.lifecycle or "WEAK"
    is_frozen = lifecycle == "STRONG"
    if request.is_frozen not in (None, is_frozen):
        raise _refuse("frozen", f"cannot be {str(request.is_frozen).lower()} with lifecycle {lifecycle}")
    usual = parse_name(f":.{resource.namespace}:{resource.name}-{request.kind}", DEFAULT_CONTEXT)
    subject = usual if request.subject is None and is_frozen else request.subject
    if is_frozen and subject != usual:
        raise _refuse("subject", f"must be '{usual}' for a STRONG association")
    if not is_frozen and subject == usual:
        raise _refuse("subject", f"cannot be '{usual}' for a WEAK association")
    return replace(request, lifecycle=lifecycle, is_frozen=is_frozen, subject=subject)


def _change(
    rows: SubjectRows, known: Bound, request: AssociationRequest, register: Register, *, is_upsert: bool
) -> tuple[SubjectName, Association, VersionedSchema | None]:
    subject, association = known
    is_same = (
        request.subject in (None, subject)
        and request.lifecycle in ("", association.lifecycle)
        and request.is_frozen in (None, association.is_frozen)
    )
    if is_same:
        if request.schema is not None and association.is_frozen:
            # Another schema than the one that is there would be a new version of a frozen subject.
            return subject, association, _require_registered(rows, subject, association, request, register)
        return subject, association, None
    if not is_upsert:
        raise RefusedRequest(
            40903, f"An association of type '{request.kind}' already exists for '{association.resource_id}'"
        )
    if request.subject not in (None, subject):
        raise _refuse("subject", f"is '{subject}', and cannot be changed")
    if request.is_frozen not in (None, association.is_frozen):
        raise _refuse("frozen", "cannot be changed")
    if association.is_frozen:
        raise RefusedRequest(
            40908, f"The association of type '{association.kind}' is frozen for subject '{subject}'"
        )
    raise _refuse(
        "lifecycle", "a WEAK association cannot become a STRONG one, which is made with its resource"
    )


def _require_registered(
    rows: SubjectRows,
    subject: SubjectName,
    association: Association,
    request: AssociationRequest,
    register: Register,
) -> VersionedSchema:
    before = rows.list_versions(subject)
    found = register(subject, request.schema or SchemaRequest(None), request.is_normalized)
    if rows.list_versions(subject) != before:
        raise RefusedRequest(
            40903,
            f"An association of type '{association.kind}' already exists for '{association.resource_id}'",
        )
    return found


def unbind_resource(rows: SubjectRows, wanted: AssociationFilter, *, is_cascading: bool) -> None:
    """Remove the associations of a resource; `is_cascading` deletes the subject of a STRONG one, too.

    Raises:
        RefusedRequest: 40410 if there is none, 40908 for a frozen one without `is_cascading`; as a deletion.
    """
    found = list_associations(rows, wanted)
    if not found:
        raise RefusedRequest(40410, f"Association for '{wanted.id}' not found")
    for subject, association in found:
        if association.is_frozen and not is_cascading:
            raise RefusedRequest(
                40908, f"The association of type '{association.kind}' is frozen for subject '{subject}'"
            )
    for subject, association in found:
        kept = tuple(one for one in rows.read_settings(str(subject)).associations if one != association)
        _write(rows, subject, kept)
        if association.is_frozen:
            if any(not version.is_deleted for version in rows.list_versions(subject)):
                deletion.delete_subject(rows, subject, permanent=False)
            if rows.list_versions(subject):
                deletion.delete_subject(rows, subject, permanent=True)


def _write(rows: SubjectRows, subject: SubjectName, associations: tuple[Association, ...]) -> None:
    settings = rows.read_settings(str(subject))
    rows.write_settings(str(subject), replace(settings, associations=associations))


def _read_text(body: Mapping[str, Any], name: str, default: str = "", *, is_optional: bool = False) -> str:
    value = body.get(name)
    if value is None or value == "":
        if is_optional:
            return default
        raise _refuse(name, "cannot be empty")
    if not isinstance(value, str):
        raise _refuse(name, "is no text")
    if len(value) > _LARGEST_NAME or not value.isprintable():
        raise _refuse(name, "is too long, or has a character that no name has")
    return value


def _refuse(name: str, words: str) -> RefusedRequest:
    return RefusedRequest(42212, f"Invalid association: {name} {words}")
