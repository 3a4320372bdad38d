"""The columns of a source that no table of a lake can call by their names, and what to do about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from schemaman.ddl import quote_name
from schemaman.names import unusable
from schemaman.plan import Refusal
from schemaman.schema import TableSchema

_OUT = "leave the column out, or rename it at the source"
_CASE = f"{_OUT}; or say collisions = number in [[projection]]"
_EXCLUDE = "leave the column out (Debezium's column.exclude.list), or rename it at the source"


def unusable_names(schema: TableSchema, lake: Mapping[str, str] | None = None) -> dict[str, Refusal]:
    """The columns that no Spark table can call by their names; `lake` maps them to those that they get."""
    spellings = Counter(name.lower() for name in schema.names)
    refused: dict[str, Refusal] = {}
    for name in schema.names:
        change = f"name a column {quote_name(name)}"
        given = (lake or {}).get(name, name)
        if given and schema.names.count(name) > 1:
            reason = "a mirrored table has a column of its own under this name, and it must stay the only one"
            refused[name] = Refusal(change, reason, _EXCLUDE)
        elif given and spellings[name.lower()] > 1:
            refused[name] = Refusal(
                change, "another column differs from it only by case, which Spark ignores", _CASE
            )
        elif why := unusable(given):
            refused[name] = Refusal(change, why, _OUT)
    return refused
