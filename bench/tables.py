"""Makes observations of many tables, as from a PostgreSQL stream, with versions that differ by a column.

Each version adds a column at the end; from `WIDTH` columns on it also drops the oldest added column. Its run
has ten records. A table with `n` observations must have `n` versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Boolean, Decimal, Integer, String, Timestamp, Type
from schemaman.store.log import CoveredRange

RECORDS = 10
WIDTH = 16
_TYPES: tuple[Type, ...] = (String(), Integer(32), Timestamp(6, zoned=True), Decimal(12, 2), Boolean())
_FIRST = tuple(
    Column(name, type, nullable=name != "id", emitted_name=name)
    for name, type in (
        ("id", Integer(64)),
        ("customer_id", Integer(64)),
        ("status", String()),
        ("total", Decimal(12, 2)),
        ("note", String()),
        ("created_at", Timestamp(6, zoned=True)),
        ("updated_at", Timestamp(6, zoned=True)),
    )
)
_START_MS = 1_700_000_000_000


def table_of(number: int) -> TableId:
    """Return the table with that number; a hundred tables share a schema."""
    return TableId("erp", "erp", f"module_{number // 100:04}", f"table_{number:06}")


def topic_of(number: int) -> str:
    """Return the topic of the table's events."""
    return ".".join(table_of(number).parts[1:])


def structure(version: int) -> TableSchema:
    """Return the schema of a version (from 0), the same for every table."""
    first = max(0, version - (WIDTH - len(_FIRST)))
    added = range(first, version)
    columns = tuple(
        Column(f"added_{i:05}", _TYPES[i % len(_TYPES)], emitted_name=f"added_{i:05}") for i in added
    )
    return TableSchema(_FIRST + columns, ("id",))


def make_observation(number: int, version: int) -> Observation:
    """Make the observation of one version of a table."""
    table, topic = table_of(number), topic_of(number)
    first = version * RECORDS
    return Observation(
        table,
        "emitted",
        "image",
        "postgresql",
        "3.5.0.Final",
        _make_coordinates(topic, first),
        _make_coordinates(topic, first + RECORDS - 1),
        RECORDS,
        False,
        structure(version),
        schema_name=f"{topic}.Value",
    )


def covered(number: int, versions: range) -> CoveredRange:
    """Make the covered range of the records of these versions."""
    first, last = versions.start * RECORDS, versions.stop * RECORDS - 1
    return CoveredRange("main", topic_of(number), 0, first, last, f"{first:016x}", f"{last:016x}")


def chunk(tables: Iterable[int], versions: range) -> tuple[list[Observation], list[CoveredRange]]:
    """Make the chunk of an ingest of these versions of these tables."""
    numbers = list(tables)
    return [make_observation(n, v) for n in numbers for v in versions], [
        covered(n, versions) for n in numbers
    ]


def later_chunks(
    number: int, versions: int, places: Iterable[int]
) -> tuple[list[Observation], list[CoveredRange]]:
    """Make the chunks at some places among those of a table with few versions, as one.

    Each of them brings ten records; those from place `versions` on bring more of the newest version.
    """
    found = list(places)
    observations = [
        replace(make_observation(number, place), schema=structure(min(place, versions - 1)))
        for place in found
    ]
    return observations, [covered(number, range(found[0], found[-1] + 1))]


def chunks(tables: int, versions: int, size: int) -> Iterator[tuple[list[Observation], list[CoveredRange]]]:
    """Make chunks of all versions of all tables, table after table, `size` tables at a time."""
    for start in range(0, tables, size):
        yield chunk(range(start, min(tables, start + size)), range(versions))


def _make_coordinates(topic: str, offset: int) -> Coordinates:
    lsn = 10_000_000 + 100 * offset
    at = _START_MS + 1000 * offset
    return Coordinates(topic, 0, offset, Position("lsn", str(lsn), str(lsn)), at, at + 500, at + 600)
