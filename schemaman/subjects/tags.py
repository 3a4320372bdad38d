"""Inline tags: names that a registry writes into the records and fields of an Avro schema.

Source: Confluent Schema Registry, REST API, `SchemaTags` and `TagSchemaRequest`; the tags are the property
`confluent:tags`, and a path is the full name of a record, with the name of a field behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from schemaman.subjects.faults import RefusedRequest
from schemaman.subjects.requests import SchemaRequest

_TAGS = "confluent:tags"

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TagChange:
    """Tags to add to a record or a field, or to remove from it."""

    path: str
    is_field: bool
    tags: tuple[str, ...]
    is_removal: bool = False


def parse_tag_changes(body: object, added: str, removed: str) -> tuple[TagChange, ...]:
    """Read the changes under two names of a request; additions come first.

    Raises:
        RefusedRequest: 42201 for a value of another kind.
    """
    if not isinstance(body, Mapping):
        return ()
    changes = [_parse_change(value, False) for value in _list_values(body, added)]
    return (*changes, *(_parse_change(value, True) for value in _list_values(body, removed)))


def list_kept_tags(before: str, after: str) -> tuple[TagChange, ...]:
    """List the tags of one Avro text whose records and fields another one has, too, as additions to it."""
    try:
        old, new = dict(_list_tagged(json.loads(before))), dict(_list_tagged(json.loads(after)))
    except (ValueError, RecursionError):
        return ()
    return tuple(TagChange(*entity, tags) for entity, tags in old.items() if tags and entity in new)


def _list_tagged(schema: Any) -> Iterator[tuple[tuple[str, bool], tuple[str, ...]]]:
    """List the path of each record and field, whether it is a field, and its tags."""
    for name, record in _list_records(schema, ""):
        yield (name, False), _read_tags(record)
        for field in _list_fields(record):
            yield (f"{name}.{field.get('name')}", True), _read_tags(field)


def _read_tags(node: Node) -> tuple[str, ...]:
    present = node.get(_TAGS)
    return tuple(tag for tag in present if isinstance(tag, str)) if isinstance(present, list) else ()


def change_tags(request: SchemaRequest, changes: Iterable[TagChange]) -> SchemaRequest:
    """Write the changes into the text of a request.

    Raises:
        RefusedRequest: 42201 for another language than Avro, or a path that the schema does not have.
    """
    changes = tuple(changes)
    if not changes:
        return request
    if request.type.upper() != "AVRO" or request.text is None:
        raise RefusedRequest(42201, "Invalid schema: tags are written into the text of an Avro schema only")
    try:
        schema = json.loads(request.text)
        for change in changes:
            _apply(schema, change)
        return replace(request, text=json.dumps(schema))
    except (ValueError, RecursionError) as error:
        raise RefusedRequest(42201, f"Invalid schema: {error}") from error


def _list_values(body: Mapping[str, Any], name: str) -> list[object]:
    values = body.get(name)
    if values is None:
        return []
    if not isinstance(values, list):
        raise RefusedRequest(42201, f"Invalid schema: {name} is no list")
    return values


def _parse_change(value: object, is_removal: bool) -> TagChange:
    match value:
        case {
            "schemaEntity": {"entityPath": str(path), "entityType": "SR_RECORD" | "SR_FIELD" as kind},
            "tags": list(tags),
        } if all(isinstance(tag, str) for tag in tags):
            return TagChange(path, kind == "SR_FIELD", tuple(tags), is_removal)
    raise RefusedRequest(
        42201,
        "Invalid schema: tags need a schemaEntity, with entityPath and an entityType: SR_RECORD or SR_FIELD",
    )


def _apply(schema: Any, change: TagChange) -> None:
    record, _, field = change.path.rpartition(".") if change.is_field else (change.path, "", "")
    found = [node for name, node in _list_records(schema, "") if name == record]
    if change.is_field:
        found = [each for node in found for each in _list_fields(node) if each.get("name") == field]
    if not found:
        raise RefusedRequest(42201, f"Invalid schema: it has no path {change.path[:200]!r}")
    tags = _read_tags(found[0])
    kept = (
        [tag for tag in tags if tag not in change.tags]
        if change.is_removal
        else list(dict.fromkeys([*tags, *change.tags]))
    )
    found[0].pop(_TAGS, None)
    if kept:
        found[0][_TAGS] = kept


def _list_records(node: Any, namespace: str) -> Iterator[tuple[str, Node]]:
    """List the records of a schema with their full names, outer ones first."""
    if isinstance(node, list):
        for branch in node:
            yield from _list_records(branch, namespace)
    if not isinstance(node, dict):
        return
    name = node.get("name")
    if isinstance(name, str) and isinstance(node.get("fields"), list):
        own = node.get("namespace")
        namespace = own if isinstance(own, str) else namespace
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        namespace = full_name.rpartition(".")[0]
        yield full_name, node
        for field in _list_fields(node):
            yield from _list_records(field.get("type"), namespace)
    for part in ("type", "items", "values"):
        yield from _list_records(node.get(part), namespace)


def _list_fields(record: Node) -> list[Node]:
    return [field for field in record["fields"] if isinstance(field, dict)]
