"""An Avro schema that uses types of other registered schemas, as one schema that describes them itself.

Source: Avro specification, "Names": a type is described where it first stands, and used by name after that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from schemaman.errors import UnreadableInput

_NAMED = ("record", "error", "enum", "fixed")
_INSIDE = ("type", "items", "values")


def inline_references(text: str, described: Iterable[str]) -> str:
    """The schema text with the types of the `described` texts in place of their first use.

    It is given back as it is where nothing is described elsewhere.

    Raises:
        UnreadableInput: one of the texts is no JSON.
    """
    texts = tuple(described)
    if not texts:
        return text
    writer = _Writer()
    for each in texts:
        writer.learn(_parse_json(each), "")
    return json.dumps(writer.written(_parse_json(text), ""), separators=(",", ":"), ensure_ascii=False)


class _Writer:
    """Types by their full names, and which of them have been written."""

    def __init__(self) -> None:
        self.types: dict[str, tuple[Any, str]] = {}
        self.done: set[str] = set()

    def learn(self, schema: Any, namespace: str) -> None:
        """Remember every named type that a schema describes, with the namespace in which it stands."""
        if isinstance(schema, list):
            for branch in schema:
                self.learn(branch, namespace)
        if not isinstance(schema, dict):
            return
        inside = namespace
        if schema.get("type") in _NAMED:
            full = _read_full_name(schema, namespace)
            self.types.setdefault(full, (schema, namespace))
            inside = full.rpartition(".")[0]
        for member in _INSIDE:
            self.learn(schema.get(member), inside)
        for field in _list_fields(schema):
            self.learn(field.get("type"), inside)

    def written(self, schema: Any, namespace: str) -> Any:
        """A schema with what it uses described at its first use, and only there."""
        if isinstance(schema, list):
            return [self.written(branch, namespace) for branch in schema]
        if isinstance(schema, str):
            return self.used(schema, namespace)
        if not isinstance(schema, dict):
            return schema
        if schema.get("type") in _NAMED:
            return self.named(schema, namespace)
        return {k: self.written(v, namespace) if k in _INSIDE else v for k, v in schema.items()}

    def used(self, name: str, namespace: str) -> Any:
        """A name; what it stands for where that has not been written yet."""
        for full in (_qualify_name(name, namespace), name):
            if full in self.done:
                return full
            if full in self.types:
                return self.named(*self.types[full])
        return name

    def named(self, schema: dict[str, Any], namespace: str) -> Any:
        """The description of a named type, or its name if it stands before."""
        full = _read_full_name(schema, namespace)
        if full in self.done:
            return full
        self.done.add(full)
        inside, _, name = full.rpartition(".")
        fields = [{**f, "type": self.written(f.get("type"), inside)} for f in _list_fields(schema)]
        told = {**schema, "name": name, "namespace": inside}
        return told | ({"fields": fields} if "fields" in schema else {})


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
