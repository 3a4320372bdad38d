"""The OpenAPI 3.1 document of the server, made from its endpoints.

Source: OpenAPI Specification 3.1.0; JSON Schema 2020-12.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from schemaman import __version__
from schemaman.compat.avro.levels import LEVEL_NAMES
from schemaman.server import association_endpoints as a
from schemaman.server import endpoints as e
from schemaman.server import table_endpoints as t
from schemaman.server.calls import Call, Endpoint
from schemaman.server.media_types import PRODUCED
from schemaman.subjects.associations import KINDS, LIFECYCLES, TOPIC
from schemaman.subjects.contents import SCHEMA_TYPES
from schemaman.subjects.faults import FAULTS
from schemaman.subjects.policies import POLICIES
from schemaman.subjects.requests import MODES

Json = dict[str, object]

_PAGE = ("offset", "limit")
_FORMAT = ("format",)
QUERY: Mapping[Callable[[Call], object], Sequence[str]] = {
    e.find_schema: ("subject", "format", "fetchMaxId"),
    e.find_text: ("subject", "format"),
    e.list_subjects_of_schema: ("subject", "deleted", *_PAGE),
    e.list_versions_of_schema: ("subject", "deleted", *_PAGE),
    e.list_schemas: (
        "subjectPrefix", "aliases", "deleted", "latestOnly", "ruleType", "resourceType", "associationType",
        "lifecycle", *_PAGE,
    ),
    e.find_guid: _FORMAT,
    e.list_subjects: ("subjectPrefix", "deleted", "deletedOnly", *_PAGE),
    e.look_up_schema: ("normalize", "deleted", "format"),
    e.delete_subject: ("permanent",),
    e.list_versions: ("deleted", "deletedOnly", "deletedAsNegative", *_PAGE),
    e.register_schema: ("normalize", "format"),
    e.find_version: ("deleted", "format"),
    e.find_version_text: ("deleted", "format"),
    e.list_referrers: ("deleted", *_PAGE),
    e.delete_version: ("permanent",),
    e.find_by_metadata: ("key", "value", "deleted", "format"),
    e.check_version: ("normalize", "verbose"),
    e.check_versions: ("normalize", "verbose"),
    e.read_config: ("defaultToGlobal",),
    e.read_mode: ("defaultToGlobal",),
    e.set_mode: ("force",),
    e.delete_mode: ("recursive",),
    e.list_contexts: ("contextPrefix", *_PAGE),
    a.list_by_name: ("resourceType", "associationType", "lifecycle", *_PAGE),
    a.list_by_id: ("resourceType", "associationType", "lifecycle", *_PAGE),
    a.list_by_subject: ("resourceType", "associationType", "lifecycle", *_PAGE),
    a.create_associations: ("context", "dryRun"),
    a.update_associations: ("context", "dryRun"),
    a.delete_associations: ("resourceType", "associationType", "cascadeLifecycle", "dryRun"),
    a.change_many: ("context", "dryRun", "cascadeLifecycle"),
    t.find_held: ("when",),
    t.read_policy: ("own",),
    t.judge_next: ("against",),
    t.judge_version: ("against",),
    t.judge_schemas: ("table",),
}  # fmt: skip
"""The parameters of the query of each function that reads some."""

_NUMBERS = frozenset(_PAGE)
_TEXTS = frozenset(
    {
        "subject",
        "subjectPrefix",
        "contextPrefix",
        "context",
        "format",
        "key",
        "value",
        "when",
        "against",
        "table",
        "ruleType",
        "resourceType",
        "associationType",
        "lifecycle",
    }
)
_REPEATED = frozenset({"key", "value", "associationType"})
_REQUIRED = frozenset({"when"})

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer"}
_FLAG: Json = {"type": "boolean"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}


def _refer(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _or_null(schema: Json) -> Json:
    return {"oneOf": [schema, {"type": "null"}]}


def _closed(**properties: Json) -> Json:
    """An object that always has each of these properties, and no other one."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _map_of(items: Json) -> Json:
    return {"type": "object", "additionalProperties": items}


