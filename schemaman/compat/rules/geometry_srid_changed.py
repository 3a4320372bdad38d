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
from schemaman.compat.rules import _words
from schemaman.model.diff import (
    ChangeAttribute,
)

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
    for change in transition.changes:
        match change:
            case ChangeAttribute(path, "source_type", str() as old, str() as new):
                kinds = {_read_word(text) for text in (old, new)}
                if kinds <= KINDS and _fold(old) != _fold(new):
                    yield Finding(
                        NAME,
                        transition.table,
                        path,
                        old,
                        new,
                        f"{_words.join_path(path)} went from {old} to {new}: "
                        "old and new coordinates may be of two systems",
                        VERDICTS,
                        fixes=("convert old rows once, or keep the reference system beside the geometry",),
                        claims=(("type-alias-only", path),),
                    )
            case _:
                continue


def _read_word(text: str) -> str:
    return _fold(text).partition("(")[0]


def _fold(text: str) -> str:
    return text.casefold().replace(" ", "")


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
