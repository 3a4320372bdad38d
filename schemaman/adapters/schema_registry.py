"""A schema registry's export as a lookup from id to Avro text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from schemaman.errors import UnknownName, UnreadableInput


@dataclass(frozen=True, slots=True)
class Export:
    """The schemas of a registry by id; called with an id, it gives the text, or None. It can be pickled."""

    schemas: Mapping[int, str] = field(default_factory=dict)

    def __call__(self, id: int) -> str | None:
        """The text of the schema with that id; None if the export has none."""
        return self.schemas.get(id)


NO_REGISTRY = Export()


def load(path: str) -> Export:
    """The export in a file: a JSON list of objects with `id`, `schema` and `schemaType` (Avro if left out).

    Source: Confluent Schema Registry, `GET /schemas` lists schemas in this form.

    Raises:
        UnreadableInput: the file is missing or not such a list.
    """
    return Export(dict(_schema(path, i, entry) for i, entry in enumerate(_listed(path), 1)))


def subject(path: str, name: str, version: int | None = None) -> str:
    """The Avro text that a registry's export has for a subject: of that version, or of the latest.

    Raises:
        UnreadableInput: the file is missing or not such a list.
        UnknownName: it has no such subject or version; the message lists what there is.
    """
    listed = [e for e in _listed(path) if isinstance(e, dict) and isinstance(e.get("schema"), str)]
    mine = {e["version"]: e["schema"] for e in listed if e.get("subject") == name and "version" in e}
    if not mine:
        near = get_close_matches(name, sorted({str(e.get("subject")) for e in listed}), 3)
        hint = f"the nearest: {', '.join(near)}" if near else None
        raise UnknownName(f"{path} has no subject {name!r}", hint=hint)
    chosen = max(mine) if version is None else version
    if chosen not in mine:
        there = ", ".join(str(number) for number in sorted(mine))
        raise UnknownName(f"{path} has no version {version} of {name}; there are: {there}")
    return str(mine[chosen])


def _listed(path: str) -> list[object]:
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}", hint="--registry FILE") from error
    except ValueError as error:
        raise UnreadableInput(f"{path}: not JSON ({error})") from error
    return _entries(path, document)


def _entries(path: str, document: object) -> list[object]:
    if not isinstance(document, list):
        raise UnreadableInput(f"{path}: not the export of a registry", hint="a list of {id, schema, …}")
    return [e for e in document if not isinstance(e, dict) or e.get("schemaType") in (None, "AVRO")]


def _schema(path: str, number: int, entry: object) -> tuple[int, str]:
    id = entry.get("id") if isinstance(entry, dict) else None
    text = entry.get("schema") if isinstance(entry, dict) else None
    if not isinstance(id, int) or not isinstance(text, str):
        raise UnreadableInput(f"{path}: entry {number} has no whole id or no schema text")
    return id, text
