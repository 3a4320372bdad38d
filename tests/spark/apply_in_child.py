"""A process that applies plans one after the other, to be killed: `python -m tests.spark.apply_in_child`.

Arguments: the warehouse, the store, then plan files. It prints a line for every line of the journal.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from schemaman.migration.apply.apply import Migration, StoreJournal, apply
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text
from schemaman.migration.target import Executor
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.session import start_session
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore


class TellingJournal(StoreJournal):
    """A journal that says when it writes."""

    def begin(self, *lines: MigrationEntry) -> int:
        number = super().begin(*lines)
        for line in lines:
            tell(line.state)
        return number

    def write(self, *lines: MigrationEntry) -> None:
        super().write(*lines)
        for line in lines:
            tell(line.state)


def tell(word: str) -> None:
    """Say how far this process is, to the one that waits to kill it."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def applied(plan: Plan, executor: Executor, store: SqlStore, later_ms: int = 0) -> Migration:
    """The plan applied with a lease and a journal in the store; `later_ms` from now."""

    def clock() -> int:
        return time.time_ns() // 1_000_000 + later_ms

    journal = TellingJournal(store)
    return apply(plan, executor, journal, clock, run=f"run-{clock()}", leases=store, approved=True)


def main(warehouse: str, store: str, *plans: str) -> None:
    """Apply every plan."""
    executor = SparkExecutor(start_session(warehouse=warehouse))
    with SqlStore.open(store) as opened:
        tell("ready")
        for file in plans:
            applied(from_text(Path(file).read_text(encoding="utf-8")), executor, opened)


if __name__ == "__main__":
    main(*sys.argv[1:])
