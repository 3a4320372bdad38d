"""Other names of a table: topics and schemas that its events came under, and what it was called before."""

from __future__ import annotations

from collections.abc import Iterable

from schemaman.evidence import Mark, Observation
from schemaman.schema import TableId
from schemaman.versions import Alias


def aliases_of(observations: Iterable[Observation], table: TableId) -> tuple[Alias, ...]:
    """Topics and schema names under which the table's own events came, and former table names."""
    names: dict[tuple[str, str], Mark] = {}
    for o in sorted(observations, key=lambda o: (o.first.topic, o.first.partition, o.first.offset)):
        if o.table == table and o.witness in ("emitted", "inferred"):
            names.setdefault(("topic", o.first.topic), o.first)
            if o.schema_name:
                names.setdefault(("schema_name", o.schema_name), o.first)
        if o.table == table and o.previous is not None and o.action == "rename":
            names.setdefault(("table", str(o.previous)), o.first)
    return tuple(Alias(kind, name, mark) for (kind, name), mark in sorted(names.items()))  # type: ignore[arg-type]