_REFERENCE: Json = {
    "type": "object",
    "properties": {"name": _TEXT, "subject": _TEXT, "version": _NUMBER},
    "required": ["name", "subject", "version"],
}
_CONTENT: Json = {
    "schema": _TEXT,
    "schemaType": {"type": "string", "enum": list(SCHEMA_TYPES)},
    "references": _list(_REFERENCE),
    "metadata": {"type": "object"},
    "ruleSet": {"type": "object"},
}
_TAGS: Json = {
    "type": "object",
    "properties": {
        "schemaEntity": {
            "type": "object",
            "properties": {"entityPath": _TEXT, "entityType": {"enum": ["SR_RECORD", "SR_FIELD"]}},
            "required": ["entityPath", "entityType"],
        },
        "tags": _list(_TEXT),
    },
    "required": ["schemaEntity", "tags"],
}
_RESOURCE: dict[str, Json] = {
    "resourceName": _TEXT, "resourceNamespace": _TEXT, "resourceId": _TEXT, "resourceType": {"const": TOPIC},
}  # fmt: skip
_FAILURE = _closed(rule=_TEXT, path=_TEXT, message=_TEXT, fix=_TEXT)
_KIND: Json = {"enum": list(KINDS)}
_LIFECYCLE: Json = {"enum": list(LIFECYCLES)}
_COMPONENTS: Json = {
    "Error": _closed(error_code=_NUMBER, message=_TEXT),
    "SchemaRequest": {"type": "object", "properties": {**_CONTENT, "id": _NUMBER, "version": _NUMBER,
        "schemaTagsToAdd": _list(_TAGS), "schemaTagsToRemove": _list(_TAGS), "propagateSchemaTags": _FLAG}},
    "TagRequest": {
        "type": "object",
        "properties": {
            "newVersion": _NUMBER, "tagsToAdd": _list(_TAGS), "tagsToRemove": _list(_TAGS),
            "metadata": {"type": "object"}, "ruleSet": {"type": "object"},
        },
    },
    "Version": {
        "type": "object",
        "properties": {
            "subject": _TEXT, "version": _NUMBER, "id": _NUMBER, "guid": _TEXT, **_CONTENT, "ts": _NUMBER,
            "deleted": _FLAG, "maxId": _NUMBER, "aliases": _list(_TEXT),
        },
        "required": ["schema", "schemaType", "guid"],
        "additionalProperties": False,
    },
    "Config": {
        "type": "object",
        "properties": {"compatibility": {"type": "string", "enum": list(LEVEL_NAMES)}},
    },
    "Mode": {"type": "object", "properties": {"mode": {"type": ["string", "null"], "enum": [*MODES, None]}}},
    "Compatibility": {
        "type": "object",
        "properties": {"is_compatible": _FLAG, "messages": _list(_TEXT)},
        "required": ["is_compatible"],
        "additionalProperties": False,
    },
    "Association": _closed(
        subject=_TEXT, guid=_TEXT, **_RESOURCE, associationType=_KIND, lifecycle=_LIFECYCLE, frozen=_FLAG,
        createTs=_NUMBER, updateTs=_NUMBER,
    ),
    "AssociationRequest": {
        "type": "object",
        "properties": {
            **_RESOURCE,
            "associations": _list({
                "type": "object",
                "properties": {
                    "subject": _TEXT, "associationType": _KIND, "lifecycle": _LIFECYCLE, "frozen": _FLAG,
                    "schema": _refer("SchemaRequest"), "normalize": _FLAG,
                    "opType": {"enum": ["CREATE", "UPSERT", "DELETE"]}, "cascadeLifecycle": _FLAG,
                },
            }),
            "associationTypes": _list(_KIND),
            "lifecycle": _LIFECYCLE,
        },
    },
    "AssociationResponse": {
        "type": "object",
        "properties": {
            **_RESOURCE,
            "associations": _list({
                "type": "object",
                "properties": {
                    "subject": _TEXT, "associationType": _KIND, "lifecycle": _LIFECYCLE, "frozen": _FLAG,
                    "schema": _refer("Version"),
                },
            }),
        },
        "additionalProperties": False,
    },
    "AssociationRequests": {
        "type": "object",
        "properties": {"requests": _list(_refer("AssociationRequest"))},
        "required": ["requests"],
    },
    "AssociationResults": _closed(
        results=_list({
            "type": "object",
            "properties": {"result": _refer("AssociationResponse"), "error": _refer("Error")},
            "additionalProperties": False,
        })
    ),
    "Policy": _closed(policy={"type": "string", "enum": [*POLICIES, ""]}),
    "Table": _closed(id=_TEXT, stream=_TEXT, server=_TEXT, database=_TEXT, schema=_TEXT, name=_TEXT),
    "Coordinates": _closed(
        topic=_TEXT, partition=_NUMBER, offset=_NUMBER, position=_TEXT_OR_NULL, ts_ms=_NUMBER_OR_NULL
    ),
    "HistoryVersion": _closed(
        version=_NUMBER, id=_TEXT, status=_TEXT, **{"from": _refer("Coordinates")},
        after=_or_null(_refer("Coordinates")), until=_or_null(_refer("Coordinates")),
    ),
    "Source": _closed(
        subject=_TEXT, part=_TEXT_OR_NULL, strategy=_TEXT, topic=_TEXT_OR_NULL, record=_TEXT_OR_NULL,
        tables=_list(_refer("Table")), table=_TEXT_OR_NULL,
        history_version=_or_null(_refer("HistoryVersion")), belongs=_FLAG,
        columns=_list(_closed(column=_TEXT_OR_NULL, field=_TEXT_OR_NULL, type=_TEXT, key=_FLAG)),
        collisions=_list(_list(_TEXT)),
    ),
    "Quarantine": _closed(since_ms=_NUMBER, failures=_list(_FAILURE)),
    "Mark": {"type": "object", "properties": {"since_ms": _NUMBER, "failures": _list(_FAILURE)}},
    "Step": _closed(
        subject=_TEXT, version=_NUMBER, id=_NUMBER, registered_ms=_NUMBER,
        belongs=_list(_closed(table=_TEXT, fit=_TEXT, history_version=_refer("HistoryVersion"))),
        quarantine=_or_null(_refer("Quarantine")),
    ),
    "Held": _closed(
        table=_refer("Table"), history_version=_refer("HistoryVersion"), versions=_list(_refer("Step"))
    ),
    "Judgement": _closed(
        passes=_FLAG, is_judged=_FLAG, table=_TEXT, readers=_map_of(_TEXT),
        findings=_list(
            _closed(
                rule=_TEXT, severity=_TEXT, fails=_FLAG, path=_list(_TEXT), before=_TEXT, after=_TEXT,
                message=_TEXT, fixes=_list(_TEXT), readers=_map_of(_TEXT), witness=_TEXT_OR_NULL,
                fingerprint=_TEXT,
            )
        ),
    ),
    "Pair": _closed(topic=_TEXT, key=_or_null(_refer("Version")), value=_or_null(_refer("Version"))),
    "PairRequest": {
        "type": "object",
        "properties": {"key": _refer("SchemaRequest"), "value": _refer("SchemaRequest")},
        "required": ["key", "value"],
    },
    "StepRequest": {
        "type": "object",
        "properties": {"old": _refer("SchemaRequest"), "new": _refer("SchemaRequest")},
        "required": ["old", "new"],
    },
}  # fmt: skip

