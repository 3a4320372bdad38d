"""Compatibility levels over the text of Avro schemas, as a schema registry applies them.

Source: Confluent Schema Registry, "Schema Evolution and Compatibility": a transitive level compares with all
earlier schemas, newest first, and stops at the first that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemaman.compat.avro.resolution import AmbiguousField, check_resolution, list_leaf_causes
from schemaman.compat.avro.schema import AvroSchema
from schemaman.errors import UnknownName

LEVEL_NAMES = (
    "NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AvroVerdict:
    """Whether a schema passes a level; `reasons` are Java's words, `causes` those of the leaves.

    `failed` is the position of the earlier schema that fails, from 0 for the oldest; -1 if none does.
    """

    compatible: bool
    reasons: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    failed: int = -1


def check_level(earlier: Sequence[AvroSchema], new: AvroSchema, level: str) -> AvroVerdict:
    """Check a new schema against earlier ones, oldest first, at a level.

    Raises:
        UnknownName: there is no such level.
    """
    name = level.upper()
    if name not in LEVEL_NAMES:
        raise UnknownName(f"no compatibility level {level!r}; there are: {', '.join(LEVEL_NAMES)}")
    if name == "NONE":
        return AvroVerdict(True)
    first = 0 if name.endswith("_TRANSITIVE") else max(len(earlier) - 1, 0)
    passed: set[int] = set()
    for position in range(len(earlier) - 1, first - 1, -1):
        if id(earlier[position]) in passed:
            continue
        passed.add(id(earlier[position]))
        pairs = list_pairs(earlier[position], new, name)
        reasons = tuple(text for reader, writer in pairs for text in list_reasons(reader, writer))
        if reasons:
            causes = tuple(text for reader, writer in pairs for text in _list_causes(reader, writer))
            return AvroVerdict(False, reasons, causes, position)
    return AvroVerdict(True)


def list_pairs(old: AvroSchema, new: AvroSchema, level: str) -> tuple[tuple[AvroSchema, AvroSchema], ...]:
    """List the pairs of reader and writer; FULL lists the old reader first, as the registry does."""
    forward, backward = (old, new), (new, old)
    if level.startswith("FULL"):
        return forward, backward
    return (forward,) if level.startswith("FORWARD") else (backward,)


def list_reasons(reader: AvroSchema, writer: AvroSchema) -> tuple[str, ...]:
    """List why the reader cannot read the writer, in Java's words; empty if it can."""
    try:
        return tuple(map(str, check_resolution(reader, writer)))
    except AmbiguousField as error:
        return (error.message,)


def _list_causes(reader: AvroSchema, writer: AvroSchema) -> Iterator[str]:
    try:
        yield from map(str, list_leaf_causes(reader, writer))
    except AmbiguousField as error:
        yield error.message
