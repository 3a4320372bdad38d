"""A version as an event carried it: names, types, nullability and defaults as they travelled.

Law: the structure is that of a recorded event, never one that somebody worked out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from schemaman.evidence import Mark, Observation
from schemaman.schema import TableSchema
from schemaman.versions import SchemaVersion


@dataclass(frozen=True, slots=True)
class Emitted:
    """A structure as an event carried it: `at` is that event, `name` the schema's own name.

    `changed`: the first event of the version carried another structure, as when a setting of the connector
    changed or another release of it began.
    """

    schema: TableSchema
    at: Mark
    name: str | None
    changed: bool = False


def emitted(version: SchemaVersion, testimony: Iterable[Observation]) -> Emitted | None:
    """The structure of the newest event of a version, out of all that was said of its table.

    None if no event with a schema has carried the version.
    """
    seen = next((e for e in version.evidence if e.witness == "emitted"), None)
    if seen is None:
        return None
    mine = [o for o in testimony if o.witness == "emitted" and o.schema is not None]
    newest = next((o for o in mine if seen.last in (o.first, o.last)), None)
    if newest is None or newest.schema is None:
        return None
    first = next((o for o in mine if seen.first in (o.first, o.last)), newest)
    return Emitted(newest.schema, seen.last, newest.schema_name, first.schema != newest.schema)