_BODIES: Mapping[Callable[[Call], object], str] = {
    e.look_up_schema: "SchemaRequest",
    e.register_schema: "SchemaRequest",
    e.change_version_tags: "TagRequest",
    e.check_version: "SchemaRequest",
    e.check_versions: "SchemaRequest",
    e.update_config: "Config",
    e.set_mode: "Mode",
    a.create_associations: "AssociationRequest",
    a.update_associations: "AssociationRequest",
    a.find_many: "AssociationRequests",
    a.change_many: "AssociationRequests",
    t.judge_next: "SchemaRequest",
    t.judge_schemas: "StepRequest",
    t.register_topic: "PairRequest",
    t.set_policy: "Policy",
    t.quarantine_version: "Mark",
}
_ANSWERS: Mapping[Callable[[Call], object], Json] = {
    e.find_schema: _refer("Version"),
    e.find_guid: _refer("Version"),
    e.find_version: _refer("Version"),
    e.look_up_schema: _refer("Version"),
    e.register_schema: _refer("Version"),
    e.change_version_tags: _refer("Version"),
    e.find_by_metadata: _refer("Version"),
    e.list_schemas: _list(_refer("Version")),
    e.list_subjects: _list(_TEXT),
    e.list_subjects_of_schema: _list(_TEXT),
    e.list_types: _list(_TEXT),
    e.list_contexts: _list(_TEXT),
    e.list_versions: _list(_NUMBER),
    e.list_referrers: _list(_NUMBER),
    e.delete_subject: _list(_NUMBER),
    e.delete_version: _NUMBER,
    e.list_versions_of_schema: _list(_closed(subject=_TEXT, version=_NUMBER)),
    e.list_ids_of_guid: _list(_closed(context=_TEXT, id=_NUMBER)),
    e.check_version: _refer("Compatibility"),
    e.check_versions: _refer("Compatibility"),
    e.read_mode: _refer("Mode"),
    e.set_mode: _refer("Mode"),
    e.delete_mode: _refer("Mode"),
    a.list_by_name: _list(_refer("Association")),
    a.list_by_id: _list(_refer("Association")),
    a.list_by_subject: _list(_refer("Association")),
    a.create_associations: _refer("AssociationResponse"),
    a.update_associations: _refer("AssociationResponse"),
    a.find_many: _refer("AssociationResults"),
    a.change_many: _refer("AssociationResults"),
    t.find_source: _refer("Source"),
    t.list_steps: _list(_refer("Step")),
    t.find_step: _refer("Step"),
    t.find_held: _refer("Held"),
    t.judge_next: _refer("Judgement"),
    t.judge_version: _refer("Judgement"),
    t.judge_schemas: _refer("Judgement"),
    t.find_topic: _refer("Pair"),
    t.register_topic: _refer("Pair"),
    t.read_policy: _refer("Policy"),
    t.set_policy: _refer("Policy"),
    t.delete_policy: _refer("Policy"),
    t.list_quarantined: _list(_refer("Step")),
    t.quarantine_version: _refer("Step"),
    t.release_version: _refer("Step"),
}
"""The schema of each answer; of others, any JSON."""
_PART = re.compile(r"\{(\w+)\}")


