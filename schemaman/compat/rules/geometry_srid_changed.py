"""A geometry has another reference system or shape.

What happened: The source declares the column with another SRID, another kind of shape or other dimensions.

Why it hurts: Events carry the same struct, so nothing fails. Coordinates of two reference systems are numbers
of another place: distances and joins of old and new rows are wrong.

What to do: Convert old rows once, or keep the reference system in a column beside the geometry.

Sources: PostGIS documentation, Geometry Data Type (SRID and typmod); Debezium documentation,
io.debezium.data.geometry.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules._source_types import find_parameter_changes

NAME = "geometry-srid-changed"
VERDICTS = parse_verdicts("D D D N N D ·")
KINDS = frozenset(
    {
        "geometry",
        "geography",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
    }
)
"""The words of such types."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns whose word at the source is the same type with other parameters."""
    yield from find_parameter_changes(
        NAME,
        VERDICTS,
        transition,
        KINDS,
        "old and new coordinates may be of two systems",
        "convert old rows once, or keep the reference system beside the geometry",
    )


RULE = Rule(
    name=NAME,
    title="a geometry has another reference system or shape",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example(
            "g STRUCT<wkb: BINARY, srid: INT> SOURCE 'geometry(Point,4326)'",
            "g STRUCT<wkb: BINARY, srid: INT> SOURCE 'geometry(Point,3857)'",
            fires=(("g",),),
        ),
        Example("g BINARY SOURCE 'point'", "g BINARY SOURCE 'POINT'", why="the same word"),
        Example("g BINARY SOURCE 'bytea'", "g BINARY SOURCE 'blob'", why="no geometry: type-alias-only"),
    ),
)
