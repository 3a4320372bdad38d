"""The endpoints of the Confluent Schema Registry REST API, each with the function that answers it.

Source: Confluent Schema Registry, REST API, and its OpenAPI document (`schema-registry-api-spec.yaml`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemaman import __version__
from schemaman.server import answers
from schemaman.server.association_endpoints import ASSOCIATION_ENDPOINTS, read_filter
from schemaman.server.calls import NO_CONTENT, Call, Endpoint, RawText
from schemaman.store.subjects import SubjectName
from schemaman.subjects.contents import SCHEMA_TYPES, find_served_text
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import SchemaRequest, parse_name, parse_schema_request
from schemaman.subjects.schema_registry import WantedRegistration, paginate
from schemaman.subjects.tags import TagChange, change_tags, list_kept_tags, parse_tag_changes

_SCHEMAS_A_PAGE = 1000
_TAGGING = frozenset({"schemaTagsToAdd", "schemaTagsToRemove", "propagateSchemaTags"})
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def show_root(_: Call) -> object:
    """Answer a probe."""
    return {}


# Schemas


def find_schema(call: Call) -> object:
    """Find a schema by its id."""
    schema, version = call.registry.find_schema(call.id, call.read_text("subject"))
    answer = answers.build_schema(schema, _choose_text(call, schema))
    if version is not None:
        answer |= {"subject": str(version.subject), "version": version.number, "ts": version.at_ms}
        if version.is_deleted:
            answer["deleted"] = True
    if call.is_true("fetchMaxId"):
        answer["maxId"] = call.registry.in_context(schema.context).find_largest_id()
    return answer


def find_text(call: Call) -> object:
    """Find the text of a schema by its id."""
    schema, _ = call.registry.find_schema(call.id, call.read_text("subject"))
    return RawText(_choose_text(call, schema) or find_served_text(schema.content))


def list_subjects_of_schema(call: Call) -> object:
    """List the subjects that have a schema."""
    uses = call.registry.list_uses(call.id, call.read_text("subject"), deleted=call.is_true("deleted"))
    return paginate(dict.fromkeys(str(version.subject) for version in uses), *call.read_page())


def list_versions_of_schema(call: Call) -> object:
    """List the versions that have a schema."""
    uses = call.registry.list_uses(call.id, call.read_text("subject"), deleted=call.is_true("deleted"))
    return [answers.build_use(version) for version in paginate(uses, *call.read_page())]


def list_types(_: Call) -> object:
    """List the types of schemas."""
    return SCHEMA_TYPES


def list_schemas(call: Call) -> object:
    """List versions with their schemas."""
    kind, subjects = call.read_text("ruleType"), _list_associated(call)
    aliases: dict[SubjectName, list[str]] = {}
    for alias, subject in call.registry.list_aliases(call.prefix) if call.is_true("aliases") else ():
        aliases.setdefault(subject, []).append(str(alias))
    offset, limit = call.read_page(_SCHEMAS_A_PAGE)
    if not kind and subjects is None and not aliases:
        return [answers.build_version(version) for version in _list_page(call, call.prefix, offset, limit)]
    found = (
        version
        for version in _list_with_aliases(call, aliases)
        if (not kind or _has_rule(version, kind))
        and (subjects is None or version.version.subject in subjects)
    )
    return [
        answers.build_version(version, aliases=aliases.get(version.version.subject, ()))
        for version in paginate(found, offset, limit)
    ]


def _list_associated(call: Call) -> frozenset[SubjectName] | None:
    """The subjects with the associations that are asked for; None if none are."""
    if not any(call.read_text(name) for name in ("resourceType", "associationType", "lifecycle")):
        return None
    return frozenset(subject for subject, _ in call.registry.associations.list(read_filter(call)))


def _list_with_aliases(call: Call, aliases: Iterable[SubjectName]) -> Iterator[VersionedSchema]:
    """List the versions that the prefix means, and then those of other subjects that have an alias."""
    seen = set[SubjectName]()
    for version in _list_all(call, call.prefix):
        seen.add(version.version.subject)
        yield version
    for subject in aliases:
        if subject not in seen:
            name = str(subject)
            yield from (v for v in _list_all(call, name) if v.version.subject == subject)


def _list_all(call: Call, prefix: str) -> Iterator[VersionedSchema]:
    offset = 0
    while page := _list_page(call, prefix, offset, _SCHEMAS_A_PAGE):
        yield from page
        offset += len(page)


def _list_page(call: Call, prefix: str, offset: int, limit: int | None) -> Sequence[VersionedSchema]:
    return call.registry.list_schemas(
        prefix,
        deleted=call.is_true("deleted"),
        latest_only=call.is_true("latestOnly"),
        offset=offset,
        limit=limit,
    )


def _has_rule(version: VersionedSchema, kind: str) -> bool:
    """Whether a rule set has a rule of that type."""
    parts = (version.schema.content.rule_set or {}).values()
    rules = (rule for part in parts if isinstance(part, list) for rule in part)
    return any(isinstance(rule, Mapping) and rule.get("type") == kind for rule in rules)


def find_guid(call: Call) -> object:
    """Find a schema by its guid."""
    schema = call.registry.list_by_guid(_read_guid(call))[0]
    return answers.build_schema(schema, _choose_text(call, schema))


def list_ids_of_guid(call: Call) -> object:
    """List the ids of a guid, one a context."""
    return [{"context": s.context, "id": s.id} for s in call.registry.list_by_guid(_read_guid(call))]


def _read_guid(call: Call) -> str:
    if not _UUID.fullmatch(call.parts["guid"]):
        raise RefusedRequest(40403, "No schema has this guid")
    return call.parts["guid"]


def _choose_text(call: Call, schema: Any) -> str | None:
    """The text with its references resolved if that is asked for; an unknown format is ignored."""
    return call.registry.resolve(schema) if call.read_text("format") == "resolved" else None


# Subjects


def list_subjects(call: Call) -> object:
    """List subjects."""
    offset, limit = call.read_page()
    found = call.registry.list_subjects(
        call.prefix,
        deleted=call.is_true("deleted"),
        deleted_only=call.is_true("deletedOnly") or call.is_true("deleted_only"),
        offset=offset,
        limit=limit,
    )
    return [str(subject) for subject in found]


def look_up_schema(call: Call) -> object:
    """Find the version of a subject that has a schema."""
    found = call.registry.look_up(
        call.subject,
        parse_schema_request(call.body),
        normalize=call.is_true("normalize"),
        deleted=call.is_true("deleted"),
    )
    return answers.build_version(found, _choose_text(call, found.schema))


def delete_subject(call: Call) -> object:
    """Delete a subject."""
    return call.registry.delete_subject(call.subject, permanent=call.is_true("permanent"))


def list_versions(call: Call) -> object:
    """List the numbers of a subject's versions."""
    is_deleted = call.is_true("deleted")
    found = call.registry.list_versions(
        call.subject,
        deleted=is_deleted or call.is_true("deletedAsNegative"),
        deleted_only=call.is_true("deletedOnly") or call.is_true("deleted_only"),
    )
    is_negative = call.is_true("deletedAsNegative")
    numbers = (-v.number if is_negative and v.is_deleted else v.number for v in found)
    return paginate(numbers, *call.read_page())


