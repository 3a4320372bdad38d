"""Event schemas that clients registered: evidence of a table that makes no version of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemaman.history.versions import TableHistory
from schemaman.report.document import Block, Grid, Text
from schemaman.report.json.tables import Document
from schemaman.report.views import words
from schemaman.store.log import RegistrationEntry
from schemaman.subjects.event_schemas import EventStructure, Part
from schemaman.subjects.source_tables import list_fitting_versions

_PARTS: dict[str, Part] = {"key": "key", "value": "value"}


@dataclass(frozen=True, slots=True)
class ShownRegistration:
    """A registration (epoch ms), and the numbers of the versions that it belongs to; none before a record."""

    at_ms: int
    entry: RegistrationEntry
    versions: tuple[int, ...]


def find_registered(
    history: TableHistory, registrations: Iterable[tuple[int, RegistrationEntry]]
) -> tuple[ShownRegistration, ...]:
    """Find the versions that each registration belongs to."""
    return tuple(
        ShownRegistration(at_ms, entry, _list_versions(history, entry)) for at_ms, entry in registrations
    )


def _list_versions(history: TableHistory, entry: RegistrationEntry) -> tuple[int, ...]:
    structure = EventStructure("", entry.schema.columns)
    fitting = list_fitting_versions(history, structure, _PARTS.get(entry.part))
    return tuple(one.version.number for one in fitting)


def build_registered_document(registered: Sequence[ShownRegistration]) -> Document:
    """Build the member of the document of a history; none without registrations."""
    if not registered:
        return {}
    return {
        "registered": [
            {
                "at_ms": one.at_ms,
                "subject": one.entry.subject,
                "version": one.entry.version,
                "id": one.entry.schema_id,
                "guid": one.entry.guid,
                "part": one.entry.part or None,
                "versions": list(one.versions),
            }
            for one in registered
        ]
    }


def build_registered_grids(registered: Sequence[ShownRegistration]) -> tuple[Block, ...]:
    """Build the table of registrations, unless there are none."""
    if not registered:
        return ()
    rows = tuple(
        (
            (Text(words.format_time(one.at_ms)),),
            (Text(f"{one.entry.subject} {one.entry.version}", code=True),),
            (Text(str(one.entry.schema_id)),),
            (Text(", ".join(map(str, one.versions)) or "none: no record has shown it"),),
        )
        for one in registered
    )
    caption = f"{words.format_count(len(rows), 'event schema')} that clients registered"
    return (Grid(caption, ("registered", "subject", "id", "versions"), rows),)
