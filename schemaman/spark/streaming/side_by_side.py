"""Tables of a batch written side by side: each thread has a session of its own, with the user's settings.

Law: settings that a commit needs are those of one session, so no other table's statement sees them. Delta
leaves out a write whose batch number it knows: a quarantine must not get the number of a table's batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

from pyspark import RDD, inheritable_thread_target
from pyspark.sql import SparkSession

from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import is_classic
from schemaman.spark.sql_errors import RAISED

_MOST = 16
"""The largest number of tables that are written at once: each needs a session, with catalogues of its own."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class SideBySide:
    """Runs work for several tables at once, in copies of a session that are kept for the next batch."""

    def __init__(self) -> None:
        self._settings: object = None
        self._parent: SparkSession | None = None
        self._copies: list[SparkSession] = []

    def map(
        self, spark: SparkSession, items: Sequence[Item], work: Callable[[SparkSession, Item], Result]
    ) -> list[Result]:
        """Call `work` with a session and an item, as many at once as `spark` has slots; results in order.

        An error of one item is raised once those that have begun have ended; no other one is begun.
        """
        slots = SparkExecutor(spark).slots if is_classic(spark) else 1
        sessions = self._open_sessions(spark, min(slots, len(items), _MOST))
        if len(sessions) < 2:
            return [work(spark, item) for item in items]
        free = SimpleQueue[SparkSession]()
        for session in sessions:
            free.put(session)

        def run(item: Item) -> Result:
            session = free.get()
            try:
                return work(session, item)
            finally:
                free.put(session)

        pool = ThreadPoolExecutor(len(sessions), "schemaman-sink")
        try:
            begun = [pool.submit(_with_properties(spark, run), item) for item in items]
            return [each.result() for each in begun]
        finally:
            pool.shutdown(cancel_futures=True)

    def _open_sessions(self, spark: SparkSession, count: int) -> list[SparkSession]:
        """Return copies of a session; none if it cannot be copied, or if one thread is enough."""
        if count < 2:
            return []
        try:
            settings = spark._jsparkSession.sessionState().conf().getAllConfs().hashCode()
            if self._parent is not spark or self._settings != settings:
                self._parent, self._settings, self._copies = spark, settings, []
            while len(self._copies) < count:
                self._copies.append(_copy_session(spark))
        except RAISED:
            return []
        return self._copies[:count]


def _with_properties(spark: SparkSession, run: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Has a thread run with a copy of this thread's local properties: its jobs belong to the query's group.

    Threads with one copy would take each other's SQL execution for their own. Source: PySpark 4.1,
    `inheritable_thread_target` copies when it is given the session, not in each thread.
    """
    target: Callable[[Callable[[Item], Result]], Callable[[Item], Result]] = inheritable_thread_target(spark)
    return target(run)


def _copy_session(spark: SparkSession) -> SparkSession:
    """Copy a session with its settings and views. Source: Spark 4.1, `SparkSession.cloneSession`."""
    conversion: Any = RDD
    to_frame = conversion.toDF  # PySpark gives it to the newest session: it stays the user's
    try:
        copied = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    finally:
        conversion.toDF = to_frame
    catalog, database = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    if (copied.catalog.currentCatalog(), copied.catalog.currentDatabase()) != (catalog, database):
        copied.catalog.setCurrentCatalog(catalog)
        copied.catalog.setCurrentDatabase(database)
    return copied
