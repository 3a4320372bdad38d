"""Measures a migration of many tables, for Spark and for schemaman: `python -m bench.lake [TABLES [FORMAT]]`.

Every table gets one more column at its source, and is planned and altered, in one session and with one store
with journal and leases. Time inside of the executor counts for Spark, the rest for schemaman. Every second
plan is not applied: its bare statements are run, one after the other, so that both kinds meet the same load.
Every result is checked. The full size is 1000 tables.
"""

from __future__ import annotations

import gc
import json
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench import tables
from bench.processes import list_tree, read_cpu
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import StoreJournal, apply
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import TARGETS, Executor, LakeTable
from schemaman.registry import Registry
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import start_session
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import COLLECT

TABLES = 100
AT_ONCE = 500
T = TypeVar("T")


@dataclass(slots=True)
class Timed:
    """An executor that counts its calls, wall seconds, and CPU seconds of this process."""

    executor: Executor
    calls: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    def inspect(self, table: str, format: str) -> LakeTable | None:
        """Call the executor and count."""
        return self._timed(lambda: self.executor.inspect(table, format))

    def run(self, statement: str) -> None:
        """Call the executor and count."""
        self._timed(lambda: self.executor.run(statement))

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """Call the executor and count."""
        return self._timed(lambda: self.executor.query(statement))

    def _timed(self, call: Callable[[], T]) -> T:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return call()
        finally:
            self.calls += 1
            self.wall += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu


def main(count: int, formats: Sequence[str]) -> None:
    """Print the figures, then one line of JSON for `bench.compare`."""
    gc.set_threshold(*COLLECT)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        spark = start_session(warehouse=Path(folder) / "warehouse")
        try:
            for format in formats:
                found |= _measure_format(SparkExecutor(spark), format, count, Path(folder))
        finally:
            spark.stop()
    for name, value in found.items():
        print(f"{value:10.2f}  {name}")
    print(json.dumps({"tables": count, "python": platform.python_version(), "ratios": found}))


def _measure_format(executor: SparkExecutor, format: str, count: int, folder: Path) -> dict[str, float]:
    with SqlStore.open(f"sqlite:///{folder / format}.db", create=True) as store:
        registry = Registry(store, _now_ms)
        _record(registry, count, 0)
        _make(registry, executor, format, folder, store)
        _record(registry, count, 1)
        planning, applying = Timed(executor), Timed(executor)
        plans, planned = _measure(planning, lambda: _plan_tables(registry, planning, format, folder))
        bare, applied = _measure_applying(plans, applying, executor, store)
    return {
        f"{format}, apply: milliseconds of the bare statements per table": bare,
        f"{format}, apply: time / bare statements": applied["milliseconds per table"] / count / bare,
        f"{format}, apply: CPU time / that of the bare statements": applied.pop("CPU / bare"),
    } | {
        f"{format}, {part}: {name}": value / (count if name.endswith("per table") else 1)
        for part, figures in (("plan", planned), ("apply", applied))
        for name, value in figures.items()
    }


def _record(registry: Registry, count: int, version: int) -> None:
    for start in range(0, count, AT_ONCE):
        chunk = range(start, min(count, start + AT_ONCE))
        registry.record(*tables.chunk(chunk, range(version, version + 1)))


def _make(registry: Registry, executor: Executor, format: str, folder: Path, store: SqlStore) -> None:
    """Create the tables before the change; further Delta tables are copies of the first, without Spark."""
    first, *others = registry.tables()
    for history in (first,) if format == "delta" else (first, *others):
        _apply_plan(_plan(history, executor, format, folder), 0, executor, StoreJournal(store), store)
    for history in others if format == "delta" else ():
        made = Path(shutil.copytree(_table(first, format, folder), _table(history, format, folder)))
        for log in made.glob("_delta_log/*"):
            if log.name.startswith("."):
                log.unlink()  # Hadoop's checksum of the file that changes below
            elif log.is_file():
                text = log.read_text(encoding="utf-8").replace(str(first.table), str(history.table))
                log.write_text(text, encoding="utf-8")


def _table(history: TableHistory, format: str, folder: Path) -> str:
    name = history.table.table
    return str(folder / "delta" / name) if format == "delta" else f"ice.bench.{name}"


def _plan(history: TableHistory, executor: Executor, format: str, folder: Path) -> Plan:
    table = _table(history, format, folder)
    return make_plan(
        migration_source(history), executor.inspect(table, format), TARGETS.get(format), table, Policy()
    )


def _measure(timed: Timed, work: Callable[[], T]) -> tuple[T, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    done = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return done, {
        "milliseconds per table": 1000 * wall,
        "milliseconds of schemaman per table": 1000 * (wall - timed.wall),
        "CPU milliseconds of schemaman per table": 1000 * (cpu - timed.cpu),
        "schemaman / total": (wall - timed.wall) / wall,
        "calls of the executor per table": timed.calls,
    }


def _plan_tables(registry: Registry, executor: Executor, format: str, folder: Path) -> Sequence[Plan]:
    plans = [_plan(history, executor, format, folder) for history in registry.tables()]
    _require(
        "plan", all([step.kind for step in p.steps][:1] == ["add-columns"] and not p.refusals for p in plans)
    )
    return plans


def _measure_applying(
    plans: Sequence[Plan], timed: Timed, executor: Executor, store: SqlStore
) -> tuple[float, dict[str, float]]:
    """Apply every second plan, and run the bare statements of the others in between.

    Returns the milliseconds of the bare statements per table, and the figures of the applied plans as if all
    tables were applied. The CPU time is that of this process and of Spark's.
    """
    journal, seconds = StoreJournal(store), 0.0
    pids, cpu_applied, cpu_bare = list_tree(), 0.0, 0.0
    figures: dict[str, float] = {}
    for number, plan in enumerate(plans):
        if number % 2:
            start, cpu = time.perf_counter(), read_cpu(pids)
            for step in plan.steps:
                executor.run(step.statement)
            seconds += time.perf_counter() - start
            cpu_bare += read_cpu(pids) - cpu
            continue
        calls, cpu = Timed(timed.executor), read_cpu(pids)
        _, found = _measure(calls, lambda p=plan, n=number, c=calls: _apply_plan(p, n, c, journal, store))
        cpu_applied += read_cpu(pids) - cpu
        figures = {name: figures.get(name, 0.0) + value for name, value in found.items()}
    applied, bare = -(-len(plans) // 2), len(plans) // 2
    scale = {name: len(plans) if name.endswith("per table") else 1 for name in figures}
    found = {name: value * scale[name] / applied for name, value in figures.items()}
    return 1000 * seconds / bare, found | {"CPU / bare": cpu_applied / applied / (cpu_bare / bare)}


def _apply_plan(plan: Plan, number: int, executor: Executor, journal: StoreJournal, store: SqlStore) -> None:
    done = apply(plan, executor, journal, _now_ms, run=f"{number:012}", leases=store, store=store.id)
    _require(plan.table, done.state == "applied" and not done.differences)


def _require(name: str, correct: bool) -> None:
    if not correct:
        raise SystemExit(f"{name}: wrong result, no times are printed")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else TABLES, sys.argv[2:] or ("delta", "iceberg"))
