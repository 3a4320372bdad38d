"""Schema references of Avro: inline the types of other registered schemas into one schema.

Source: Avro specification, "Names": a type is described at its first use, and used by name after that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from schemaman.errors import UnreadableInput

_NAMED = ("record", "error", "enum", "fixed")
_INSIDE = ("type", "items", "values")


def inline_references(text: str, described: Iterable[str]) -> str:
    """Inline the types of the `described` texts at their first use in the schema text.

    Without `described` texts the schema text stays as it is.

    Raises:
        UnreadableInput: one of the texts is no JSON.
    """
    texts = tuple(described)
    if not texts:
        return text
    writer = _Writer()
    for each in texts:
        writer.learn_types(_parse_json(each), "")
    return json.dumps(writer.write_schema(_parse_json(text), ""), separators=(",", ":"), ensure_ascii=False)


class _Writer:
    """Writes one schema; `types` are the named types by full name, `done` the names of written types."""

    def __init__(self) -> None:
        self.types: dict[str, tuple[Any, str]] = {}
        self.done: set[str] = set()

    def learn_types(self, schema: Any, namespace: str) -> None:
        """Remember every named type that a schema describes, with its enclosing namespace."""
        if isinstance(schema, list):
            for branch in schema:
                self.learn_types(branch, namespace)
        if not isinstance(schema, dict):
            return
        inside = namespace
        if schema.get("type") in _NAMED:
            full = _read_full_name(schema, namespace)
            self.types.setdefault(full, (schema, namespace))
            inside = full.rpartition(".")[0]
        for member in _INSIDE:
            self.learn_types(schema.get(member), inside)
        for field in _list_fields(schema):
            self.learn_types(field.get("type"), inside)

    def write_schema(self, schema: Any, namespace: str) -> Any:
        """Write a schema in which each used type is described at its first use, and only there."""
        if isinstance(schema, list):
            return [self.write_schema(branch, namespace) for branch in schema]
        if isinstance(schema, str):
            return self.write_use(schema, namespace)
        if not isinstance(schema, dict):
            return schema
        if schema.get("type") in _NAMED:
            return self.write_named(schema, namespace)
        return {k: self.write_schema(v, namespace) if k in _INSIDE else v for k, v in schema.items()}

    def write_use(self, name: str, namespace: str) -> Any:
        """Write the use of a name: the description of its type at the first use, the name after that."""
        for full in (_qualify_name(name, namespace), name):
            if full in self.done:
                return full
            if full in self.types:
                return self.write_named(*self.types[full])
        return name

    def write_named(self, schema: dict[str, Any], namespace: str) -> Any:
        """Write the description of a named type, or its name if the type is already written."""
        full = _read_full_name(schema, namespace)
        if full in self.done:
            return full
        self.done.add(full)
        inside, _, name = full.rpartition(".")
        fields = [{**f, "type": self.write_schema(f.get("type"), inside)} for f in _list_fields(schema)]
        definition = {**schema, "name": name, "namespace": inside}
        return definition | ({"fields": fields} if "fields" in schema else {})


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise UnreadableInput(f"an Avro schema that is not JSON: {fault}") from fault


def _list_fields(schema: dict[str, Any]) -> list[dict[str, Any]]:
    fields = schema.get("fields")
    return [field for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []


def _read_full_name(schema: dict[str, Any], namespace: str) -> str:
    return _qualify_name(str(schema.get("name", "")), str(schema.get("namespace", namespace)))


def _qualify_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
