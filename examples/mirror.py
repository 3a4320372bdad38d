"""A Structured Streaming job that writes Debezium streams into Delta and Iceberg tables.

Without `--kafka` it reads recorded streams, one after the other, in small batches, and prints what it did.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet

import schemaman as sm
from schemaman.io import files
from schemaman.io.schema_registry import NO_REGISTRY, AnyRegistry, is_url, load_export, open_registry
from schemaman.spark.streaming.micro_batch import RAW

RECORDINGS = ("fixtures/captures/postgres/shop-json", "fixtures/captures/mariadb/bookshop-mariadb-3.5.0-json")
EMPTYING = sm.Policy(rules=(sm.PolicyRule("auto", ("truncate",)),))
"""What the source empties is emptied here as well; by default a TRUNCATE stops its table."""
HEADER = arrow.struct([("key", arrow.string()), ("value", arrow.binary())])
COLUMNS = arrow.schema([
    ("topic", arrow.string()), ("partition", arrow.int32()), ("offset", arrow.int64()),
    ("timestamp", arrow.timestamp("us", tz="UTC")), ("key", arrow.binary()), ("value", arrow.binary()),
    ("headers", arrow.list_(HEADER)),
])  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    """Mirror what the arguments name."""
    asked = _asked(arguments)
    folder = Path(asked.folder).absolute()
    settings = {"spark.jars": asked.jars} if asked.jars else {}
    spark = sm.spark.start_session(warehouse=folder / "warehouse", settings=settings)
    with sm.open(f"sqlite:///{folder / 'schemaman.db'}", create=True) as registry:
        if asked.kafka:
            stream = _kafka(spark, asked.kafka, asked.topics)
            _mirror(stream, registry, folder, "main", _registry(asked.registry), asked.formats, forever=True)
        for recording in () if asked.kafka else asked.recordings:
            stream, schemas = _recorded(spark, Path(recording), folder, asked.batches)
            _mirror(stream, registry, folder, Path(recording).name, schemas, asked.formats)
    spark.stop()


def _asked(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="*", default=RECORDINGS, help="folders of recorded streams")
    parser.add_argument("--folder", default="mirror-demo", help="where store, tables and checkpoints lie")
    parser.add_argument("--formats", nargs="+", default=["delta", "iceberg"], choices=["delta", "iceberg"])
    parser.add_argument("--batches", type=int, default=3, help="batches that a recording is cut into")
    parser.add_argument("--kafka", metavar="BROKERS", help="read topics of a broker instead, until stopped")
    parser.add_argument("--topics", metavar="PATTERN", default=".*", help="a pattern of topics, with --kafka")
    parser.add_argument("--registry", help="address or export of the schema registry, with --kafka")
    parser.add_argument("--jars", help="the jars of Spark's Kafka source, with --kafka; see the README")
    return parser.parse_args(arguments)


def _mirror(
    stream: Any,
    registry: sm.Registry,
    folder: Path,
    name: str,
    schemas: AnyRegistry,
    formats: Sequence[str],
    *,
    forever: bool = False,
) -> None:
    """Run the query: each batch goes through the sink."""
    sink = sm.spark.LakeSink(
        registry,
        _targets(folder, formats),
        sm.spark.Quarantine(str(folder / "lake" / "set_aside")),
        policy=EMPTYING,
        stream=name,
        schemas=schemas,
        on_report=lambda report: _tell(name, report),
    )
    writer = stream.writeStream.foreachBatch(sink)
    writer = writer.option("checkpointLocation", str(folder / "checkpoints" / name))
    query = (writer if forever else writer.trigger(availableNow=True)).start()
    query.awaitTermination()


def _targets(folder: Path, formats: Sequence[str]) -> list[sm.TargetSetting]:
    """Each table of each stream goes into a folder (Delta) and into a namespace of a catalogue (Iceberg)."""
    path = str(folder / "lake" / "{stream}" / "{database}.{schema}.{table}")
    known = {
        "delta": sm.TargetSetting("lake", "delta", ("*",), path=path),
        "iceberg": sm.TargetSetting(
            "catalogue", "iceberg", ("*",), table="ice.`{stream}`.`{database}.{schema}.{table}`"
        ),
    }
    return [known[format] for format in formats]


def _recorded(spark: Any, recording: Path, folder: Path, batches: int) -> tuple[Any, AnyRegistry]:
    """A recorded stream as a stream of files, a batch each; its registry."""
    file = files.find_file(str(recording))
    records = [r for r in files.read_records(file) if isinstance(r, sm.Record)]
    where = folder / "recorded" / recording.name
    where.mkdir(parents=True, exist_ok=True)
    size = -(-len(records) // batches)
    for number in range(batches):
        batch = where / f"{number:04}.parquet"
        if not batch.exists():
            parquet.write_table(_table(records[number * size : (number + 1) * size]), batch)
    stream = spark.readStream.schema(RAW).option("maxFilesPerTrigger", 1).parquet(str(where))
    return stream, NO_REGISTRY if file.registry is None else load_export(file.registry)


def _table(records: Sequence[sm.Record]) -> arrow.Table:
    """Records as Spark's Kafka source hands them over."""
    rows = [
        {
            "topic": r.topic,
            "partition": r.partition,
            "offset": r.offset,
            "timestamp": datetime.fromtimestamp((r.timestamp_ms or 0) / 1000, UTC),
            "key": r.key,
            "value": r.value,
            "headers": [{"key": name, "value": value} for name, value in r.headers],
        }
        for r in records
    ]
    return arrow.Table.from_pylist(rows, COLUMNS)


def _kafka(spark: Any, brokers: str, topics: str) -> Any:
    """The topics of a broker, from their beginning."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers)
    options = {"subscribePattern": topics, "startingOffsets": "earliest", "includeHeaders": "true"}
    return source.options(**options).load()


def _registry(where: str | None) -> AnyRegistry:
    return NO_REGISTRY if where is None else open_registry(where, {}) if is_url(where) else load_export(where)


def _tell(stream: str, report: sm.spark.BatchReport) -> None:
    """What became of a batch, for people."""
    lines = [f"{stream}: batch {report.number}"]
    if report.rejected:
        lines.append(f"  {report.rejected} records not understood, in quarantine")
    if report.untargeted:
        lines.append(f"  {report.untargeted} records of tables that have no target")
    for table in report.tables:
        told = [f"{table.records} records, {table.rows} rows written"]
        told += [f"{table.quarantined} in quarantine"] if table.quarantined else []
        told += [f"{table.replayed} out of quarantine"] if table.replayed else []
        told += [f"{table.ended_incarnation} of a table that was dropped"] if table.ended_incarnation else []
        told += [f"{table.ignored} left alone"] if table.ignored else []
        lines.append(f"  {table.source_table} -> {table.lake_table}: {', '.join(told)}")
        lines += (f"    {statement.splitlines()[0]}" for statement in table.steps)
        lines += (f"    note: {note}" for note in table.notes)
        lines += [f"    stopped: {table.blocked}"] if table.blocked else []
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
