"""The names of the properties that schemaman writes into users' tables: a name never changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from schemaman.model.schema import Path

SOURCE_PROPERTY = "schemaman.source"
"""Table property: the source table that a target table follows."""

VERSION_PROPERTY = "schemaman.version"
"""Table property: the id of the version that the target table was last brought to."""

BEGAN_PROPERTY = "schemaman.began"
"""Table property: the coordinates where that version began, as JSON; an id may recur, coordinates do not."""

KEY_PROPERTY = "schemaman.key"
"""Table property: the key columns as a JSON list, whether or not the format knows keys."""

DISPLACED_PROPERTY = "schemaman.retired"
"""Table property: displaced columns, as JSON: the former name of each at the source."""

RECIPE_PROPERTY = "schemaman.recipe"
"""Table property: column swaps in progress, as JSON, with the phase of the table."""

NAMES_PROPERTY = "schemaman.names"
"""Table property: columns with another name at the source, as JSON: name in the lake → name there."""

METADATA_PROPERTY = "schemaman.metadata"
"""Table property: the metadata columns, as JSON: role → name."""

KEPT_PROPERTY = "schemaman.kept"
"""Table property: what the source dropped and the table kept, as a JSON list; nested fields by path."""

FOREIGN_PROPERTY = "schemaman.foreign"
"""Table property: columns that others fill and the source does not have, as a JSON list."""

SPLIT_PROPERTY = "schemaman.split"
"""Table property: columns beside others of the same source column, as JSON: the first version of each."""

SUCCESSOR_PROPERTY = "schemaman.successor"
"""Table property: the address of the table that takes the newer rows of the same source table."""

PREDECESSOR_PROPERTY = "schemaman.predecessor"
"""Table property: the table that has the older rows, as JSON, with the first version whose rows are here."""

UNITED_PROPERTY = "schemaman.united"
"""Table property: columns whose values are in the renamed column, too, as JSON: the order of the rename."""

TAKEN_PROPERTY = "schemaman.taken"
"""Table property: lake tables of earlier names of the source whose rows this one took over, as JSON."""

FILLED_PROPERTY = "schemaman.filled"
"""Table property: the table before this one whose rows are here, too, as JSON: its address and version.

A `reason` says why its rows are not here.
"""

UNTYPED_PROPERTY = "schemaman.untyped"
"""Table property: how values are written whose types nothing shows, as a JSON list: `["text"]`."""

ADDED_PROPERTY = "schemaman.added"
"""Table property: columns that plans added beyond the version of the stamp, as a JSON list."""

VIEW_PROPERTY = "schemaman.view"
"""Property of a view that plans made: the hash of what it shows, by which no view of others is replaced."""

CHECK_PREFIX = "delta.constraints."
"""Table property of Delta: the expression of a CHECK constraint, under its name."""

STORE_PROPERTY = "schemaman.store"
"""Table property: the id of the store that the table belongs to; the first applied plan sets it."""

PLAN_PROPERTY = "schemaman.plan"
"""Table property: the SHA-256 of the plan last begun on the table; the journal has its progress."""

FENCE_PROPERTY = "schemaman.fence"
"""Table property: number and name of the run that last changed the table; a store's numbers only grow."""


def format_paths(paths: Iterable[Path]) -> str:
    """Paths of columns and nested fields as a property keeps them: a column as its name alone."""
    return format_property([path[0] if len(path) == 1 else list(path) for path in paths])


def format_property(value: Mapping[str, str] | Sequence[object]) -> str:
    """A value of a table property, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, sort_keys=isinstance(value, Mapping))


TRUNCATED_PROPERTY = "schemaman.truncated"
"""Table property: the position of the newest TRUNCATE; no older row may be written again."""


READ_PROPERTY = "schemaman.read"
"""Table property: the observations of the source table by which the rows were read, and their reading."""


BATCH_PROPERTY = "schemaman.batch"
