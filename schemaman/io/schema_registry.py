"""Opens a schema registry, or its export, as a lookup from id to Avro text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from schemaman.debezium.converters.avro_references import inline_references
from schemaman.debezium.converters.registered import describe_unread, is_readable, mark_text
from schemaman.debezium.observation import UNKNOWN_SCHEMA
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.wire_format import SchemaId
from schemaman.errors import BadReference, UnknownName, UnreadableInput
from schemaman.plugins import defer

if TYPE_CHECKING:  # a client for HTTP is loaded when the user names its registry
    from schemaman.io.apicurio import Apicurio
    from schemaman.io.confluent import Confluent
else:
    Apicurio = defer("schemaman.io.apicurio:Apicurio")
    Confluent = defer("schemaman.io.confluent:Confluent")

_APICURIO = re.compile(r"/apis/registry/v[23]$")


@dataclass(frozen=True, slots=True)
class RegistryExport:
    """The schemas of a registry by id; a call with an id returns the text, or None. It can be pickled."""

    schemas: Mapping[SchemaId, str] = field(default_factory=dict)
    other_types: Mapping[SchemaId, str] = field(default_factory=dict)
    """The types of the schemas that cannot be read."""

    def __call__(self, id: SchemaId) -> str | None:
        """Return the text of the schema with that id; None if the export does not have it.

        Raises:
            UnreadableInput: the schema is neither Avro nor JSON Schema.
        """
        if id in self.other_types:
            raise UnreadableInput(describe_unread(self.other_types[id], id))
        return self.schemas.get(id)


@dataclass(frozen=True, slots=True)
class NoRegistry(RegistryExport):
    """A registry without schemas, if the user names no registry."""

    def __call__(self, id: SchemaId) -> str | None:
        """Always raises UnreadableInput: the record needs a registry that the user has to name."""
        raise UnreadableInput(f"{UNKNOWN_SCHEMA} {id}: no schema registry is set: use --registry URL or FILE")


@dataclass(slots=True)
class FileSchemas:
    """The schemas of a registry, and those that stand in files."""

    registry: SchemaLookup
    texts: dict[SchemaId, str] = field(default_factory=dict)

    def note(self, id: SchemaId, text: str) -> None:
        """Note a schema of a file."""
        self.texts[id] = text

    def __call__(self, id: SchemaId) -> str | None:
        """Return the text of a schema, None for an unknown id."""
        return self.texts[id] if id in self.texts else self.registry(id)


NO_REGISTRY = NoRegistry()
AnyRegistry: TypeAlias = "RegistryExport | Confluent | Apicurio"


def is_url(where: str) -> bool:
    """Whether an address is that of a registry server, not of a file."""
    return where.startswith(("http://", "https://"))


def open_registry(url: str, options: Mapping[str, str]) -> Confluent | Apicurio:
    """Opens the registry at an address: Apicurio's REST API by its path; other addresses are Confluent's API.

    The first request follows with the first id. Source: Apicurio Registry, `/apis/registry/v2` and `/v3`.

    Raises:
        BadReference: the address contains a user or password, or has no host.
    """
    for one in url.split(","):
        require_address(one.strip())
    plain = url.rstrip("/")
    return Apicurio(plain, options) if _APICURIO.search(plain) else Confluent(plain, options)


def require_address(url: str) -> None:
    """Raises `BadReference` for an address with a user or a password, or without a host."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise BadReference(
            "the registry: an address must not contain a user or a password",
            hint="use --registry-config FILE with basic.auth.user.info",
        )
    try:
        parts = urlsplit(url)
        wrong = not is_url(url) or not parts.hostname or parts.port == 0
    except ValueError:
        wrong = True
    if wrong:
        raise BadReference(f"{url}: not the address of a registry", hint="use http://HOST:PORT, or a file")


