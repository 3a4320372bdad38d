"""Made observations of many tables, as a PostgreSQL stream tells them: versions that differ by a column.

A version adds a column at the end, and from `WIDTH` columns on the oldest of those added leaves; its run has
ten records. The truth comes along: a table of `n` observations has `n` versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    """The table of that number; a hundred share a schema."""
    return TableId("erp", "erp", f"module_{number // 100:04}", f"table_{number:06}")


def topic_of(number: int) -> str:
    """The topic in which its events lie."""
    return ".".join(table_of(number).parts[1:])


def structure(version: int) -> TableSchema:
    """The structure of a version (from 0), for every table the same."""
    first = max(0, version - (WIDTH - len(_FIRST)))
    added = range(first, version)
    columns = tuple(
        Column(f"added_{i:05}", _TYPES[i % len(_TYPES)], emitted_name=f"added_{i:05}") for i in added
    )
    return TableSchema(_FIRST + columns, ("id",))


def said(number: int, version: int) -> Observation:
    """What the events of one version of a table tell."""
    table, topic = table_of(number), topic_of(number)
    first = version * RECORDS
    return Observation(
        table,
        "emitted",
        "image",
        "postgresql",
        "3.5.0.Final",
        _mark(topic, first),
        _mark(topic, first + RECORDS - 1),
        RECORDS,
        False,
        structure(version),
        schema_name=f"{topic}.Value",
    )


def covered(number: int, versions: range) -> CoveredRange:
    """That the records of these versions have been read."""
    first, last = versions.start * RECORDS, versions.stop * RECORDS - 1
    return CoveredRange("main", topic_of(number), 0, first, last, f"{first:016x}", f"{last:016x}")


def chunk(tables: Iterable[int], versions: range) -> tuple[list[Observation], list[CoveredRange]]:
    """What a chunk of an ingest brings that read these versions of these tables."""
    numbers = list(tables)
    return [said(n, v) for n in numbers for v in versions], [covered(n, versions) for n in numbers]


def chunks(tables: int, versions: int, size: int) -> Iterator[tuple[list[Observation], list[CoveredRange]]]:
    """All versions of all tables, table after table, `size` tables at a time."""
    for start in range(0, tables, size):
        yield chunk(range(start, min(tables, start + size)), range(versions))


def _mark(topic: str, offset: int) -> Coordinates:
    lsn = 10_000_000 + 100 * offset
    at = _START_MS + 1000 * offset
    return Coordinates(topic, 0, offset, Position("lsn", str(lsn), str(lsn)), at, at + 500, at + 600)