def register_schema(call: Call) -> object:
    """Register a schema under a subject."""
    request = parse_schema_request(call.body)
    changes = parse_tag_changes(call.body, "schemaTagsToAdd", "schemaTagsToRemove")
    if changes and request.text is None:
        latest = call.registry.find_version(call.subject).schema.content
        request = replace(request, text=latest.text, type=latest.type, references=latest.references)
    elif isinstance(call.body, Mapping) and call.body.get("propagateSchemaTags") is True:
        changes = (*_list_propagated(call, request), *changes)
    found = call.registry.register(
        call.subject,
        change_tags(request, changes),
        normalize=call.is_true("normalize"),
        actor=call.actor,
    )
    return answers.build_version(found, _choose_text(call, found.schema))


def find_plain_registration(call: Call) -> WantedRegistration | None:
    """Find what a request registers by itself; None if it takes something of an earlier version.

    Raises:
        RefusedRequest: as `parse_schema_request` and `parse_name`.
    """
    body = call.body
    if not isinstance(body, Mapping) or not _TAGGING.isdisjoint(body) or call.query.keys() - {"normalize"}:
        return None
    request = parse_schema_request(body)
    subject = parse_name(call.subject, call.registry.context)
    return WantedRegistration(subject, request, call.is_true("normalize"), call.actor)


