"""Measures what the sink costs beside a hand-written MERGE job: `python -m bench.writing`.

Both jobs get the same batches of events, one after the other in one session, in turn the one or the other
first. The plain job parses the values with `from_json`, keeps the newest change of each key, and runs a MERGE
for each table. There are two shapes of a batch: few records in each of many tables, and many records in one.
No schema changes. CPU seconds are those of the process and all its descendants: the JVM and the tasks of
Python. A time counts only if both jobs have written the rows of the source.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet as parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.processes import read_tree_cpu
from schemaman.migration.settings import TargetSetting
from schemaman.spark.session import start_session
from schemaman.spark.streaming.quarantine import Quarantine
from schemaman.spark.streaming.sink import LakeSink
from schemaman.store.sql.store import SqlStore
from tests.support.records import node, row_event

FORMATS = ("delta", "iceberg")
_FIELDS = {
    "id": node("int64"),
    "customer": node("int64", optional=True),
    "status": node("string", optional=True),
    "amount": node("double", optional=True),
    "note": node("string", optional=True),
    "changed_ms": node("int64", optional=True),
}
_COLUMNS = "id bigint, customer bigint, status string, amount double, note string, changed_ms bigint"
_NAMES = tuple(_FIELDS)
_PARSED = (
    "payload struct<op: string, before: struct<id: bigint>, "
    f"after: struct<{', '.join(c.replace(' ', ': ') for c in _COLUMNS.split(', '))}>, "
    "source: struct<lsn: bigint>>"
)
_RAW = arrow.schema(
    [
        ("topic", arrow.string()),
        ("partition", arrow.int32()),
        ("offset", arrow.int64()),
        ("timestamp", arrow.timestamp("us", "UTC")),
        ("key", arrow.binary()),
        ("value", arrow.binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of batches: how many tables, and how many records each of them has in a batch."""

    name: str
    tables: int
    records: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What a batch cost: CPU seconds of the process tree, and seconds of wall time."""

    cpu: float
    wall: float


class Source:
    """Tables whose rows change: in each batch, half of the records are of new rows, half of earlier ones."""

    def __init__(self, shape: Shape) -> None:
        self.names = [f"t{number:02}" for number in range(shape.tables)]
        self.rows: dict[str, dict[int, tuple[object, ...]]] = {name: {} for name in self.names}
        self._records = shape.records
        self._offset = 0

    def write_batch(self, path: Path) -> None:
        """Write the next batch into a file with the columns of Spark's Kafka source."""
        columns: dict[str, list[Any]] = {name: [] for name in _RAW.names}
        first, self._offset = self._offset, self._offset + self._records
        for name in self.names:
            for offset in range(first, self._offset):
                row = self._change_row(name, offset)
                record = row_event(_FIELDS, "c", row, offset=offset, lsn=1_000 + offset, table=name)
                values = (record.topic, 0, offset, offset * 1_000, record.key, record.value)
                for column, value in zip(columns.values(), values, strict=True):
                    column.append(value)
        parquet.write_table(arrow.table(columns, schema=_RAW), path)

    def _change_row(self, name: str, offset: int) -> dict[str, object]:
        id = offset if offset % 2 or offset < self._records else offset - self._records
        row = (id, offset % 97, f"status {offset % 7}", offset / 4, f"note of {name} at {offset}", offset)
        self.rows[name][id] = row
        return dict(zip(_NAMES, row, strict=True))


class PlainJob:
    """What a data engineer writes into `foreachBatch`."""

    def __init__(self, tables: dict[str, str]) -> None:
        self.tables = tables

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write a batch."""
        spark = batch.sparkSession
        batch = batch.persist()
        for name, table in self.tables.items():
            value = F.from_json(F.col("value").cast("string"), _PARSED)["payload"].alias("p")
            changes = batch.where((F.col("topic") == f"srv.public.{name}") & F.col("value").isNotNull())
            changes = changes.select(value).select(
                F.coalesce("p.after.id", "p.before.id").alias("id"),
                *(F.col(f"p.after.{column}") for column in _NAMES[1:]),
                F.col("p.op").alias("op"),
                F.col("p.source.lsn").alias("lsn"),
            )
            newest = changes.groupBy("id").agg(F.max_by(F.struct("*"), "lsn").alias("r")).select("r.*")
            newest.createOrReplaceTempView("changes")
            sets = ", ".join(f"t.{c} = s.{c}" for c in _NAMES)
            values = ", ".join(f"s.{c}" for c in _NAMES)
            spark.sql(
                f"MERGE INTO {table} t USING changes s ON t.id = s.id "
                "WHEN MATCHED AND s.op = 'd' THEN DELETE "
                f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED AND s.op <> 'd' "
                f"THEN INSERT ({', '.join(_NAMES)}) VALUES ({values})"
            )
        batch.unpersist()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures, then one line of JSON for `bench.compare`."""
    parser = argparse.ArgumentParser(prog="python -m bench.writing")
    parser.add_argument("--tables", type=int, default=20, help="tables of the shape of many tables")
    parser.add_argument("--each", type=int, default=20, help="records of each of them in a batch")
    parser.add_argument("--many", type=int, default=20_000, help="records in a batch of one table")
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--warm", type=int, default=2, help="batches before the first that counts")
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--profile", action="store_true", help="where this process waits in the sink")
    asked = parser.parse_args(arguments)
    shapes = [
        Shape(f"{asked.each} records in each of {asked.tables} tables", asked.tables, asked.each),
        Shape(f"{asked.many} records in one table", 1, asked.many),
    ]
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(warehouse=Path(folder) / "warehouse")
        try:
            for number, shape in enumerate(s for s in shapes if s.tables and s.records):
                for format in asked.format or FORMATS:
                    place = Path(folder) / f"{format}{number}"
                    place.mkdir()
                    for name, value in _measure(spark, shape, format, place, asked).items():
                        found[name] = value
                        print(f"{value:10.2f}  {name}", flush=True)
        finally:
            spark.stop()
    print(json.dumps({"ratios": found}))


