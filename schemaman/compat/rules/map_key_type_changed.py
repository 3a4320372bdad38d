"""The keys of a map have another type.

What happened: The type of the keys of a map changed.

Why it hurts: Readers look up entries by keys of the old type and find none. Avro encodes a map with other
keys than texts as a list of entries. Neither table format can change the keys of a map in place.

What to do: Add a second column at the target for the new map, and fill it from both.

Sources: Confluent AvroData (maps with other keys than texts are arrays of entries); Delta and Iceberg (map
keys cannot be changed).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.diff import ChangeType

NAME = "map-key-type-changed"
VERDICTS = parse_verdicts("B B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds other types in the keys of maps."""
    for change in transition.changes:
        match change:
            case ChangeType(path, old, new) if _kinds.is_in_map_key(transition, path):
                yield _kinds.build_finding(
                    NAME,
                    VERDICTS,
                    transition,
                    _kinds.TypeChange(path, old, new),
                    "readers look up entries by keys of the old type",
                    "add a second column at the target for the new map, and fill it from both",
                    resolution=_resolve_column(transition, path[0]),
                )
            case _:
                continue


def _resolve_column(transition: Transition, name: str) -> tuple[bool, bool]:
    """Returns whether Avro refuses the whole column: texts as keys make a map, and other keys a list."""
    old = transition.old.column(_words.find_former_name(transition, name)) if transition.old else None
    new = transition.new.column(name) if transition.new else None
    if old is None or new is None:
        return False, False
    return _words.check_resolution(transition, (name,), old.type, new.type)


RULE = Rule(
    name=NAME,
    title="the keys of a map have another type",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example(
            "m MAP<INT, STRING>",
            "m MAP<BIGINT, STRING>",
            fires=(
                (
                    "m",
                    "key",
                ),
            ),
        ),
        Example(
            "m MAP<STRING, INT>",
            "m MAP<INT, INT>",
            fires=(
                (
                    "m",
                    "key",
                ),
            ),
        ),
        Example("m MAP<STRING, INT>", "m MAP<STRING, BIGINT>", why="the values: integer-widened"),
        Example(
            "s STRUCT<key: INT>", "s STRUCT<key: BIGINT>", why="a field that is called so: integer-widened"
        ),
    ),
)
