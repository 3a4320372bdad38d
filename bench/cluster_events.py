"""Writes records of many topics as Parquet files for `bench.cluster`, and returns what a reader must find.

The records are events of one recording, with the table renamed for each topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as arrow
import pyarrow.parquet as parquet

from bench import made_events
from bench.made_events import SampledTable

SCHEMA = arrow.schema(
    [
        ("topic", arrow.string()),
        ("partition", arrow.int32()),
        ("offset", arrow.int64()),
        ("timestamp", arrow.timestamp("us", "UTC")),
        ("key", arrow.binary()),
        ("value", arrow.binary()),
    ]
)
"""The columns of Spark's Kafka source."""

_ROW_GROUP = 2_000


@dataclass(frozen=True, slots=True)
class WrittenEvents:
    """The number of records, the bytes of their values, the number of schema runs and of distinct schemas.

    `sample` is the value whose type has the most fields.
    """

    records: int
    bytes: int
    runs: int
    schemas: int
    sample: str


def write_files(
    folder: Path,
    megabytes: int,
    files: int,
    topics: int,
    table: SampledTable = made_events.ORDERS,
    partitions: int = 2,
) -> WrittenEvents:
    """Write about `megabytes` of values as `files` Parquet files in the order of topic, partition, offset."""
    folder.mkdir(parents=True)
    samples = made_events.events(len(made_events.list_samples(table)), table)
    size = sum(len(sample.value or b"") for sample in samples) // len(samples)
    each = max(len(samples), megabytes * 10**6 // size // (topics * partitions))
    records = each * topics * partitions
    bounds = [round(number * records / files) for number in range(files + 1)]
    rows = _make_rows(each, topics, partitions, table)
    written = 0
    for number in range(files):
        with parquet.ParquetWriter(
            folder / f"part-{number:05}.parquet", SCHEMA, compression="none"
        ) as writer:
            rest = bounds[number + 1] - bounds[number]
            while rest:
                batch = [next(rows) for _ in range(min(rest, _ROW_GROUP))]
                # a row has values of several types, and this one is bytes
                written += sum(len(row["value"]) for row in batch)  # type: ignore[arg-type]
                writer.write_table(arrow.Table.from_pylist(batch, SCHEMA))
                rest -= len(batch)
    runs = topics * partitions * len(samples)
    sample = max((value.value or b"" for value in samples), key=len).decode()
    return WrittenEvents(records, written, runs, topics * len(samples), sample)


def _make_rows(each: int, topics: int, partitions: int, table: SampledTable) -> Iterator[dict[str, object]]:
    events = made_events.events(each, table)
    old = table.name.encode()
    for topic in range(topics):
        name = b"%s_%03d" % (old, topic)
        for partition in range(partitions):
            for event in events:
                yield {
                    "topic": event.topic.replace(table.name, name.decode()),
                    "partition": partition,
                    "offset": event.offset,
                    "timestamp": None,
                    "key": (event.key or b"").replace(old, name),
                    "value": (event.value or b"").replace(old, name),
                }
