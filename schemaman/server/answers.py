"""What a schema registry answers, as the JSON that clients know; empty parts are left out.

Source: Confluent Schema Registry, REST API.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.store.subjects import Association, JsonObject, RegisteredSchema, SubjectName, SubjectVersion
from schemaman.subjects.associations import Resource
from schemaman.subjects.compatibility import SubjectVerdict
from schemaman.subjects.contents import find_served_text
from schemaman.subjects.lookup import VersionedSchema

Json = dict[str, object]


def build_schema(schema: RegisteredSchema, text: str | None = None) -> Json:
    """Build the answer for a schema; `text` replaces its own one."""
    content = schema.content
    answer: Json = {"schemaType": content.type}
    if content.references:
        answer["references"] = [
            {"name": r.name, "subject": r.subject, "version": r.version} for r in content.references
        ]
    if content.metadata:
        answer["metadata"] = content.metadata
    if content.rule_set:
        answer["ruleSet"] = content.rule_set
    answer["schema"] = find_served_text(content) if text is None else text
    answer["guid"] = schema.guid
    return answer


def build_version(found: VersionedSchema, text: str | None = None, aliases: Sequence[str] = ()) -> Json:
    """Build the answer for a version of a subject, with other names of the subject if there are some."""
    version = found.version
    answer: Json = {
        "subject": str(version.subject),
        "version": version.number,
        "id": version.schema_id,
        **build_schema(found.schema, text),
        "ts": version.at_ms,
    }
    if version.is_deleted:
        answer["deleted"] = True
    if aliases:
        answer["aliases"] = list(aliases)
    return answer


def build_association(subject: SubjectName, association: Association) -> Json:
    """Build the answer for an association."""
    return {
        "subject": str(subject),
        "guid": association.guid,
        "resourceName": association.resource_name,
        "resourceNamespace": association.resource_namespace,
        "resourceId": association.resource_id,
        "resourceType": association.resource_type,
        "associationType": association.kind,
        "lifecycle": association.lifecycle,
        "frozen": association.is_frozen,
        "createTs": association.created_ms,
        "updateTs": association.updated_ms,
    }


def build_bindings(
    resource: Resource | None, bindings: Sequence[tuple[SubjectName, Association, VersionedSchema | None]]
) -> Json:
    """Build the answer for the associations of a resource; without one, it is that of the first of them."""
    if resource is None and bindings:
        first = bindings[0][1]
        resource = Resource(
            first.resource_name, first.resource_namespace, first.resource_id, first.resource_type
        )
    answer: Json = {}
    if resource is not None:
        named = {"Name": resource.name, "Namespace": resource.namespace, "Id": resource.id}
        answer = {f"resource{name}": text for name, text in named.items() if text}
        answer["resourceType"] = resource.type
    answer["associations"] = [
        {
            "subject": str(subject),
            "associationType": association.kind,
            "lifecycle": association.lifecycle,
            "frozen": association.is_frozen,
            **({} if found is None else {"schema": build_version(found)}),
        }
        for subject, association, found in bindings
    ]
    return answer


def build_use(version: SubjectVersion) -> Json:
    """Build the answer for a version by its numbers alone."""
    return {"subject": str(version.subject), "version": version.number}


def build_verdict(verdict: SubjectVerdict, verbose: bool) -> Json:
    """Build the answer of a compatibility check; messages only if they were asked for."""
    answer: Json = {"is_compatible": verdict.is_compatible}
    if verbose:
        answer["messages"] = list(verdict.messages)
    return answer


def build_config_echo(changed: JsonObject) -> Json:
    """Build the answer to a change of settings, in which the level has the name that requests use."""
    return {"compatibility" if name == "compatibilityLevel" else name: v for name, v in changed.items()}


def build_fault(code: int, message: str) -> Json:
    """Build the body of a fault; older clients refuse any further part."""
    return {"error_code": code, "message": message}
