"""How many transactions of the store a run costs, and what the journal has when the engine is called."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from schemaman.errors import Locked
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import StoreJournal, target_id
from schemaman.migration.plan import MigrationSource, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.targets import delta
from schemaman.model.column_list import parse_columns
from schemaman.store.log import MigrationEntry
from schemaman.store.memory import MemoryStore
from tests.support.memory_lake import MemoryTable

TABLE = "/lake/t"
COLUMNS = "id INT NOT NULL, a INT"


class CountingStore(MemoryStore):
    """A store that counts the calls that are a transaction of a database."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0)
        self.calls: Counter[str] = Counter()

    def append(self, *given: Any) -> int:
        self.calls["append"] += 1
        return super().append(*given)

    def acquire(self, *given: Any) -> str:
        self.calls["acquire"] += 1
        return super().acquire(*given)

    def renew(self, *given: Any) -> None:
        self.calls["renew"] += 1
        super().renew(*given)

    def release(self, *given: Any) -> None:
        self.calls["release"] += 1
        super().release(*given)


def bring(store: CountingStore, lake: MemoryTable, number: int, more: str = "") -> int:
    """Bring the table to a version; the number of its steps."""
    source = MigrationSource(
        "shop.public.t", number, f"v{number}", 0, parse_columns(f"{COLUMNS}{more}, PRIMARY KEY (id)")
    )
    plan = make_plan(source, lake.live, delta.TARGET, TABLE, Policy())
    done = apply(
        plan,
        lake,
        StoreJournal(store),
        lambda: 0,
        run=f"r{number}",
        leases=store,
        store=store.id,
        approved=True,
    )
    assert (done.state, done.differences) == ("applied", ())
    return len(plan.steps)


def test_a_run_writes_its_lines_once_a_statement_and_once_at_the_end() -> None:
    store, lake = CountingStore(), MemoryTable(TABLE)
    bring(store, lake, 1)
    store.calls.clear()
    statements = bring(store, lake, 2, ", b DATE")
    assert statements == 2  # the column, and the version that the table has now
    assert store.calls == {"acquire": 1, "append": statements + 1, "release": 1}


def test_the_engine_is_called_once_the_journal_has_all_lines() -> None:
    store, lake = CountingStore(), MemoryTable(TABLE)
    bring(store, lake, 1)
    known: list[list[tuple[int | None, str]]] = []

    def note(_: str) -> None:
        lines = StoreJournal(store).read_target_lines(target_id("delta", TABLE))
        known.append([(line.step, line.state) for line in lines if line.run == "r2"])

    lake.before = note
    bring(store, lake, 2, ", b DATE")
    begun = [(None, "started"), (0, "intent")]
    assert known == [begun, [*begun, (1, "intent")]]


def test_a_journal_that_writes_for_several_targets_sees_who_began_on_each() -> None:
    store = MemoryStore(clock=lambda: 0)
    own, other = StoreJournal(store), StoreJournal(store)
    assert own.begin(line("t", "started"), line("t", "intent")) == 1
    assert own.begin(line("u", "started")) == 3
    other.begin(line("u", "started", run="rival"))
    for state in ("done", "intent"):  # from the first one on, the journal knows the end of the log again
        own.write(line("t", state))
    with pytest.raises(Locked, match="rival"):
        own.write(line("u", "done"))
    own.write(line("t", "finished"))
    assert len(own.read_target_lines("u")) == 2


def line(target: str, state: Any, run: str = "own") -> MigrationEntry:
    return MigrationEntry(run, "p", target, None, state)