def show_document(_: Call) -> object:
    """Show this document."""
    return build_document((*e.ENDPOINTS, *t.TABLE_ENDPOINTS, *DOCUMENT_ENDPOINTS))


DOCUMENT_ENDPOINTS: tuple[Endpoint, ...] = (Endpoint("GET", f"{t.OWN}/openapi.json", show_document),)


def build_document(endpoints: Sequence[Endpoint]) -> Json:
    """Build the document of endpoints."""
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        operations = paths.setdefault(endpoint.path, {})
        operations[endpoint.method.lower()] = _build_operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "schemaman schema registry",
            "version": __version__,
            "description": "The REST API of Confluent Schema Registry, and /schemaman/v1. "
            "A path may begin with /contexts/{context}.",
        },
        "paths": paths,
        "components": {
            "schemas": _COMPONENTS,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _build_operation(endpoint: Endpoint) -> Json:
    answer = endpoint.answer
    parts = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in _PART.findall(endpoint.path)
    ]
    operation: Json = {
        "operationId": _name_operation(endpoint),
        "summary": _read_summary(answer),
        "parameters": [*parts, *(_build_parameter(name) for name in QUERY.get(answer, ()))],
        "responses": {
            "default": {
                "description": f"A fault; its code is one of {', '.join(map(str, FAULTS))}, or the status",
                "content": _build_content(_refer("Error")),
            },
            **_build_success(answer),
        },
    }
    if endpoint.method in ("POST", "PUT"):
        body = _BODIES.get(answer)
        schema: Json = {"type": "object"} if body is None else _refer(body)
        operation["requestBody"] = {"required": body is not None, "content": _build_content(schema)}
    return operation


def _build_success(answer: Callable[[Call], object]) -> Json:
    if answer in (e.delete_context, a.delete_associations):
        return {"204": {"description": "Done"}}
    status = "207" if answer in (a.find_many, a.change_many) else "200"
    return {status: {"description": "The answer", "content": _build_content(_ANSWERS.get(answer, {}))}}


def _build_content(schema: Json) -> Json:
    return {media_type: {"schema": schema} for media_type in PRODUCED}


def _build_parameter(name: str) -> Json:
    schema = _TEXT if name in _TEXTS else _NUMBER if name in _NUMBERS else _FLAG
    schema = _list(schema) if name in _REPEATED else schema
    return {"name": name, "in": "query", "required": name in _REQUIRED, "schema": schema}


def _name_operation(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", endpoint.path)
    return "_".join([endpoint.method.lower(), *words])


def _read_summary(answer: Callable[[Call], object]) -> str:
    return (answer.__doc__ or "").partition("\n")[0].rstrip(".")
