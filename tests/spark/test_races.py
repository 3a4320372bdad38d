"""Two appliers at once: one wins, the other exits 4, and nothing that was said to be done is lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from schemaman.errors import Locked, PartlyApplied, StalePlan
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.conditions import fingerprint_structure
from schemaman.spark.executor import SparkExecutor
from schemaman.store.sql.store import SqlStore
from tests.live.database import schema_of_its_own
from tests.spark import appliers
from tests.spark.appliers import Task
from tests.spark.formats import on_delta, on_iceberg
from tests.spark.ten_steps import planned, prepared, versions
from tests.support.chain import TARGETS
from tests.support.checkout import PROOF

pytestmark = pytest.mark.spark
RACES = 50 if PROOF else 3
FORMATS = ("iceberg", "delta") if PROOF else ("iceberg",)
"""In a small run the appliers race on the format whose statements are cheap: they are the same on both."""
BASE = "id INT NOT NULL ID 1"
KEY = "PRIMARY KEY (id)"
MEDDLING = [(format, before) for format in FORMATS for before in (True, False)]
RACING = [(format, kept_in) for format in FORMATS for kept_in in ("file", "server")]


@pytest.mark.parametrize(("format", "kept_in"), RACING)
def test_of_two_appliers_one_wins_and_the_other_exits_4(
    request: pytest.FixtureRequest, spark, warehouse: Path, tmp_path: Path, format: str, kept_in: str,
    figure: Callable[[str, object], None],
) -> None:  # fmt: skip
    executor, driver = SparkExecutor(spark), appliers.driver_of(spark)
    ends: Counter[str] = Counter()
    url = f"sqlite:///{tmp_path}/store.db"
    if kept_in == "server":
        url = schema_of_its_own(request.getfixturevalue("database"))
    races = RACES if kept_in == "file" else max(1, RACES // 5)
    name = f"raced_{kept_in}"
    table = str(warehouse / f"{name}_{format}") if format == "delta" else f"ice.ten.{name}"
    columns = BASE
    with SqlStore.open(url, create=True) as store:
        first = planned(executor, tmp_path, format, table, versions(f"{columns}, {KEY}")[0])
        apply(first.plan, executor, StoreJournal(store), store.now_ms, run="made", store=store.id)
    for race in range(races):
        # Two plans for one table, or one plan twice.
        wishes = [f"{columns}, x{race} INT ID {race + 10}", f"{columns}, y{race} INT ID {race + 10}"]
        if race % 3 == 2:
            wishes[1] = wishes[0]
        plans = [
            planned(executor, tmp_path, format, table, versions(f"{columns}, {KEY}", f"{wish}, {KEY}")[1])
            for wish in wishes
        ]
        together = appliers.barrier(2)
        told = [tmp_path / f"told{n}.json" for n in range(2)]
        tasks = [Task(url, str(p.file), str(told[n]), run=f"race{race}-{n}") for n, p in enumerate(plans)]
        codes = [appliers.ended(p) for p in [appliers.start(driver, task, together) for task in tasks]]
        live, ended = executor.inspect(table, format), appliers.outcomes(told)
        assert live is not None
        assert 0 in codes, ended
        assert set(codes) <= {0, 4}, ended
        winner = codes.index(0)
        assert fingerprint_structure(live.schema) == fingerprint_structure(plans[winner].plan.wanted), ended
        if codes == [0, 0]:
            # The one who came late found the work of the other done.
            assert sorted(end["state"] for end in ended) == ["applied", "unchanged"]
            assert plans[0].plan == plans[1].plan
        ends["the late one found all done" if codes == [0, 0] else "one won, one exited 4"] += 1
        columns = wishes[winner]
    figure(f"races of two appliers, {format}, store in a {kept_in}", f"{races}: {dict(ends)}")


@on_delta
def test_a_foreign_change_between_plan_and_apply_makes_the_plan_stale(
    spark, warehouse: Path, tmp_path: Path, format: str
) -> None:
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        table = prepared(executor, store, warehouse, tmp_path, format, f"foreign_{format}")
        executor.run(f"ALTER TABLE {table.name} ADD COLUMNS (mine INT)")
        with pytest.raises(StalePlan, match="add `mine`"):
            apply(table.plan, executor, StoreJournal(store), store.now_ms, run="r", store=store.id)
        live = executor.inspect(table.table, format)
        assert live is not None
        assert live.schema.names == ("id", "a", "b", "c", "e", "n", "s", "mine")


class _Meddled(SparkExecutor):
    """Another writer adds a column right behind a statement, or right before one."""

    def __init__(self, spark, name: str, number: int, before: bool) -> None:
        super().__init__(spark)
        self.name, self.left, self.before = name, number, before

    def run(self, statement: str) -> None:
        self.left -= 1
        if self.left == 0 and self.before:
            super().run(f"ALTER TABLE {self.name} ADD COLUMNS (mine INT)")
        super().run(statement)
        if self.left == 0 and not self.before:
            super().run(f"ALTER TABLE {self.name} ADD COLUMNS (mine INT)")


@pytest.mark.parametrize(("format", "before"), MEDDLING)
def test_a_foreign_change_between_two_steps_is_found_by_the_next_look(
    spark, warehouse: Path, tmp_path: Path, format: str, before: bool
) -> None:
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        table = prepared(executor, store, warehouse, tmp_path, format, f"between_{format}_{before}")
        meddled = _Meddled(spark, table.name, 4, before)
        with pytest.raises(PartlyApplied, match=r"step [34] of 10"):
            apply(table.plan, meddled, StoreJournal(store), store.now_ms, run="r", store=store.id)
        live = executor.inspect(table.table, format)
        assert live is not None
        assert "mine" in live.schema.names
        # The run stopped between two names of a column, and the foreign column is none of the plan.
        done = apply(table.plan, executor, StoreJournal(store), store.now_ms, run="r", store=store.id)
        assert done.state == "applied"
        assert done.lake_table is not None
        assert {"mine", *table.plan.wanted.names} == set(done.lake_table.schema.names)


@on_iceberg
def test_without_a_common_store_the_marks_on_the_table_tell_who_came_last(
    spark, warehouse: Path, tmp_path: Path, format: str
) -> None:
    """Two stores that share an id, as after a copy, know nothing of each other's leases."""
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path}/one.db", create=True) as store:
        table = prepared(executor, store, warehouse, tmp_path, format, f"copied_{format}")
        reached, go_on = threading.Event(), threading.Event()

        class Slow(SparkExecutor):
            def run(self, statement: str) -> None:
                super().run(statement)
                if "schemaman.fence" in statement:
                    reached.set()
                    go_on.wait(60)

        lost: list[Exception] = []

        def first() -> None:
            try:
                apply(table.plan, Slow(spark), StoreJournal(store), store.now_ms, run="a", store=store.id)
            except Locked as error:
                lost.append(error)

        thread = threading.Thread(target=first)
        thread.start()
        assert reached.wait(120)
        with SqlStore.open(f"sqlite:///{tmp_path}/other.db", create=True) as other:
            done = apply(table.plan, executor, StoreJournal(other), other.now_ms, run="b", store=store.id)
        go_on.set()
        thread.join(120)
        assert done.differences == ()
        assert [type(error) for error in lost] == [Locked]
        assert TARGETS[format].name == format
