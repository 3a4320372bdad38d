"""Requests to a schema registry as frozen values, read from the JSON that clients send.

Unknown names are ignored, as clients of any release send them. Source: Confluent Schema Registry, REST API.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemaman.compat.avro.levels import LEVEL_NAMES
from schemaman.store.subject_names import ALL_CONTEXTS, GLOBAL_CONTEXT, parse_subject
from schemaman.store.subjects import DEFAULT_CONTEXT, JsonObject, SchemaReference, SubjectName
from schemaman.subjects.faults import RefusedRequest

LARGEST_VERSION = 2**31 - 1
LATEST = -1
"""The number that means the latest version."""

MODES = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
POLICIES = ("STRICT", "LENIENT", "LOGICAL")
_LARGEST_NAME = 1_000
"""Bytes of a subject's name that a database can keep unique."""
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RESERVED_NAMES = ("__GLOBAL", "__EMPTY")

_LEVEL = "compatibilityLevel"
_CONFIG_KINDS: Mapping[str, type] = {
    "compatibilityPolicy": str, "compatibilityGroup": str, "normalize": bool, "alias": str,
    "aliasForDeks": bool, "validateFields": bool, "validateNewSchemas": bool, "validateRules": bool,
    "defaultMetadata": dict, "overrideMetadata": dict, "defaultRuleSet": dict, "overrideRuleSet": dict,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """What a client registers or looks up; no id and no version are 0. `text` is None to take the latest.

    `guid` and `at_ms` are those of a version that another server of schemaman has; only an import takes them.
    """

    text: str | None
    type: str = "AVRO"
    references: tuple[SchemaReference, ...] = ()
    metadata: JsonObject | None = None
    rule_set: JsonObject | None = None
    id: int = 0
    version: int = 0
    guid: str = ""
    at_ms: int = 0


def parse_schema_request(body: object) -> SchemaRequest:
    """Read a request that has a schema.

    Raises:
        RefusedRequest: 42201 for a value of another kind, 42210 for a rule set that is none.
    """
    if not isinstance(body, Mapping):
        raise RefusedRequest(42201, "Invalid schema: the request is no JSON object")
    text = _read(body, "schema", str, None)
    kind = _read(body, "schemaType", str, "AVRO") or "AVRO"
    references = tuple(map(_parse_reference, _read(body, "references", list, [])))
    metadata = _parse_metadata(_read(body, "metadata", dict, None))
    rule_set = _parse_rule_set(_read(body, "ruleSet", dict, None))
    id = _read_number(body, "id")
    version = _read_number(body, "version")
    guid, at_ms = body.get("guid"), body.get("ts")
    return SchemaRequest(
        text, kind, references, metadata, rule_set, id, version,
        guid.lower() if isinstance(guid, str) and _UUID.fullmatch(guid) else "",
        at_ms if isinstance(at_ms, int) and 0 < at_ms < 2**53 else 0,
    )  # fmt: skip


def parse_name(text: str, context: str, *, may_be_global: bool = False) -> SubjectName:
    """Read the name of a subject; the global context has settings, but no subjects.

    Raises:
        RefusedRequest: 42208 for a name that no subject may have.
    """
    name = parse_subject(text, context)
    is_bad = (
        _CONTROL.search(text) is not None
        or name.name in _RESERVED_NAMES
        or name.context == ALL_CONTEXTS
        or (name.context == GLOBAL_CONTEXT and not may_be_global)
    )
    if is_bad or len(text.encode(errors="replace")) > _LARGEST_NAME:
        shown = text.encode("ascii", "backslashreplace").decode()[:200]
        raise RefusedRequest(42208, f"'{shown}' is not a valid subject")
    return name


def parse_prefix(text: str, context: str) -> SubjectName:
    """Read the beginning of names; the context `*` is that of all. Raises `RefusedRequest` with 42208."""
    name = parse_subject(text, context)
    parse_name(f"{name.name}x", context)
    if name.context != ALL_CONTEXTS:
        parse_name(f":{name.context}:", context, may_be_global=True)
    return name


def parse_version(text: str) -> int:
    """Read the number of a version; `latest` and -1 are `LATEST`. Raises `RefusedRequest` with 42202."""
    if text.lower() == "latest" or text == "-1":
        return LATEST
    if text.isascii() and text.isdigit() and len(text) < 11 and 1 <= int(text) <= LARGEST_VERSION:
        return int(text)
    raise RefusedRequest(
        42202, f"'{text[:40]}' is not a valid version: it is a number from 1 to 2^31-1, or latest"
    )


def parse_config_update(body: object) -> JsonObject:
    """Read the settings that a request changes; one with the value None is cleared.

    Raises:
        RefusedRequest: 42203 for a level, or another value, that there is not, 42208 for an alias that is no
            subject.
    """
    if not isinstance(body, Mapping):
        raise RefusedRequest(42203, "Invalid compatibility level: the request is no JSON object")
    found: dict[str, object] = {}
    for name in ("compatibility", _LEVEL):
        if name in body:
            found[_LEVEL] = _parse_level(body[name])
    for name, kind in _CONFIG_KINDS.items():
        if name not in body:
            continue
        value = body[name]
        if value is not None and not isinstance(value, kind):
            raise RefusedRequest(42203, f"Invalid configuration: {name} has a value of another type")
        found[name] = value
    alias = found.get("alias")
    if isinstance(alias, str):
        parse_name(alias, DEFAULT_CONTEXT)
    if found.get("compatibilityPolicy") not in (None, *POLICIES):
        raise RefusedRequest(42203, f"Invalid compatibility policy. Valid values are {', '.join(POLICIES)}")
    for name in ("defaultMetadata", "overrideMetadata"):
        _parse_metadata(found.get(name))
    for name in ("defaultRuleSet", "overrideRuleSet"):
        _parse_rule_set(found.get(name))
    return found


def parse_failures(value: object) -> tuple[JsonObject, ...]:
    """Read why a version is quarantined: objects of texts. Raises `RefusedRequest` with 42273 for others."""
    found = [] if value is None else value
    names = {"rule", "path", "message", "fix"}
    if not isinstance(found, list) or not all(
        isinstance(one, Mapping) and set(one) == names and all(isinstance(one[n], str) for n in names)
        for one in found
    ):
        raise RefusedRequest(42273, f"Invalid mark: a failure has the texts {', '.join(sorted(names))}")
    return tuple(dict(one) for one in found)


def parse_mode(body: object) -> str:
    """Read a mode; empty to clear it. Raises `RefusedRequest` with 42204 for a mode that there is not."""
    mode = body.get("mode", "") if isinstance(body, Mapping) else ""
    if mode is None:
        return ""
    if not isinstance(mode, str) or mode.upper() not in MODES:
        raise RefusedRequest(42204, f"Invalid mode. Valid values are {', '.join(MODES)}")
    return mode.upper()


def _parse_level(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value.upper() not in LEVEL_NAMES:
        raise RefusedRequest(
            42203, f"Invalid compatibility level. Valid values are {', '.join(LEVEL_NAMES).lower()}"
        )
    return value.upper()


def _read(body: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise RefusedRequest(42201, f"Invalid schema: {name} has a value of another type")
    return value


def _read_number(body: Mapping[str, Any], name: str) -> int:
    """Read an id or a version; 0 for none, also where a client sends -1."""
    value = body.get(name)
    if value is None or value == -1:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_VERSION:
        raise RefusedRequest(42201, f"Invalid schema: {name} is no number from 1 to 2^31-1")
    return value


def _parse_reference(value: object) -> SchemaReference:
    match value:
        case {"name": str(name), "subject": str(subject), "version": int(version)} if name:
            number = LATEST if version == -1 else version
            if number == LATEST or 1 <= number <= LARGEST_VERSION:
                return SchemaReference(name, subject, number)
    raise RefusedRequest(42201, "Invalid schema: a reference has a name, a subject and a version")


def _parse_metadata(value: Any) -> JsonObject | None:
    """Check metadata and drop what is empty; None if nothing is left."""
    if value is None:
        return None
    found = {name: part for name, part in value.items() if part not in (None, {}, [])}
    is_valid = (
        _is_map(found.get("tags", {}), lambda tags: _is_list_of_texts(tags))
        and _is_map(found.get("properties", {}), lambda text: isinstance(text, str))
        and _is_list_of_texts(found.get("sensitive", []))
    )
    if not is_valid:
        raise RefusedRequest(
            42201, "Invalid schema: metadata has tags, properties and sensitive, all of text"
        )
    return found or None


def _parse_rule_set(value: Any) -> JsonObject | None:
    """Check a rule set and drop what is empty; None if nothing is left."""
    if value is None:
        return None
    found = {name: part for name, part in value.items() if part not in (None, [])}
    names: list[object] = []
    for part in ("migrationRules", "domainRules", "encodingRules"):
        rules = found.get(part, [])
        if not isinstance(rules, list) or not all(
            isinstance(rule, dict) and isinstance(rule.get("name"), str) and rule["name"] for rule in rules
        ):
            raise RefusedRequest(42210, f"Invalid rule set: {part} is a list of rules with names")
        names += [rule["name"] for rule in rules]
    if len(set(names)) < len(names):
        raise RefusedRequest(42210, "Invalid rule set: two rules have one name")
    return found or None


def _is_map(value: object, is_valid: Any) -> bool:
    return isinstance(value, dict) and all(map(is_valid, value.values()))


def _is_list_of_texts(value: object) -> bool:
    return (
        isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, str) for v in value)
    )
