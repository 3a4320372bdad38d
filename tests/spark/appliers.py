"""Processes that apply plans in the Spark of another one, forked from one that has read the code already.

Only the applier dies when it is killed: its statement goes on in the driver that it shares, as it would
behind Spark Connect. A start costs a second, so that every position of a plan can be tried.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from schemaman.api.exit_codes import exit_code
from schemaman.errors import SchemamanError
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan_file import from_text
from schemaman.spark.executor import SparkExecutor
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore

POINTS = ("intent-to-write", "intent-written", "statement-sent", "statement-done", "done-written")
"""The moments of a step at which an applier may die, in order."""
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


@dataclass(frozen=True, slots=True)
class Task:
    """What an applier is to do.

    `kill_at` counts moments (step times `POINTS`): it dies at that one or, if the table shows that the step
    was done, at the next that comes. `after` is how long a statement may take before its sender dies.
    """

    store: str
    plan: str
    told: str
    kill_at: int | None = None
    after: float = 0.05
    later_ms: int = 0
    run: str = "r"
    leases: bool = True


def driver_of(spark: Any) -> tuple[str, str]:
    """How another process reaches the driver of a session."""
    parameters = spark.sparkContext._gateway.gateway_parameters
    return str(parameters.port), str(parameters.auth_token)


def start(driver: tuple[str, str], task: Task, together: Barrier | None = None) -> ForkServerProcess:
    """An applier on its way; `together` holds it back until others are as far."""
    process = _CONTEXT.Process(target=_work, args=(driver, task, together), daemon=True)
    process.start()
    return process


def start_work(
    driver: tuple[str, str], work: Callable[..., None], arguments: tuple[Any, ...]
) -> ForkServerProcess:
    """Any other work on its way; its first argument is a session of its own in the driver that is there."""
    process = _CONTEXT.Process(target=_do_work, args=(driver, work, arguments), daemon=True)
    process.start()
    return process


def _do_work(driver: tuple[str, str], work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = driver
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    work(_joined(), *arguments)
    os._exit(0)


def barrier(parties: int) -> Barrier:
    """What several appliers wait at."""
    return _CONTEXT.Barrier(parties)


def ended(process: ForkServerProcess) -> int:
    """The exit code, -9 for one that was killed."""
    process.join(timeout=600)  # of a machine that does other work as well
    assert process.exitcode is not None, "it goes on and on"
    return process.exitcode


def _work(driver: tuple[str, str], task: Task, together: Barrier | None) -> None:
    os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = driver
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    plan = from_text(Path(task.plan).read_text(encoding="utf-8"))
    spark = _joined()

    def clock() -> int:
        return time.time_ns() // 1_000_000 + task.later_ms

    with SqlStore.open(task.store) as store:
        death = _Death(task)
        executor, journal = _Executor(spark, death), _Journal(store, death)
        leases = store if task.leases else None
        if together is not None:
            together.wait()
        told: dict[str, object] = {}
        try:
            done = apply(
                plan, executor, journal, clock, run=task.run, leases=leases, store=store.id, approved=True,
                owner=f"{task.run} ({os.getpid()})",
            )  # fmt: skip
            code = 5 if done.differences else 0
            told = {"state": done.state}
        except SchemamanError as error:
            code = exit_code(error)
            told = {"error": error.message}
        Path(task.told).write_text(json.dumps(told | {"exit": code}), encoding="utf-8")
    os._exit(code)


def _joined() -> SparkSession:
    """A session of our own in the driver that is there."""
    gateway = launch_gateway()
    jvm = gateway.jvm
    context = jvm.org.apache.spark.SparkContext.getOrCreate()
    java = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    here = SparkContext(gateway=gateway, jsc=java)
    session = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get().cloneSession()
    return SparkSession(here, session)


class _Death:
    """Kills this process when its moment has come, and tells before where it was."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.step = 0

    def comes(self, point: str) -> bool:
        """Whether this is the moment: only a statement is sent before one dies."""
        now = self.step * len(POINTS) + POINTS.index(point)
        if self.task.kill_at is None or now < self.task.kill_at:
            return False
        Path(self.task.told).write_text(json.dumps({"killed": now}), encoding="utf-8")
        if point != "statement-sent":
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # a loaded machine may let the process run on for a moment
        return True


class _Journal(StoreJournal):
    def __init__(self, store: SqlStore, death: _Death) -> None:
        super().__init__(store)
        self.death = death

    def begin(self, *lines: MigrationEntry) -> int:
        self.die_before(lines)
        number = super().begin(*lines)
        self.die_behind(lines)
        return number

    def write(self, *lines: MigrationEntry) -> None:
        self.die_before(lines)
        super().write(*lines)
        self.die_behind(lines)

    def die_before(self, lines: Sequence[MigrationEntry]) -> None:
        """Die before a transaction, unless the moment is behind one of its lines."""
        if self.death.task.kill_at not in [number_moment(line, _BEHIND) for line in lines]:
            self.die_at(lines, _BEFORE)

    def die_behind(self, lines: Sequence[MigrationEntry]) -> None:
        self.die_at(lines, _BEHIND)

    def die_at(self, lines: Sequence[MigrationEntry], points: Mapping[str, str]) -> None:
        for line in lines:
            if line.step is not None:
                self.death.step = line.step
            if line.state in points:
                self.death.comes(points[line.state])


_BEFORE = {"intent": "intent-to-write", "done": "statement-done"}
_BEHIND = {"intent": "intent-written", "done": "done-written"}


def number_moment(line: MigrationEntry, points: Mapping[str, str]) -> int | None:
    """The moment of a line of a step, as `kill_at` counts them; None for other lines."""
    point = points.get(line.state)
    return None if point is None or line.step is None else line.step * len(POINTS) + POINTS.index(point)


class _Executor(SparkExecutor):
    def __init__(self, spark: SparkSession, death: _Death) -> None:
        super().__init__(spark)
        self.death = death

    def run(self, statement: str) -> None:
        if "schemaman.fence" not in statement and self.death.comes("statement-sent"):
            threading.Timer(self.death.task.after, os.kill, (os.getpid(), signal.SIGKILL)).start()
        super().run(statement)


def killed_at(told: Path) -> int | None:
    """The moment at which the last applier died; None if it came to its end."""
    found: dict[str, int] = json.loads(told.read_text(encoding="utf-8"))
    return found.get("killed")


def outcomes(told: Sequence[Path]) -> list[dict[str, Any]]:
    """What appliers told at their end."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in told]
