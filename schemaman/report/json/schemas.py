"""The JSON Schemas of the documents, as `schemaman schema NAME` prints them.

They are in `schemas/` beside this file, one file per document. Definitions that several documents share are
in `_shared.json`, and are copied into each schema that refers to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from schemaman.errors import UnknownName

Schema = dict[str, Any]


def list_names() -> tuple[str, ...]:
    """The documents that have a schema, in alphabetical order."""
    found = (
        f.name.removesuffix(".json") for f in files("schemaman.report.json").joinpath("schemas").iterdir()
    )
    return tuple(sorted(name for name in found if not name.startswith("_")))


def read_schema(name: str) -> Schema:
    """The self-contained JSON Schema (draft 2020-12) of a document.

    Raises:
        UnknownName: there is no such document; the message lists the known ones.
    """
    known = list_names()
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else None
        raise UnknownName(f"there is no output {name!r}; outputs are: {', '.join(known)}", hint=hint)
    schema, shared = _read_file(name), _read_file("_shared")["$defs"]
    wanted = {ref: shared[ref] for ref in _collect_references(schema, shared)}
    return schema | {"$defs": dict(sorted(wanted.items()))} if wanted else schema


def _read_file(name: str) -> Schema:
    text = files("schemaman.report.json").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    found: Schema = json.loads(text)
    return found


def _collect_references(schema: Schema, shared: Schema) -> set[str]:
    found: set[str] = set()
    waiting = set(_find_references(schema))
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= set(_find_references(shared[name])) - found
    return found


def _find_references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "$ref" and value == "#":
                continue  # the whole schema itself
            if key == "$ref":
                yield value.removeprefix("#/$defs/")
            else:
                yield from _find_references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _find_references(value)
