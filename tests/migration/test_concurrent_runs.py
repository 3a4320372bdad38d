"""Two runs about one table: one wins, the other stops and says so, whatever their clocks and leases say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.errors import Locked, OtherStore, PartlyApplied, SchemamanError, Stale, StalePlan
from schemaman.migration.apply.apply import LEASE_MS, Migration, apply, check
from schemaman.migration.apply.journal import StoreJournal, count_progress, target_id
from schemaman.migration.apply.lease import TargetLease
from schemaman.migration.conditions import fingerprint_structure
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import plan_hash
from schemaman.migration.planner import make_plan
from schemaman.migration.properties.names import FENCE_PROPERTY, PLAN_PROPERTY, STORE_PROPERTY
from schemaman.migration.target import LakeTable
from schemaman.migration.targets import delta
from schemaman.model.column_list import parse_columns
from schemaman.store.log import MigrationEntry
from schemaman.store.memory import MemoryStore
from schemaman.store.sql.store import SqlStore
from tests.live.database import schema_of_its_own
from tests.support.memory_lake import MemoryTable

TABLE = "/lake/t"
FIRST = "id INT NOT NULL, a INT, PRIMARY KEY (id)"
LATER = "id BIGINT NOT NULL, a INT COMMENT 'x', b DATE, PRIMARY KEY (id)"
OTHER = "id INT NOT NULL, a INT, c STRING, PRIMARY KEY (id)"
TARGET = target_id("delta", TABLE)

Store = MemoryStore | SqlStore


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    postgresql = request.param == "postgresql"
    url = schema_of_its_own(request.getfixturevalue("database")) if postgresql else f"{tmp_path}/s.db"
    with SqlStore.open(url, create=True) as opened:
        yield opened


def draw(ddl: str, lake: MemoryTable) -> Plan:
    source = MigrationSource("shop.public.t", 1, "v1", 0, parse_columns(ddl))
    return make_plan(source, lake.live, delta.TARGET, TABLE, Policy())


def run(plan: Plan, lake: MemoryTable, store: Store, name: str, now: int = 1000, **how: Any) -> Migration:
    told: dict[str, Any] = {"leases": store, "store": store.id, "owner": f"{name}@host (1)", "approved": True}
    return apply(plan, lake, StoreJournal(store), lambda: now, run=name, **(told | how))


def made(store: Store) -> MemoryTable:
    lake = MemoryTable(TABLE)
    run(draw(FIRST, lake), lake, store, "made")
    lake.ran.clear()
    return lake


def lines(store: Store, plan: Plan) -> list[MigrationEntry]:
    return list(StoreJournal(store).read_plan_lines(plan_hash(plan)))


def steps_of(lake: MemoryTable, plan: Plan) -> list[str]:
    """The statements of a plan that ran, in order."""
    return [s for s in lake.ran if s in {step.statement for step in plan.steps}]


@contextmanager
def at_statement(lake: MemoryTable, number: int, side: str, meddle: Callable[[], None]) -> Iterator[None]:
    """Once, before or after the statement of that number, somebody else does something."""
    left = [number]

    def hook(_: str) -> None:
        left[0] -= 1
        if left[0] == -1:
            meddle()

    setattr(lake, side, hook)
    yield
    lake.before = lake.after = lambda _: None


def test_the_table_says_whose_it_is_and_which_plan_was_begun(store: Store) -> None:
    lake = made(store)
    plan = draw(LATER, lake)
    before = lake.live.properties  # type: ignore[union-attr]
    assert run(plan, lake, store, "r1").state == "applied"
    assert lake.live is not None
    told = lake.live.properties
    assert (told[STORE_PROPERTY], told[PLAN_PROPERTY]) == (store.id, plan_hash(plan))
    assert _number(told) > _number(before)
    assert lake.ran[0].startswith("ALTER TABLE `delta`.`/lake/t` SET TBLPROPERTIES ('schemaman.fence' = ")
    assert len(lake.ran) == len(plan.steps) + 1
    ran = len(lake.ran)
    assert run(plan, lake, store, "r2").state == "unchanged"
    assert len(lake.ran) == ran
    assert draw(LATER, lake).steps == ()


def _number(properties: Mapping[str, str]) -> int:
    """The number of the run that a table bears."""
    return int(properties[FENCE_PROPERTY].partition(" ")[0])


def test_a_table_of_another_store_is_left_alone_unless_it_is_taken_over(store: Store) -> None:
    lake = made(MemoryStore())
    plan = draw(LATER, lake)
    with pytest.raises(OtherStore, match="belongs to the store") as caught:
        run(plan, lake, store, "r1")
    assert "--take-over" in (caught.value.hint or "")
    with pytest.raises(OtherStore):
        check(plan, lake, StoreJournal(store), lambda: 1000, store=store.id)
    assert lake.ran == []
    assert run(plan, lake, store, "r2", take_over=True).differences == ()
    assert lake.live.properties[STORE_PROPERTY] == store.id  # type: ignore[union-attr]


class CountedTable(MemoryTable):
    """A table that counts the calls of its engine."""

    def __init__(self, table: str, calls: list[str]) -> None:
        super().__init__(table)
        self.calls = calls

    def inspect(self, table: str, format: str) -> LakeTable | None:
        self.calls.append("inspect")
        return super().inspect(table, format)

    def run(self, statement: str) -> None:
        self.calls.append("run")
        super().run(statement)


def draw_version(number: int, ddl: str, lake: MemoryTable, table: str = TABLE) -> Plan:
    """A plan that ends with the stamp of a version."""
    source = MigrationSource("shop.public.t", number, f"v{number}", 0, parse_columns(ddl))
    live = None if lake.live is None else replace(lake.live, name=table)
    return make_plan(source, live, delta.TARGET, table, Policy())


def test_a_table_costs_at_most_four_calls_of_its_engine(store: Store) -> None:
    calls: list[str] = []
    lake = CountedTable(TABLE, calls)
    assert run(draw_version(1, FIRST, lake), lake, store, "r1").state == "applied"
    assert calls == ["inspect", "run", "inspect"]
    assert lake.live is not None
    assert lake.live.properties[STORE_PROPERTY] == store.id
    calls.clear()
    plan = draw_version(2, OTHER, lake)
    assert [step.kind for step in plan.steps] == ["add-columns", "set-properties"]
    assert run(plan, lake, store, "r2").state == "applied"
    assert calls == ["inspect", "run", "run", "inspect"]
    assert lake.live.properties[PLAN_PROPERTY] == plan_hash(plan)
    states = [(line.step, line.state) for line in lines(store, plan)]
    assert states == [
        (None, "started"), (0, "intent"), (1, "intent"), (0, "done"), (None, "claimed"), (1, "done"),
        (None, "finished"),
    ]  # fmt: skip
    calls.clear()
    assert run(plan, lake, store, "r3").state == "unchanged"
    assert calls == ["inspect"]


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("table", [TABLE, "lake.t"])
def test_a_mark_in_the_last_step_leaves_one_winner(number: int, side: str, table: str) -> None:
    store = MemoryStore()
    lake = made(store)
    plan, other = draw_version(2, OTHER, lake), draw_version(2, OTHER, lake, table)
    came: list[Migration | SchemamanError] = []

    def go(plan: Plan, name: str, now: int) -> None:
        try:
            came.append(run(plan, lake, store, name, now=now))
        except SchemamanError as error:
            came.append(error)

    with at_statement(lake, number, side, lambda: go(other, "rival", 1001 + LEASE_MS)):
        go(plan, "first", 1000)
    winners = [m for m in came if isinstance(m, Migration)]
    assert (len(came), len(winners)) == (2, 1)
    assert all(isinstance(e, Stale | PartlyApplied) for e in came if e not in winners)
    assert lake.live is not None
    assert fingerprint_structure(lake.live.schema) == fingerprint_structure(plan.wanted)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("skew_ms", [-3_600_000, 0, 3_600_000])
def test_who_was_taken_for_dead_does_not_go_on(number: int, side: str, skew_ms: int) -> None:
    store = MemoryStore()
    lake = made(store)
    plan = draw(LATER, lake)
    assert len(plan.steps) == 3
    came: list[Migration | SchemamanError] = []

    def rival() -> None:
        try:
            came.append(run(plan, lake, store, "rival", now=1000 + skew_ms))
        except SchemamanError as error:
            came.append(error)

    with at_statement(lake, number, side, rival):
        try:
            came.append(run(plan, lake, store, "first"))
        except SchemamanError as error:
            came.append(error)
    winners = [m for m in came if isinstance(m, Migration)]
    losers = [e for e in came if isinstance(e, SchemamanError)]
    assert len(winners) == len(losers) == 1
    assert isinstance(losers[0], Locked)
    assert winners[0].run == ("rival" if skew_ms > LEASE_MS else "first")
    assert fingerprint_structure(lake.live.schema) == fingerprint_structure(plan.wanted)  # type: ignore[union-attr]
    assert winners[0].differences == ()
    # A statement that was on its way when its sender was replaced may run beside that of the other.
    assert set(steps_of(lake, plan)) == {step.statement for step in plan.steps}
    assert count_progress(lines(store, plan)) == (3, 3)


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("number", range(4))
def test_two_names_of_one_table_have_two_leases_and_still_one_winner(number: int, side: str) -> None:
    store = MemoryStore()
    lake = made(store)
    source = MigrationSource("shop.public.t", 1, "v1", 0, parse_columns(LATER))
    assert lake.live is not None
    plan, other = (
        make_plan(source, replace(lake.live, name=name), delta.TARGET, name, Policy())
        for name in (TABLE, "lake.t")
    )
    assert target_id("delta", other.table) != TARGET
    came: list[Migration | SchemamanError] = []

    def go(plan: Plan, name: str) -> None:
        try:
            came.append(run(plan, lake, store, name))
        except SchemamanError as error:
            came.append(error)

    with at_statement(lake, number, side, lambda: go(other, "rival")):
        go(plan, "first")
    assert len(came) == 2
    winners = [m for m in came if isinstance(m, Migration)]
    assert len(winners) <= 1
    assert all(isinstance(e, Stale | PartlyApplied) for e in came if e not in winners)
    if not winners:
        # each has found the other; whoever comes next finds the table where they left it
        assert run(draw(LATER, lake), lake, store, "next").differences == ()
    assert fingerprint_structure(lake.live.schema) == fingerprint_structure(plan.wanted)


@given(data=st.data())
def test_of_two_plans_one_wins_and_the_other_is_told(data: st.DataObject) -> None:
    store = MemoryStore()
    lake = made(store)
    one, other = draw(LATER, lake), draw(OTHER, lake)
    came: dict[str, Migration | SchemamanError] = {}

    def go(name: str, plan: Plan, skew_ms: int = 0) -> None:
        try:
            came[name] = run(plan, lake, store, name, now=1000 + skew_ms)
        except SchemamanError as error:
            came[name] = error

    number = data.draw(st.integers(0, 4), label="statement")
    skew_ms = data.draw(st.sampled_from([-LEASE_MS, 0, LEASE_MS, LEASE_MS + 1]), label="skew")
    side = data.draw(st.sampled_from(["before", "after"]), label="side")
    with at_statement(lake, number, side, lambda: go("rival", other, skew_ms)):
        go("first", one)
    if "rival" not in came:
        go("rival", other)
    wins = [name for name, end in came.items() if isinstance(end, Migration) and not end.differences]
    assert len(wins) <= 1
    for end in came.values():
        assert isinstance(end, Migration | Stale | PartlyApplied)
    if wins:
        wanted = one if wins == ["first"] else other
        assert lake.live is not None
        if fingerprint_structure(lake.live.schema) != fingerprint_structure(wanted.wanted):
            # No lake runs a statement on a condition: one that was on its way comes through.
            lost = came["first"]
            assert isinstance(lost, Locked)
            assert "run `schemaman drift`" in lost.message
            sent = next(s for s in reversed(lake.ran) if s in {step.statement for step in one.steps})
            assert lake.ran.index(sent) > lake.ran.index(other.steps[-1].statement)


def test_a_lease_is_kept_while_a_statement_takes_long(store: Store) -> None:
    lake = made(store)
    plan = draw(LATER, lake)
    ticks = [0]
    pause = threading.Event()

    def slow(statement: str) -> None:
        lake.before = lambda _: None
        for _ in range(5):
            ticks[0] += 100
            while store.leases()[0].expires_ms < ticks[0] + 120:
                pause.wait(0.01)
            with pytest.raises(Locked):
                store.acquire(TARGET, "other@host (2)", ticks[0], 60)

    lake.before = slow
    told: list[str] = []
    done = apply(
        plan, lake, StoreJournal(store), lambda: ticks[0], run="r", leases=store, store=store.id,
        lease_ms=120, report=lambda now: told.append(f"{now.done} of {now.steps}: {now.activity}"),
    )  # fmt: skip
    assert done.differences == ()
    assert ticks == [500]
    assert told.count("0 of 3: change-type") > 1
    assert {"1 of 3: change-comment", "2 of 3: add-columns"} <= set(told)
    assert store.leases() == ()


def test_a_lease_that_was_lost_is_noticed_before_the_next_statement(store: Store) -> None:
    with TargetLease(store, TARGET, "me@host (1)", lambda: 0, ttl_ms=30) as tenure:
        tenure.require_held()
        (lease,) = store.leases()
        assert (lease.target, lease.owner) == (TARGET, "me@host (1)")
        store.release(TARGET, lease.token)
        threading.Event().wait(0.1)
        with pytest.raises(Locked, match="has expired"):
            tenure.require_held()


def test_a_listener_that_fails_does_not_cost_the_lease(store: Store) -> None:
    def fail() -> None:
        raise OSError("nobody listens")

    now = [0]
    with TargetLease(store, TARGET, "me@host (1)", lambda: now[0], ttl_ms=30, tick=fail):
        now[0] = 20
        threading.Event().wait(0.5)
        assert [lease.expires_ms for lease in store.leases()] == [50]


def test_the_stores_own_clock_serves_all(store: Store) -> None:
    if isinstance(store, SqlStore):
        first, second = store.now_ms(), store.now_ms()
        assert 0 <= second - first < 60_000


def test_a_dry_run_checks_everything_and_does_nothing(store: Store) -> None:
    lake = made(store)
    plan, live, end = draw(LATER, lake), lake.live, store.end()

    def looked(plan: Plan = plan, now: int = 1000, **how: Any) -> Migration:
        journal = StoreJournal(store)
        return check(plan, lake, journal, lambda: now, leases=store, store=store.id, **how)

    done = looked()
    assert done.state == "checked"
    assert [o.state for o in done.outcomes] == ["pending"] * 3
    assert "schemaman.store" in done.notes[0]
    assert looked(replace(plan, approvals_needed=("drop",))).state == "refused"
    with pytest.raises(StalePlan):
        looked(replace(plan, expires_ms=999))
    token = store.acquire(TARGET, "other@host (2)", 1000, 60)
    with pytest.raises(Locked):
        looked()
    assert looked(now=1060).state == "checked"
    store.release(TARGET, token)
    lake.run(f"ALTER TABLE {delta.TARGET.table_name(TABLE)} ADD COLUMNS (`z` INT)")
    with pytest.raises(StalePlan):
        looked()
    lake.live = live
    assert (lake.ran.pop(), lake.ran, store.end()) == (
        "ALTER TABLE `delta`.`/lake/t` ADD COLUMNS (`z` INT)", [], end,
    )  # fmt: skip


def test_what_someone_else_did_before_is_told_and_marked(store: Store) -> None:
    lake = made(store)
    lake.run(f"ALTER TABLE {delta.TARGET.table_name(TABLE)} ADD COLUMNS (`z` INT)")
    plan = draw(LATER, lake)
    done = run(plan, lake, store, "r1")
    assert [c.path for c in done.foreign if hasattr(c, "path")] == [("z",)]
    marks = [line.statement for line in lines(store, plan) if line.state == "drifted"]
    assert marks == ["add `z` INT"]
    assert run(plan, lake, store, "r2").foreign == ()


def test_a_key_that_someone_else_changed_makes_a_plan_stale(store: Store) -> None:
    lake = made(store)
    plan = draw(LATER, lake)
    assert lake.live is not None
    lake.live = replace(lake.live, schema=replace(lake.live.schema, key=()))
    with pytest.raises(StalePlan):
        run(plan, lake, store, "r1")


def test_what_fails_in_a_rehearsal_is_not_done(store: Store) -> None:
    lake = made(store)
    plan, tried = draw(LATER, lake), list[Plan]()

    def refuse(rest: Plan) -> None:
        tried.append(rest)
        raise StalePlan("not on the clone either")

    with pytest.raises(StalePlan, match="clone"):
        run(plan, lake, store, "r1", rehearse=refuse)
    assert (lake.ran, lines(store, plan)) == ([], [])
    assert tried[0].steps == plan.steps
    assert run(plan, lake, store, "r2", rehearse=tried.append).state == "applied"
