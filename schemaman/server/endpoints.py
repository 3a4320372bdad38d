"""The endpoints of the Confluent Schema Registry REST API, each with the function that answers it.

Source: Confluent Schema Registry, REST API, and its OpenAPI document (`schema-registry-api-spec.yaml`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemaman.plugins import find_version as find_release
from schemaman.server import answers
from schemaman.store.subject_names import ALL_CONTEXTS
from schemaman.store.subjects import DEFAULT_CONTEXT
from schemaman.subjects.contents import SCHEMA_TYPES, find_served_text
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.requests import LARGEST_VERSION, parse_schema_request, parse_version
from schemaman.subjects.schema_registry import SchemaRegistry, paginate
from schemaman.subjects.tags import change_tags, parse_tag_changes

_SCHEMAS_A_PAGE = 1000
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NO_ASSOCIATIONS = "This registry keeps no associations: the subject of a topic is the topic's own"

NO_CONTENT = object()
"""The answer without a body, status 204."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was matched: its registry, the parts of its path, its query, its body and its user."""

    registry: SchemaRegistry
    parts: Mapping[str, str]
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    body: object = None
    actor: str = ""

    def is_true(self, name: str) -> bool:
        """Whether a parameter is true, in any case of letters."""
        return self.read_text(name).lower() == "true"

    def read_text(self, *names: str) -> str:
        """The text of the first of these parameters that is there; empty for none."""
        return next((self.query[name][0] for name in names if self.query.get(name)), "")

    def read_page(self, largest: int | None = None) -> tuple[int, int | None]:
        """The offset and the limit of a list; a limit out of range means the default."""
        offset, limit = _read_integer(self.read_text("offset")), _read_integer(self.read_text("limit"))
        is_usual = limit <= 0 or (largest is not None and limit > largest)
        return max(offset, 0), largest if is_usual else limit

    @property
    def prefix(self) -> str:
        """The prefix of subjects to list; without one, all of this context; of the default one, all."""
        is_default = self.registry.context == DEFAULT_CONTEXT
        return self.read_text("subjectPrefix", "subject") or (f":{ALL_CONTEXTS}:" if is_default else "")

    @property
    def subject(self) -> str:
        """The subject in the path."""
        return self.parts["subject"]

    @property
    def version(self) -> int:
        """The version in the path. Raises `RefusedRequest` with 42202."""
        return parse_version(self.parts["version"])

    @property
    def id(self) -> int:
        """The id in the path. Raises `RefusedRequest` with 40403 for what is no id."""
        text = self.parts["id"]
        if not (text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= LARGEST_VERSION):
            raise RefusedRequest(40403, f"Schema {text[:40]} not found")
        return int(text)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method, a path with parts in braces, and the function that answers; `note` names a deviation.

    The server gives an answer that `is_kept` again until something changes.
    """

    method: str
    path: str
    answer: Callable[[Call], object]
    is_write: bool = False
    note: str = ""
    is_kept: bool = False


def _read_integer(text: str) -> int:
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) < 19
    return int(text) if is_number else 0


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
    if any(call.read_text(name) for name in ("resourceType", "associationType", "lifecycle")):
        return []  # these filters choose schemas with associations, and there are none
    offset, limit = call.read_page(_SCHEMAS_A_PAGE)
    kind = call.read_text("ruleType")
    found: Iterable[VersionedSchema]
    if kind:
        chosen = (version for page in _list_pages(call) for version in page if _has_rule(version, kind))
        found = paginate(chosen, offset, limit)
    else:
        found = _list_page(call, offset, limit)
    return [answers.build_version(version) for version in found]


def _list_pages(call: Call) -> Iterator[Sequence[VersionedSchema]]:
    offset = 0
    while page := _list_page(call, offset, _SCHEMAS_A_PAGE):
        yield page
        offset += len(page)


def _list_page(call: Call, offset: int, limit: int | None) -> Sequence[VersionedSchema]:
    return call.registry.list_schemas(
        call.prefix,
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
    found = call.registry.register(
        call.subject,
        change_tags(request, changes),
        normalize=call.is_true("normalize"),
        actor=call.actor,
    )
    return answers.build_version(found, _choose_text(call, found.schema))


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


# Contexts, associations and the server itself


def list_contexts(call: Call) -> object:
    """List contexts."""
    return paginate(call.registry.list_contexts(call.read_text("contextPrefix")), *call.read_page())


def delete_context(call: Call) -> object:
    """Delete an empty context."""
    call.registry.delete_context(call.registry.context)
    return NO_CONTENT


def list_associations(_: Call) -> object:
    """List no associations, so that clients take the subject of the topic."""
    return []


def refuse_association(_: Call) -> object:
    """Refuse an association. Raises `RefusedRequest` with 42212."""
    raise RefusedRequest(42212, _NO_ASSOCIATIONS)


def miss_association(_: Call) -> object:
    """Find no association to delete. Raises `RefusedRequest` with 40410."""
    raise RefusedRequest(40410, _NO_ASSOCIATIONS)


def show_cluster(_: Call) -> object:
    """Show the scope of the registry."""
    return {"id": "", "scope": {"path": [], "clusters": {"schema-registry-cluster": "schemaman"}}}


def show_release(_: Call) -> object:
    """Show the release of the server."""
    return {"version": find_release(), "commitId": ""}


def show_deployment(_: Call) -> object:
    """Show that nothing is known of the deployment."""
    return {"attributes": {}}


@dataclass(frozen=True, slots=True)
class RawText:
    """A text that is itself the body of an answer."""

    text: str


_SUBJECT, _VERSION = "/subjects/{subject}", "/subjects/{subject}/versions/{version}"
_CHECK = "/compatibility/subjects/{subject}/versions"
_NONE_KEPT = "no associations are kept"
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/", show_root),
    Endpoint("POST", "/", show_root),
    Endpoint("GET", "/health", show_root, note="not of Confluent's"),
    Endpoint("GET", "/schemas", list_schemas, note="aliases do not filter"),
    Endpoint("GET", "/schemas/types", list_types),
    Endpoint("GET", "/schemas/ids/{id}", find_schema, is_kept=True),
    Endpoint("GET", "/schemas/ids/{id}/schema", find_text, is_kept=True),
    Endpoint("GET", "/schemas/ids/{id}/subjects", list_subjects_of_schema),
    Endpoint("GET", "/schemas/ids/{id}/versions", list_versions_of_schema),
    Endpoint("GET", "/schemas/guids/{guid}", find_guid),
    Endpoint("GET", "/schemas/guids/{guid}/ids", list_ids_of_guid),
    Endpoint("GET", "/subjects", list_subjects),
    Endpoint("POST", _SUBJECT, look_up_schema),
    Endpoint("DELETE", _SUBJECT, delete_subject, True),
    Endpoint("GET", f"{_SUBJECT}/versions", list_versions),
    Endpoint("POST", f"{_SUBJECT}/versions", register_schema, True, "tags do not propagate"),
    Endpoint("GET", f"{_SUBJECT}/metadata", find_by_metadata),
    Endpoint("GET", _VERSION, find_version),
    Endpoint("DELETE", _VERSION, delete_version, True),
    Endpoint("GET", f"{_VERSION}/schema", find_version_text),
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
    Endpoint("GET", "/associations/resources/{namespace}/{name}", list_associations, note=_NONE_KEPT),
    Endpoint("GET", "/associations/resources/{resource}", list_associations, note=_NONE_KEPT),
    Endpoint("GET", "/associations/subjects/{subject}", list_associations, note=_NONE_KEPT),
    Endpoint("DELETE", "/associations/resources/{resource}", miss_association, True, _NONE_KEPT),
    Endpoint("POST", "/associations", refuse_association, True, _NONE_KEPT),
    Endpoint("PUT", "/associations", refuse_association, True, _NONE_KEPT),
    Endpoint("POST", "/associations:batch", refuse_association, True, _NONE_KEPT),
    Endpoint("PUT", "/associations:batch", refuse_association, True, _NONE_KEPT),
    Endpoint("GET", "/v1/metadata/id", show_cluster),
    Endpoint("GET", "/v1/metadata/version", show_release),
    Endpoint("GET", "/v1/metadata/deployment", show_deployment),
)
