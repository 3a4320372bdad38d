"""The example job as users start it, and the lake that it left, read by another session."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import make_session_settings
from schemaman.store.sql.store import SqlStore
from tests.lake_state.lake_comparison import ComparedTable, Comparison, compared
from tests.support.checkout import CAPTURES, ROOT


def started(folder: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """The job at work in a folder; what it tells lies in `log` there."""
    command = [sys.executable, str(ROOT / "examples" / "mirror.py"), *map(str, arguments)]
    log = (folder / "log").open("ab")
    # a session of its own, so that the JVM is stopped along
    return subprocess.Popen(
        [*command, "--folder", str(folder)], stdout=log, stderr=log, cwd=ROOT, start_new_session=True
    )


def outcome(spark: Any, folder: Path, name: str, format: str) -> Comparison:
    """The lake that a job left of a recording, against the independent fold of its events."""
    other = spark.newSession()
    for key, value in make_session_settings(folder / "warehouse", "ice", "local[2]").items():
        if key.startswith("spark.sql.catalog.ice"):
            other.conf.set(key, value)
    # a catalogue is made with the settings of whatever session is active when it is first asked for
    other.sql("SHOW NAMESPACES IN ice").collect()
    ours = format == "iceberg"
    rows = [row for row in _aside(other, folder) if not row[3] or row[3].startswith("ice.") == ours]
    with SqlStore.open(f"sqlite:///{folder / 'schemaman.db'}") as store:
        stopped = {lake_table for *_, lake_table, reason in rows if "instead:" in reason}
        lake = list(_lake(other, store, folder, format, stopped))
        return compared(CAPTURES / name, store, lake, {row[:3] for row in rows})


def _lake(
    spark: Any, store: SqlStore, folder: Path, format: str, stopped: Collection[str]
) -> Iterator[ComparedTable]:
    for table in store.tables():
        name = f"{table.database}.{table.schema}.{table.table}"
        address = f"ice.`{table.stream}`.`{name}`"
        if format == "delta":
            address = str(folder / "lake" / table.stream / name)
        live = SparkExecutor(spark).inspect(address, format)
        if live is not None:
            rows = spark.table(TARGETS.get(format).table_name(address)).toArrow().to_pylist()
            yield ComparedTable(table, live, rows, address in stopped)


def _aside(spark: Any, folder: Path) -> Iterator[tuple[str, int, int, str, str]]:
    path = folder / "lake" / "quarantine"
    if (path / "_delta_log").exists():
        names = "topic, partition, offset, lake_table, reason"
        yield from ((*row,) for row in spark.sql(f"SELECT {names} FROM delta.`{path}`").collect())