def _list_propagated(call: Call, request: SchemaRequest) -> tuple[TagChange, ...]:
    """The tags of the latest version that a new one takes over; none without a version."""
    try:
        latest = call.registry.find_version(call.subject).schema.content
    except RefusedRequest:
        return ()
    if latest.type != "AVRO" or request.type.upper() != "AVRO" or request.text is None:
        return ()
    return list_kept_tags(latest.text, request.text)


def change_version_tags(call: Call) -> object:
    """Register a version with other tags, metadata or rules as the next one."""
    body = call.body if isinstance(call.body, Mapping) else {}
    sent = {name: body[name] for name in ("metadata", "ruleSet") if name in body}
    request = parse_schema_request({**sent, "version": body.get("newVersion")})
    content = call.registry.find_version(call.subject, call.version).schema.content
    request = replace(
        request,
        text=find_served_text(content),
        type=content.type,
        references=content.references,
        metadata=content.metadata if request.metadata is None else request.metadata,
        rule_set=content.rule_set if request.rule_set is None else request.rule_set,
    )
    changes = parse_tag_changes(body, "tagsToAdd", "tagsToRemove")
    found = call.registry.register(call.subject, change_tags(request, changes), actor=call.actor)
    return answers.build_version(found)


def find_version(call: Call) -> object:
    """Find a version of a subject."""
    found = call.registry.find_version(call.subject, call.version, deleted=call.is_true("deleted"))
    return answers.build_version(found, _choose_text(call, found.schema))


def find_version_text(call: Call) -> object:
    """Find the text of a version."""
    schema = call.registry.find_version(call.subject, call.version, deleted=call.is_true("deleted")).schema
    return RawText(_choose_text(call, schema) or find_served_text(schema.content))


def list_referrers(call: Call) -> object:
    """List the ids of the schemas that refer to a version."""
    found = call.registry.list_referrers(call.subject, call.version, deleted=call.is_true("deleted"))
    return paginate(found, *call.read_page())


def delete_version(call: Call) -> object:
    """Delete a version."""
    return call.registry.delete_version(call.subject, call.version, permanent=call.is_true("permanent"))


def find_by_metadata(call: Call) -> object:
    """Find the newest version with these properties."""
    keys, values = call.query.get("key", ()), call.query.get("value", ())
    found = call.registry.find_by_metadata(
        call.subject, dict(zip(keys, values, strict=False)), deleted=call.is_true("deleted")
    )
    return answers.build_version(found, _choose_text(call, found.schema))


# Compatibility


def check_version(call: Call) -> object:
    """Check a schema against a version."""
    verdict = call.registry.check(
        call.subject,
        parse_schema_request(call.body),
        call.version,
        normalize=call.is_true("normalize"),
    )
    return answers.build_verdict(verdict, call.is_true("verbose"))


def check_versions(call: Call) -> object:
    """Check a schema against the versions that the level requires."""
    verdict = call.registry.check(
        call.subject, parse_schema_request(call.body), normalize=call.is_true("normalize")
    )
    return answers.build_verdict(verdict, call.is_true("verbose"))


# Settings


def read_config(call: Call) -> object:
    """Read settings."""
    return call.registry.read_config(call.parts.get("subject"), effective=call.is_true("defaultToGlobal"))


def update_config(call: Call) -> object:
    """Change settings."""
    return answers.build_config_echo(call.registry.update_config(call.body, call.parts.get("subject")))


def delete_config(call: Call) -> object:
    """Take settings away."""
    return call.registry.delete_config(call.parts.get("subject"))


def read_mode(call: Call) -> object:
    """Read a mode."""
    subject = call.parts.get("subject")
    return {"mode": call.registry.read_mode(subject, effective=call.is_true("defaultToGlobal"))}


def set_mode(call: Call) -> object:
    """Set a mode."""
    mode = call.registry.set_mode(call.body, call.parts.get("subject"), force=call.is_true("force"))
    return {"mode": mode or None}