def _measure(
    spark: SparkSession, shape: Shape, format: str, folder: Path, asked: argparse.Namespace
) -> dict[str, float]:
    source = Source(shape)
    profile = cProfile.Profile() if asked.profile else None
    with SqlStore.open(f"sqlite:///{folder}/store.db", create=True) as store:
        plain = PlainJob(_make_tables(spark, source, format, folder))
        target = TargetSetting("lake", format, ("*",), **_find_address(format, folder))
        where = str(folder / "quarantine") if format == "delta" else f"ice.{folder.name}.quarantine"
        sink = LakeSink(store, [target], Quarantine(where, format))
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", folder.name)
        jobs: dict[str, Callable[[DataFrame, int], None]] = {"plain": plain, "sink": sink}
        spent: dict[str, list[Spent]] = {name: [] for name in jobs}
        for number in range(asked.warm + asked.repetitions):
            file = folder / f"{number}.parquet"
            source.write_batch(file)
            for name in sorted(jobs, reverse=bool(number % 2)):
                is_profiled = profile is not None and name == "sink" and number >= asked.warm
                cost = _spend(
                    lambda n=name, f=file, b=number: jobs[n](spark.read.parquet(str(f)), b),
                    profile if is_profiled else None,
                )
                if number >= asked.warm:
                    spent[name].append(cost)
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
        for name, table in plain.tables.items():
            expected = sorted(source.rows[name].values())
            for written in (table, _name_table(target, format, name)):
                _require_rows(spark, written, expected)
    if profile is not None:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
    return dict(_compare(f"{format}, {shape.name}", spent))


def _compare(what: str, spent: dict[str, list[Spent]]) -> Iterator[tuple[str, float]]:
    for kind in ("cpu", "wall"):
        plain, sink = ([getattr(each, kind) for each in spent[name]] for name in ("plain", "sink"))
        yield f"{what}: {kind} seconds of the plain job per batch", statistics.median(plain)
        yield f"{what}: {kind} seconds of the sink per batch", statistics.median(sink)
        yield (
            f"{what}: {kind} of the sink / the plain job",
            statistics.median(s / p for s, p in zip(sink, plain, strict=True)),
        )


def _spend(work: Callable[[], object], profile: cProfile.Profile | None) -> Spent:
    cpu, wall = read_tree_cpu(), time.perf_counter()
    if profile is not None:
        profile.enable()
    work()
    if profile is not None:
        profile.disable()
    wall = time.perf_counter() - wall
    return Spent(read_tree_cpu() - cpu, wall)


def _make_tables(spark: SparkSession, source: Source, format: str, folder: Path) -> dict[str, str]:
    """Make the tables of the plain job."""
    if format == "iceberg":
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS ice.{folder.name}")
    tables = {
        name: f"delta.`{folder}/plain_{name}`" if format == "delta" else f"ice.{folder.name}.plain_{name}"
        for name in source.names
    }
    for table in tables.values():
        spark.sql(f"CREATE TABLE {table} ({_COLUMNS}) USING {format}")
    return tables


def _find_address(format: str, folder: Path) -> dict[str, str]:
    return {"path": f"{folder}/{{table}}"} if format == "delta" else {"table": f"ice.{folder.name}.{{table}}"}


def _name_table(target: TargetSetting, format: str, name: str) -> str:
    address = str(target.path or target.table).replace("{table}", name)
    return f"delta.`{address}`" if format == "delta" else address


def _require_rows(spark: SparkSession, table: str, expected: list[tuple[object, ...]]) -> None:
    found = sorted(tuple(row) for row in spark.table(table).select(*_NAMES).collect())
    if found != expected:
        raise SystemExit(f"{table}: wrong result, no times are printed")


if __name__ == "__main__":
    main()
