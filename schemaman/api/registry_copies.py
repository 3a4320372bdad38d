"""Copies of a whole registry: from a file or a server into a store, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from schemaman.api.files import read_text, write_text
from schemaman.errors import CouldNotDo
from schemaman.io.registry_transfer import fetch_registry, open_server, send_registry
from schemaman.io.schema_registry import is_url
from schemaman.server.copy_documents import parse_document, read_document, write_document
from schemaman.subjects.copies import RegistryCopy, list_differences
from schemaman.subjects.schema_registry import SchemaRegistry

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CopySize:
    """How many subjects, versions and schemas a copy has; deleted ones count.

    `lost` names what the other registry cannot keep.
    """

    subjects: int
    versions: int
    schemas: int
    lost: tuple[str, ...] = ()


def load_copy(source: str, options: Mapping[str, str]) -> RegistryCopy:
    """Load the copy in a file, or that of the registry at an address.

    Raises:
        UnreadableInput: it is not the copy of a registry.
        RegistryUnavailable: the registry does not answer.
    """
    if not is_url(source):
        return read_document(read_text(source), source)
    with open_server(source, options) as server:
        return parse_document(fetch_registry(server), source)


def format_registry(registry: SchemaRegistry) -> str:
    """Format all of a registry as the text of a copy."""
    return "".join(write_document(*registry.read_all()))


def save_registry(registry: SchemaRegistry, file: Path) -> CopySize:
    """Write all of a registry to a file. Raises `CouldNotDo`."""
    text = format_registry(registry)
    write_text(file, text)
    return measure_copy(read_document(text, str(file)))


def send_copy(
    registry: SchemaRegistry,
    url: str,
    options: Mapping[str, str],
    announce: Callable[[str], None] = lambda _: None,
) -> CopySize:
    """Write all of a registry into the empty one at an address, read that back, and compare.

    `announce` takes the command that makes the other registry writable again if this process is killed.

    Raises:
        CouldNotDo: the other registry has subjects, refuses something, or differs afterwards.
    """
    copy = read_document(format_registry(registry), "the store")
    with open_server(url, options) as server:
        sent, lost = send_registry(server, copy, announce)
        found = list_differences(sent, parse_document(fetch_registry(server), url))
    if found:
        more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise CouldNotDo(
            f"{url} took the copy, and differs: {'; '.join(found[:_SHOWN])}{more}",
            hint="what differs, this registry cannot keep",
        )
    return replace(measure_copy(sent), lost=lost)


def measure_copy(copy: RegistryCopy) -> CopySize:
    """Count what a copy has."""
    return CopySize(
        len({version.subject for version in copy.versions}),
        len(copy.versions),
        len({(version.subject.context, version.id) for version in copy.versions}),
    )
