"""The names of the properties that schemaman writes into users' tables: a name never changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

SOURCE_PROPERTY = "schemaman.source"
"""Table property: the source table that a target table follows."""

VERSION_PROPERTY = "schemaman.version"
"""Table property: the id of the version that the target table was last brought to."""

BEGAN_PROPERTY = "schemaman.began"
"""Table property: where that version began, as JSON; an id alone can come back, a place cannot."""

KEY_PROPERTY = "schemaman.key"
"""Table property: the key columns as a JSON list, whether or not the format knows keys."""

DISPLACED_PROPERTY = "schemaman.retired"
"""Table property: columns that a plan moved out of the way, as JSON: what each was called at the source."""

RECIPE_PROPERTY = "schemaman.recipe"
"""Table property: columns that are exchanged in phases, as JSON, with the phase that the table is in."""

NAMES_PROPERTY = "schemaman.names"
"""Table property: the columns that the source calls otherwise, as JSON: name in the lake → name there."""

METADATA_PROPERTY = "schemaman.metadata"
"""Table property: the columns beside those of the source, as JSON: what each is for → its name."""

KEPT_PROPERTY = "schemaman.kept"
"""Table property: what the source dropped and the table kept, as a JSON list; members by their paths."""

CHECK_PREFIX = "delta.constraints."
"""Table property of Delta: the expression of a CHECK constraint, under its name."""

STORE_PROPERTY = "schemaman.store"
"""Table property: the id of the store that keeps the table; set when a plan is first applied to it."""

PLAN_PROPERTY = "schemaman.plan"
"""Table property: the SHA-256 of the plan last begun on the table; the journal says how far it came."""

FENCE_PROPERTY = "schemaman.fence"
"""Table property: number and name of the run that last changed the table; a store's numbers only grow."""


def read_key(properties: Mapping[str, str]) -> tuple[str, ...] | None:
    """The key that a table's own property tells, None where it tells none that can be read."""
    try:
        return tuple(json.loads(properties[KEY_PROPERTY]))
    except (KeyError, ValueError, TypeError):
        return None


def format_property(value: Mapping[str, str] | Sequence[object]) -> str:
    """A value of a table property, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


TRUNCATED_PROPERTY = "schemaman.truncated"
"""Table property: the position of the newest TRUNCATE; no row that is older may come back."""


READ_PROPERTY = "schemaman.read"
"""Table property: how much had been said of the source table when the rows were read, and as what."""


BATCH_PROPERTY = "schemaman.batch"
