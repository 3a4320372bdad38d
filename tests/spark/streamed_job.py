"""A job that writes the stream of `changing_tables` in a process of its own.

It remembers the last batch that it wrote, so that it goes on where a killed one stopped, and at the end it
writes down what the lake holds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import schemaman as sm
from schemaman.migration.apply.lease import LEASE_MS
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import start_session
from schemaman.spark.streaming.table_migration import migrate_table
from schemaman.store.sql.store import SqlStore
from tests.spark.changing_tables import make_records
from tests.spark.recordings_in_tables import batches, frame

_OF_A_RUN = ("schemaman.plan", "schemaman.fence", "schemaman.read", "schemaman.store")
_BATCHES = 4
_ENDS = ("dropped", "renamed")


def main(words: Sequence[str] | None = None) -> None:
    """Run the job for the words of a command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("format")
    parser.add_argument("--start", type=int, default=0, help="how often it was started before")
    parser.add_argument("--in-place", nargs="*", default=[])
    parser.add_argument("--moving", nargs="*", default=[])
    options = parser.parse_args(words)
    spark = start_session(warehouse=options.folder / "warehouse")
    write_all(spark, options.folder, options.format, options.start, options.in_place, options.moving)
    spark.stop()


def write_all(
    spark: SparkSession,
    folder: Path,
    format: str,
    start: int,
    in_place: Sequence[str],
    moving: Sequence[str],
) -> None:
    """Write the batches that are left, and then what the lake holds; its clock is ahead of earlier leases."""
    checkpoint, tables = folder / "checkpoint", name_tables(folder, format)
    (folder / "ready").touch()
    target = sm.TargetSetting("lake", "iceberg", ("*",), table=tables)
    quarantine = sm.spark.Quarantine(tables.format(table="set_aside"), format)
    if format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=tables)
    with SqlStore.open(f"sqlite:///{folder / 'store.db'}", create=True) as store:
        sink = sm.spark.LakeSink(
            store,
            [target],
            quarantine,
            policy=sm.Policy(profile="autopilot"),
            clock=lambda: time.time_ns() // 1_000_000 + start * (LEASE_MS + 1000),
        )
        every = [*batches(make_records(in_place, moving), _BATCHES), [], []]
        for number in range(int(checkpoint.read_text()) if checkpoint.exists() else 0, len(every)):
            sink(frame(spark, every[number]), number)
            (folder / "next").write_text(str(number + 1))
            (folder / "next").replace(checkpoint)
        settle_tables(sink, store, SparkExecutor(spark))
    (folder / "lake.json").write_text(json.dumps(describe_lake(spark, folder, format), indent=1))


def settle_tables(sink: sm.spark.LakeSink, store: SqlStore, executor: SparkExecutor) -> None:
    """Bring each table to its newest version, as its next records would: a batch that came again did so."""
    for table in store.tables():
        history = store.history(table)
        assert history is not None
        if any(e.incarnation == history.latest.incarnation and e.kind in _ENDS for e in history.events):
            continue
        for sink_table in sink.list_sink_tables(table):
            migrate_table(sink._migration.open_table(sink_table, executor), history)


def name_tables(folder: Path, format: str) -> str:
    """Name the lake tables of the job: paths in its folder, or a namespace of its own."""
    return str(folder / "lake" / "{table}") if format == "delta" else f"ice.{folder.name}.{{table}}"


def describe_lake(spark: SparkSession, folder: Path, format: str) -> dict[str, object]:
    """Describe each lake table by its columns, key, rows and what it records, but for runs and places."""
    target, executor = TARGETS.get(format), SparkExecutor(spark)
    if format == "delta":
        addresses = [str(path.parent) for path in (folder / "lake").glob("*/_delta_log")]
    else:
        addresses = [
            f"ice.{folder.name}.{row.tableName}"
            for row in spark.sql(f"SHOW TABLES IN ice.{folder.name}").collect()
        ]
    found: dict[str, object] = {}

    def without_folder(text: str) -> str:
        return text.replace(str(folder), "").replace(folder.name, "")

    for address in sorted(addresses):
        live = executor.inspect(address, format)
        assert live is not None
        properties = {
            name: without_folder(text)
            for name, text in live.properties.items()
            if name.startswith("schemaman.") and name not in _OF_A_RUN and text != "[]"
        }
        rows = [row.asDict(True) for row in spark.table(target.table_name(address)).collect()]
        for row in rows:
            row.pop("attempt", None)
        columns = {c.name: repr((c.type, c.nullable)) for c in live.schema.columns}
        # The reason of a record in quarantine names the lake table, which may be a path.
        texts = sorted(without_folder(json.dumps(row, sort_keys=True, default=repr)) for row in rows)
        found[Path(address).name.rpartition(".")[2]] = [columns, live.schema.key, properties, texts]
    return found


if __name__ == "__main__":
    main()
