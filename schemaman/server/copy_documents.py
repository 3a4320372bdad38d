"""A copy of a whole registry as JSON: its schemas are entries as `GET /schemas` lists them.

A list of such entries alone is read, too: it has no settings. Source: Confluent Schema Registry, REST API.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from schemaman.errors import UnreadableInput
from schemaman.server.answers import Json, build_association, build_version
from schemaman.store.subject_names import parse_subject
from schemaman.store.subjects import DEFAULT_CONTEXT, Association, QuarantinedVersion, SubjectSettings
from schemaman.subjects.associations import KINDS, LIFECYCLES
from schemaman.subjects.copies import CopiedVersion, RegistryCopy, VersionKey
from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import POLICIES
from schemaman.subjects.requests import (
    parse_config_update,
    parse_failures,
    parse_mode,
    parse_name,
    parse_schema_request,
    parse_version,
)

FORMAT = "schemaman-registry"
FORMAT_VERSION = 1
_HINT = "use a file of `schemaman registry export`, or a list of {subject, version, id, schema, …}"


def write_document(versions: Iterable[VersionedSchema], copy: RegistryCopy) -> Iterator[str]:
    """Write a copy as lines of one JSON document; each version has a line of its own."""
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "contexts": [{"context": name, "maxId": id} for name, id in sorted(copy.largest_ids.items())],
        "settings": [_build_settings(scope, one) for scope, one in sorted(copy.settings.items())],
    }
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "schemas": [\n'
    comma = ""
    for found in versions:
        entry = build_version(found)
        if found.version.actor:
            entry["actor"] = found.version.actor
        yield f"{comma}{json.dumps(entry, ensure_ascii=False)}"
        comma = ",\n"
    yield "\n]}\n"


def _build_settings(scope: str, settings: SubjectSettings) -> Json:
    found: Json = {"scope": scope}
    if settings.config is not None:
        found["config"] = settings.config
    if settings.mode:
        found["mode"] = settings.mode
    if settings.policy:
        found["policy"] = settings.policy
    if settings.quarantine:
        found["quarantine"] = [
            {"version": one.number, "id": one.schema_id, "ts": one.at_ms, "failures": list(one.failures)}
            for one in settings.quarantine
        ]
    if settings.associations:
        subject = parse_subject(scope)
        found["associations"] = [build_association(subject, one) for one in settings.associations]
    return found


def read_document(text: str | bytes, name: str) -> RegistryCopy:
    """Read a copy from JSON; `name` is for messages. Raises `UnreadableInput`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{name}: not JSON ({error})", hint=_HINT) from error
    return parse_document(document, name)


def parse_document(document: Any, name: str) -> RegistryCopy:
    """Read a copy from a document or a list of entries.

    Raises:
        UnreadableInput: it is neither; an entry has a malformed part; a version is there twice.
    """
    if isinstance(document, list):
        document = {"schemas": document}
    elif not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise UnreadableInput(f"{name}: not the copy of a registry", hint=_HINT)
    elif document.get("format_version") != FORMAT_VERSION:
        raise UnreadableInput(
            f"{name}: written by a newer release (format {document.get('format_version')!r})",
            hint="upgrade schemaman",
        )
    versions: dict[VersionKey, CopiedVersion] = {}
    for number, entry in enumerate(_read_list(document, "schemas", name), 1):
        version = _parse_entry(entry, f"{name}: schema {number}")
        if version.key in versions:
            raise UnreadableInput(f"{name}: {version.subject}@{version.number} is there twice")
        versions[version.key] = version
    settings = dict(_parse_settings(one, name) for one in _read_list(document, "settings", name))
    largest = dict(_parse_context(one, name) for one in _read_list(document, "contexts", name))
    return RegistryCopy(tuple(versions[key] for key in sorted(versions)), settings, largest)


def _read_list(document: Mapping[str, Any], part: str, name: str) -> list[Any]:
    found = document.get(part, [])
    if not isinstance(found, list):
        raise UnreadableInput(f"{name}: {part} is not a list", hint=_HINT)
    return found


def _parse_entry(entry: Any, where: str) -> CopiedVersion:
    match entry:
        case {"subject": str(subject), "version": int(number), "id": int(id), "schema": str()}:
            pass
        case _:
            raise UnreadableInput(f"{where} lacks a subject, a version, an id or a text", hint=_HINT)
    actor, is_deleted = entry.get("actor") or "", entry.get("deleted") or False
    if not isinstance(actor, str) or type(is_deleted) is not bool:
        raise UnreadableInput(f"{where} has an actor or a deleted of another type", hint=_HINT)
    try:
        request = parse_schema_request(entry)
        name = parse_name(subject, DEFAULT_CONTEXT)
        parse_version(str(number))
    except RefusedRequest as error:
        raise UnreadableInput(f"{where}: {error.message}") from error
    if id < 1 or not name.name:
        raise UnreadableInput(f"{where} has no id or no subject", hint=_HINT)
    return CopiedVersion(name, number, id, request, is_deleted, actor)


def _parse_settings(entry: Any, name: str) -> tuple[str, SubjectSettings]:
    try:
        scope = entry["scope"]
        parse_name(scope, DEFAULT_CONTEXT, may_be_global=True)
        config = parse_config_update(entry["config"]) if entry.get("config") is not None else None
        mode = parse_mode(entry) if entry.get("mode") else ""
        policy = entry.get("policy") or ""
        if policy not in ("", *POLICIES):
            raise RefusedRequest(42272, f"invalid policy {str(policy)[:40]!r}")
        marks = tuple(map(_parse_mark, _read_list(entry, "quarantine", name)))
        associations = tuple(map(_parse_association, _read_list(entry, "associations", name)))
    except RefusedRequest as error:
        raise UnreadableInput(f"{name}: settings: {error.message}") from error
    except (LookupError, TypeError, AttributeError) as error:
        raise UnreadableInput(f"{name}: settings lack a scope, or another part", hint=_HINT) from error
    return scope, SubjectSettings(config or None, mode, policy, marks, associations)


def _parse_mark(entry: Any) -> QuarantinedVersion:
    match entry:
        case {"version": int(number), "id": int(id), "ts": int(at_ms)}:
            return QuarantinedVersion(number, id, at_ms, parse_failures(entry.get("failures")))
    raise RefusedRequest(42273, "a mark of quarantine has no version, id or ts")


def _parse_association(entry: Any) -> Association:
    names = (
        "resourceName",
        "resourceNamespace",
        "resourceId",
        "resourceType",
        "associationType",
        "lifecycle",
    )
    texts = [*(entry[name] for name in names), entry.get("guid", "")]
    times = [entry.get(name, 0) for name in ("createTs", "updateTs")]
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(time, int) for time in times):
        raise RefusedRequest(42212, "an association has a part of another type")
    if texts[4] not in KINDS or texts[5] not in LIFECYCLES:
        raise RefusedRequest(42212, "an association has another type or lifecycle")
    return Association(*texts, *times)


def _parse_context(entry: Any, name: str) -> tuple[str, int]:
    match entry:
        case {"context": str(context), "maxId": int(id)} if id >= 0 and context.startswith("."):
            return parse_subject(f":{context}:").context, id
    raise UnreadableInput(f"{name}: a context has no name or no maxId", hint=_HINT)
