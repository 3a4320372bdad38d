"""A vector has another length.

What happened: The source declares the column with another number of elements.

Why it hurts: Events carry the same type, so nothing fails. Vectors of two lengths have no distance, so
searches over old and new rows fail or skip rows.

What to do: Compute the vectors of old rows again, or put the new ones into another column.

Sources: pgvector documentation, vector types; MySQL documentation, The VECTOR Type; Debezium documentation,
vector data types.
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

NAME = "vector-dimension-changed"
VERDICTS = parse_verdicts("D D D N N D ·")
KINDS = frozenset({"vector", "halfvec", "sparsevec"})
"""The words of such types."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns whose word at the source is the same type with other parameters."""
    yield from find_parameter_changes(
        NAME,
        VERDICTS,
        transition,
        KINDS,
        "old and new vectors have no distance",
        "compute the vectors of old rows again, or use another column for the new ones",
    )


RULE = Rule(
    name=NAME,
    title="a vector has another length",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("v ARRAY<FLOAT> SOURCE 'vector(3)'", "v ARRAY<FLOAT> SOURCE 'vector(768)'", fires=(("v",),)),
        Example("v ARRAY<FLOAT> SOURCE 'vector'", "v ARRAY<FLOAT> SOURCE 'VECTOR'", why="the same word"),
        Example(
            "v ARRAY<FLOAT> SOURCE 'float4[]'",
            "v ARRAY<FLOAT> SOURCE '_float4'",
            why="no vector: type-alias-only",
        ),
    ),
)