def load_export(path: str) -> RegistryExport:
    """Load an export: a JSON list of objects with `id`, `schema` and `schemaType` (default: Avro).

    The document of `schemaman registry export` has that list as its member `schemas`.

    The objects may also have `guid`, and Apicurio's `globalId` and `contentId`. Schemas in their `references`
    (`name`, `subject`, `version`) are inlined.
    Source: Confluent Schema Registry, `GET /schemas` lists schemas in this form.

    Raises:
        UnreadableInput: the file is missing or not such a list.
    """
    listed = _read_entries(path)
    texts, others = dict[SchemaId, str](), dict[SchemaId, str]()
    for number, entry in enumerate(listed, 1):
        ids, text, references = _read_entry(path, number, entry)
        kind = _find_type(entry)
        if not is_readable(kind):
            others.update(dict.fromkeys(ids, kind))
            continue
        marked = mark_text(kind, text, number)
        whole = _inline_references(text, references, listed) if marked == text else marked
        texts.update(dict.fromkeys(ids, whole) if whole is not None else {})
    return RegistryExport(texts, others)


def read_subject(path: str, name: str, version: int | None = None) -> str:
    """Read the Avro text of a subject from a registry's export, of that version or the latest one.

    Raises:
        UnreadableInput: the file is missing or not such a list.
        UnknownName: the export has no such subject or version; the message lists known ones.
    """
    avro = (e for e in _read_entries(path) if isinstance(e, dict) and _find_type(e) == "AVRO")
    listed = [e for e in avro if isinstance(e.get("schema"), str)]
    mine = {e["version"]: e["schema"] for e in listed if e.get("subject") == name and "version" in e}
    if not mine:
        near = get_close_matches(name, sorted({str(e.get("subject")) for e in listed}), 3)
        hint = f"similar names: {', '.join(near)}" if near else None
        raise UnknownName(f"{path} has no subject {name!r}", hint=hint)
    chosen = max(mine) if version is None else version
    if chosen not in mine:
        existing = ", ".join(str(number) for number in sorted(mine))
        raise UnknownName(f"{path} has no version {version} of {name}; versions are: {existing}")
    return str(mine[chosen])


def _read_entries(path: str) -> list[object]:
    try:
        document = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror or error}", hint="check --registry FILE") from error
    except ValueError as error:
        raise UnreadableInput(f"{path}: not JSON ({error})") from error
    return _require_list(path, document)


def _require_list(path: str, document: object) -> list[object]:
    if isinstance(document, dict) and isinstance(document.get("schemas"), list):
        document = document["schemas"]
    if not isinstance(document, list):
        raise UnreadableInput(
            f"{path}: not the export of a registry", hint="it must be a list of {id, schema, …}"
        )
    return document


def _find_type(entry: object) -> str:
    return str(entry.get("schemaType") or "AVRO") if isinstance(entry, dict) else "AVRO"


def _read_entry(path: str, number: int, entry: object) -> tuple[tuple[SchemaId, ...], str, object]:
    """Read the ids, the text and the references of an entry."""
    document = entry if isinstance(entry, dict) else {}
    numbers = {
        name: document[name] for name in ("id", "globalId", "contentId") if type(document.get(name)) is int
    }
    ids = [number if name == "id" else f"{name}:{number}" for name, number in numbers.items()]
    if isinstance(document.get("guid"), str):
        ids.append(f"guid:{document['guid'].lower()}")
    text = document.get("schema")
    if not ids or not isinstance(text, str):
        raise UnreadableInput(f"{path}: entry {number} has no integer id or no schema text")
    return tuple(ids), text, document.get("references")


def _inline_references(text: str, references: object, listed: list[object]) -> str | None:
    """Inlines the references of a schema; None if the export lacks one of them."""
    texts = _collect_references(references, listed, ())
    return None if texts is None else inline_references(text, texts)


def _collect_references(
    references: object, listed: list[object], above: tuple[object, ...]
) -> list[str] | None:
    """Collects the texts of referenced schemas, each after its own references."""
    found: list[str] = []
    for reference in references if isinstance(references, list) else ():
        version_key = (
            (reference.get("subject"), reference.get("version")) if isinstance(reference, dict) else None
        )
        entry = next((e for e in listed if isinstance(e, dict) and _find_subject(e) == version_key), None)
        deeper = None if entry is None or version_key in above else entry.get("references")
        below = (
            None
            if entry is None or version_key in above
            else _collect_references(deeper, listed, (*above, version_key))
        )
        if entry is None or below is None or not isinstance(entry.get("schema"), str):
            return None
        found += [*below, entry["schema"]]
    return found


def _find_subject(entry: Mapping[str, object]) -> tuple[object, object]:
    return (entry.get("subject"), entry.get("version"))
