"""A schema registry's export as a lookup from id to Avro text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from schemaman.errors import UnreadableInput


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
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}", hint="--registry FILE") from error
    except ValueError as error:
        raise UnreadableInput(f"{path}: not JSON ({error})") from error
    return Export(dict(_schema(path, i, entry) for i, entry in enumerate(_entries(path, document), 1)))


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