def delete_mode(call: Call) -> object:
    """Take a mode away."""
    mode = call.registry.delete_mode(call.parts.get("subject"), recursive=call.is_true("recursive"))
    return {"mode": mode}


# Contexts and the server itself


def list_contexts(call: Call) -> object:
    """List contexts."""
    return paginate(call.registry.list_contexts(call.read_text("contextPrefix")), *call.read_page())


def delete_context(call: Call) -> object:
    """Delete an empty context."""
    call.registry.delete_context(call.registry.context)
    return NO_CONTENT


def show_cluster(_: Call) -> object:
    """Show the scope of the registry."""
    return {"id": "", "scope": {"path": [], "clusters": {"schema-registry-cluster": "schemaman"}}}


def show_release(_: Call) -> object:
    """Show the release of the server."""
    return {"version": __version__, "commitId": ""}


def show_deployment(_: Call) -> object:
    """Show that nothing is known of the deployment."""
    return {"attributes": {}}


_SUBJECT, _VERSION = "/subjects/{subject}", "/subjects/{subject}/versions/{version}"
_CHECK = "/compatibility/subjects/{subject}/versions"
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/", show_root),
    Endpoint("POST", "/", show_root),
    Endpoint("GET", "/health", show_root, note="not of Confluent's"),
    Endpoint("GET", "/schemas", list_schemas),
    Endpoint("GET", "/schemas/types", list_types),
    Endpoint("GET", "/schemas/ids/{id}", find_schema, is_kept=True, is_lasting=True),
    Endpoint("GET", "/schemas/ids/{id}/schema", find_text, is_kept=True, is_lasting=True),
    Endpoint("GET", "/schemas/ids/{id}/subjects", list_subjects_of_schema),
    Endpoint("GET", "/schemas/ids/{id}/versions", list_versions_of_schema),
    Endpoint("GET", "/schemas/guids/{guid}", find_guid),
    Endpoint("GET", "/schemas/guids/{guid}/ids", list_ids_of_guid),
    Endpoint("GET", "/subjects", list_subjects),
    Endpoint("POST", _SUBJECT, look_up_schema, is_kept=True),
    Endpoint("DELETE", _SUBJECT, delete_subject, True),
    Endpoint("GET", f"{_SUBJECT}/versions", list_versions, is_kept=True),
    Endpoint("POST", f"{_SUBJECT}/versions", register_schema, True, is_kept=True),
    Endpoint("GET", f"{_SUBJECT}/metadata", find_by_metadata),
    Endpoint("GET", _VERSION, find_version, is_kept=True),
    Endpoint("DELETE", _VERSION, delete_version, True),
    Endpoint("GET", f"{_VERSION}/schema", find_version_text, is_kept=True),
    Endpoint("POST", f"{_VERSION}/tags", change_version_tags, True, "without the property confluent:version"),
    Endpoint("GET", f"{_VERSION}/referencedby", list_referrers),
    Endpoint("POST", _CHECK, check_versions),
    Endpoint("POST", f"{_CHECK}/{{version}}", check_version),
    Endpoint("GET", "/config", read_config),
    Endpoint("PUT", "/config", update_config, True),
    Endpoint("DELETE", "/config", delete_config, True),
    Endpoint("GET", "/config/{subject}", read_config),
    Endpoint("PUT", "/config/{subject}", update_config, True),
    Endpoint("DELETE", "/config/{subject}", delete_config, True),
    Endpoint("GET", "/mode", read_mode),
    Endpoint("PUT", "/mode", set_mode, True, "no mode FORWARD"),
    Endpoint("DELETE", "/mode", delete_mode, True),
    Endpoint("GET", "/mode/{subject}", read_mode),
    Endpoint("PUT", "/mode/{subject}", set_mode, True, "no mode FORWARD"),
    Endpoint("DELETE", "/mode/{subject}", delete_mode, True),
    Endpoint("GET", "/contexts", list_contexts),
    Endpoint("DELETE", "/contexts/{context}", delete_context, True),
    *ASSOCIATION_ENDPOINTS,
    Endpoint("GET", "/v1/metadata/id", show_cluster),
    Endpoint("GET", "/v1/metadata/version", show_release),
    Endpoint("GET", "/v1/metadata/deployment", show_deployment),
)
