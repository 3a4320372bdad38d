"""A Structured Streaming job that writes Debezium streams into Delta and Iceberg tables.

Without `--kafka` it reads recorded streams, one after the other, in small batches, and prints what it did.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import schemaman as sm

RECORDINGS = ("fixtures/captures/postgres/shop-json", "fixtures/captures/mariadb/bookshop-mariadb-3.5.0-json")
POLICY = sm.Policy(rules=(sm.PolicyRule("auto", ("truncate",)),))
"""A TRUNCATE of the source empties the lake table as well; by default it blocks its table."""

KCAT = (
    "topic string, partition int, offset bigint, ts bigint, key string, payload string, headers array<string>"
)
"""The fields of a recorded line. Source: kcat(1), `-J`: headers are a flat list of names and values."""
KAFKA = (
    "topic", "partition", "offset", "timestamp_millis(ts) AS timestamp",
    "CAST(key AS BINARY) AS key", "CAST(payload AS BINARY) AS value",
    """transform(filter(sequence(0, size(headers)), i -> i % 2 = 0 AND i < size(headers)),
       i -> struct(headers[i] AS key, CAST(headers[i + 1] AS BINARY) AS value)) AS headers""",
)  # fmt: skip
"""The columns of Spark's Kafka source, made from the fields of a recorded line."""


def main(words: Sequence[str]) -> None:
    """Run the job for the words of a command line."""
    options = parse_options(words)
    folder = Path(options.folder).absolute()
    settings = {"spark.jars": options.jars} if options.jars else {}
    spark = sm.spark.start_session(warehouse=folder / "warehouse", settings=settings)
    with sm.open(f"sqlite:///{folder / 'schemaman.db'}", create=True) as registry:
        if options.kafka:
            sink = make_sink(registry, folder, "main", options.formats, options.registry)
            run_query(
                read_topics(spark, options.kafka, options.topics), sink, folder / "checkpoints" / "main"
            )
        for recording in () if options.kafka else map(Path, options.recordings):
            stream = read_recording(spark, recording, folder / "recorded", options.batches)
            sink = make_sink(registry, folder, recording.name, options.formats)
            run_query(stream, sink, folder / "checkpoints" / recording.name, until_end=True)
    spark.stop()


def parse_options(words: Sequence[str]) -> argparse.Namespace:
    """Parse the words of a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="*", default=RECORDINGS, help="folders of recorded JSON streams")
    parser.add_argument("--folder", default="mirror-demo", help="folder of store, tables and checkpoints")
    parser.add_argument("--formats", nargs="+", default=["delta", "iceberg"], choices=["delta", "iceberg"])
    parser.add_argument("--batches", type=int, default=3, help="number of batches per recording")
    parser.add_argument("--kafka", metavar="BROKERS", help="read topics of a broker instead, until stopped")
    parser.add_argument("--topics", metavar="PATTERN", default=".*", help="a pattern of topics, with --kafka")
    parser.add_argument("--registry", help="address or export of the schema registry, with --kafka")
    parser.add_argument("--jars", help="the jars of Spark's Kafka source, with --kafka; see the README")
    return parser.parse_args(words)


def make_sink(
    registry: sm.Registry, folder: Path, stream: str, formats: Sequence[str], schemas: str | None = None
) -> sm.spark.LakeSink:
    """Make the sink of one stream; it prints the report of each batch."""
    return sm.spark.LakeSink(
        registry,
        make_targets(folder, formats),
        sm.spark.Quarantine(str(folder / "lake" / "quarantine")),
        policy=POLICY,
        stream=stream,
        schemas=schemas,
        on_report=lambda report: print_report(stream, report),
    )


def make_targets(folder: Path, formats: Sequence[str]) -> list[sm.TargetSetting]:
    """Name the lake table of each source table: a folder for Delta, a table of a catalogue for Iceberg."""
    path = str(folder / "lake" / "{stream}" / "{database}.{schema}.{table}")
    targets = {
        "delta": sm.TargetSetting("lake", "delta", ("*",), path=path),
        "iceberg": sm.TargetSetting(
            "catalogue", "iceberg", ("*",), table="ice.`{stream}`.`{database}.{schema}.{table}`"
        ),
    }
    return [targets[format] for format in formats]


def read_topics(spark: Any, brokers: str, pattern: str) -> Any:
    """Read the topics of a broker from their beginning."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
    options = {"subscribePattern": pattern, "startingOffsets": "earliest", "includeHeaders": "true"}
    return source.options(**options).load()


def read_recording(spark: Any, recording: Path, folder: Path, batches: int) -> Any:
    """Read a recording as a stream of files, one file per batch, with the columns of the Kafka source."""
    lines = gzip.decompress((recording / "records.ndjson.gz").read_bytes()).splitlines(keepends=True)
    parts = folder / recording.name
    parts.mkdir(parents=True, exist_ok=True)
    size = -(-len(lines) // batches)
    for number in range(batches):
        part = parts / f"{number:04}.jsonl"
        if not part.exists():
            part.write_bytes(b"".join(lines[number * size : (number + 1) * size]))
        # Spark takes files by modification time, in milliseconds; of equal ones, the order is any.
        os.utime(part, (number, number))
    stream = spark.readStream.schema(KCAT).option("maxFilesPerTrigger", 1).json(str(parts))
    return stream.selectExpr(*KAFKA)


def run_query(stream: Any, sink: sm.spark.LakeSink, checkpoint: Path, *, until_end: bool = False) -> None:
    """Run a query whose batches go through the sink: to the end of the stream, or until it is stopped."""
    writer = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    query = (writer.trigger(availableNow=True) if until_end else writer).start()
    query.awaitTermination()


def print_report(stream: str, report: sm.spark.BatchReport) -> None:
    """Print the report of a batch."""
    sys.stdout.write(f"{stream}: {report}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
