"""Finds other names of a table: topics and schema names of its events, and its previous table names.

Law: a name is valid until another name of its kind has replaced it; concurrent names are all valid. A topic
whose records show no key replaces none with keys: it may be the name of a dump.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.timeline import find_time
from schemaman.history.versions import Alias
from schemaman.model.schema import TableId

Kind = Literal["topic", "schema_name", "table"]
Names = dict[str, dict[tuple[str, int], tuple[Coordinates, Coordinates]]]
"""Name → topic and partition → first and last record there."""


def collect_aliases(observations: Iterable[Observation], table: TableId) -> tuple[Alias, ...]:
    """Find the topics and schema names of the table's own events, and its previous table names.

    The beginning of a previous name is in the history of the table under that name.
    """
    topics: Names = {}
    topics_with_keys: set[str] = set()
    schemas: Names = {}
    previous_names: dict[str, Coordinates] = {}
    for o in observations:
        if o.table == table and o.evidence in ("emitted", "inferred"):
            _extend_name(topics, o.first.topic, o)
            if not o.is_key_unknown:
                topics_with_keys.add(o.first.topic)
            if o.schema_name:
                _extend_name(schemas, o.schema_name, o)
        if o.table == table and o.previous is not None and o.action == "rename":
            name = str(o.previous)
            previous_names[name] = min(previous_names.get(name, o.first), o.first, key=_find_moment)
    found = [
        *(Alias("table", name, None, mark) for name, mark in previous_names.items()),
        *_list_aliases("topic", topics, topics_with_keys or topics.keys()),
        *_list_aliases("schema_name", schemas, schemas.keys()),
    ]
    return tuple(sorted(found, key=lambda a: (a.kind, a.name)))


def _extend_name(names: Names, name: str, observation: Observation) -> None:
    # by offsets, so that it does not matter where runs were cut: times may go back
    extents, partition = names.setdefault(name, {}), (observation.first.topic, observation.first.partition)
    first, last = extents.get(partition, (observation.first, observation.last))
    extents[partition] = (
        observation.first if observation.first.offset < first.offset else first,
        observation.last if observation.last.offset > last.offset else last,
    )


def _list_aliases(kind: Kind, names: Names, replacing: Collection[str]) -> Iterator[Alias]:
    """Date each name from its first record until the first record of a name that began after its last.

    Only the names in `replacing` end another one.
    """
    began = {name: min((first for first, _ in p.values()), key=_find_moment) for name, p in names.items()}
    for name, extents in names.items():
        end = max(_find_moment(last) for _, last in extents.values())
        behind = [began[other] for other in replacing if _find_moment(began[other]) > end]
        yield Alias(kind, name, began[name], min(behind, key=_find_moment, default=None))


def _find_moment(mark: Coordinates) -> tuple[int, str, int, int]:
    return (find_time(mark), mark.topic, mark.partition, mark.offset)
