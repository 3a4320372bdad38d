"""What stands against moving a lake table beside its structure, asked alike by commands and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemaman.errors import StatementFailed
from schemaman.history.versions import TableHistory
from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable
from schemaman.migration.targets import delta, iceberg
from schemaman.registry import Registry
from schemaman.sink.preflight import Preflight, refuse_unconfirmed_key
from schemaman.sink.values.connector_modes import UNKNOWN_MODES, ConnectorModes
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_late_schema_changes import FALSIFIED, live, mirror
from tests.streaming.test_policy import DEFAULTS
from tests.support.checkout import CAPTURES
from tests.support.command_line import place
from tests.support.memory_commands import Commands, commands
from tests.support.memory_lake import Crash, MemoryLake, MemoryTable
from tests.support.memory_sink import MemorySink
from tests.support.report_example import history as shop

__all__ = ["commands", "place"]


ORDERS = (("id", "INT"), ("price", "INT"))


@pytest.fixture
def run(commands: Commands) -> Commands:
    commands.learns(commands.table(ORDERS, type="CREATE"))
    return commands


def planned(run: Commands, *words: str) -> Any:
    found = run("plan", "orders", "-o", "p.plan.json", "--format", "json", *words)
    assert found.code == 0, found
    return found.json


def drop(run: Commands, table: str = "ice.raw.orders") -> None:
    run.lake.tables.pop(table)


# A table that is there no more.


def test_a_table_that_was_dropped_is_made_anew_on_a_persons_word_as_often_as_need_be(run: Commands) -> None:
    hashes = [planned(run)["hash"]]
    assert run("apply", "p.plan.json").code == 0
    for _ in range(2):
        Path("old.plan.json").write_text(Path("p.plan.json").read_text())
        drop(run)
        assert run("apply", "old.plan.json").code == 4
        told = planned(run)
        (needed,) = told["approvals_needed"]
        assert "ice.raw.orders no longer exists, but this store has migrated it before" in needed
        assert run("apply", "p.plan.json").code == 1
        assert run.applied("p.plan.json").code == 0
        assert run.live().schema.names == ("id", "price")
        hashes.append(told["hash"])
    assert len(set(hashes)) == 3


def test_sync_makes_no_table_anew_that_is_gone_until_a_person_says_so(run: Commands) -> None:
    assert run("sync", "r.jsonl", "--once").code == 0
    drop(run)
    for _ in range(2):
        waits = run("sync", "r.jsonl", "--once", "--format", "json")
        assert (waits.code, waits.json["tables"][0]["state"]) == (1, "waiting")
        assert run.lake.table("ice.raw.orders").live is None
    assert run("approve", "plans/raw.ice.raw.orders.plan.json", "--yes").code == 0
    assert run("sync", "r.jsonl", "--once").code == 0
    assert run.live().schema.names == ("id", "price")


def test_a_table_that_is_lost_while_it_is_made_is_not_silently_begun_again(run: Commands) -> None:
    planned(run)

    def die(statement: str) -> None:
        if "SET IDENTIFIER FIELDS" in statement:
            raise Crash

    run.lake.before = die
    with pytest.raises(Crash):
        run("apply", "p.plan.json")
    run.lake.before = lambda _: None
    drop(run)
    assert run("apply", "p.plan.json").code == 4
    assert len(planned(run)["approvals_needed"]) == 1
    assert run.applied("p.plan.json").code == 0


def test_a_table_that_could_not_be_made_never_was(run: Commands) -> None:
    def fail(statement: str) -> None:
        if statement.startswith("CREATE TABLE"):
            raise StatementFailed("no permission")

    first = planned(run)
    run.lake.before = fail
    assert run("apply", "p.plan.json").code == 5
    run.lake.before = lambda _: None
    assert planned(run) == first
    assert run("apply", "p.plan.json").code == 0


def test_a_new_table_beside_a_live_one_is_made_anew_alike(run: Commands) -> None:
    assert run.moved().code == 0
    run.learns(run.table((("id", "INT"), ("price", "VARCHAR"))))
    into = ("--recipe", "--into", "ice.raw.next", "--format", "json")
    first, fill = run("plan", "orders", *into, "-o", "next/").json["plans"]
    assert first["approvals_needed"] == []
    made = "next/raw.ice.raw.next.1-expand.plan.json"
    assert run("apply", made).code == 0
    drop(run, "ice.raw.next")
    again, fill_again = run("plan", "orders", *into, "-o", "next/").json["plans"]
    assert "ice.raw.next no longer exists" in again["approvals_needed"][0]
    assert fill["phase"]["follows"] == first["hash"]
    assert fill_again["phase"]["follows"] == again["hash"] != first["hash"]
    assert run.applied(made).code == 0


# A source table that has another name now.


def renamed(run: Commands) -> None:
    told = run.table(ORDERS, name="orders2", ddl="RENAME TABLE orders TO orders2")
    changes: Any = told["tableChanges"]
    changes[0]["previousId"] = '"app"."orders"'
    run.learns(told)


def test_no_empty_table_is_made_unasked_beside_the_rows_of_one_that_was_renamed(run: Commands) -> None:
    assert run.moved().code == 0
    renamed(run)
    plan = run("plan", "orders2", "-o", "p.plan.json", "--format", "json")
    (needed,) = plan.json["approvals_needed"]
    assert (
        "the source renamed srv.app.orders to srv.app.orders2, and its rows are in ice.raw.orders" in needed
    )
    assert "rename that table to ice.raw.orders2" in needed
    waits = run("sync", "r.jsonl", "--once", "--format", "json")
    assert [t["state"] for t in waits.json["tables"]] == ["waiting"]
    assert run.lake.table("ice.raw.orders2").live is None
    assert run.applied("p.plan.json").code == 0
    assert run.live("ice.raw.orders2").schema.names == ("id", "price")


# A key that nobody has confirmed.


def another_key(*, confirmed: bool) -> TableHistory:
    found = shop()
    last = found.versions[-1]
    (*before, revision) = last.revisions
    revision = replace(revision, schema=replace(revision.schema, key=("memo",)))
    unsure = () if confirmed else ("key",)
    newest = replace(last, revisions=(*before, revision), candidates=(), unconfirmed=unsure)
    return replace(found, versions=(*found.versions[:-1], newest))


def looked(
    store: SqlStore, lake: MemoryTable | MemoryLake, modes: ConnectorModes = UNKNOWN_MODES
) -> Preflight:
    registry = Registry(store, lambda: 0)

    def lines(target: str) -> Sequence[MigrationEntry]:
        return registry.journal(target=target)

    return Preflight(store, registry, lines, lake, modes)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with SqlStore.open(f"sqlite:///{tmp_path / 'objections.db'}", create=True) as made:
        yield made


@pytest.mark.parametrize("confirmed", [False, True])
def test_no_rows_are_told_apart_by_a_key_that_nobody_has_confirmed(store: SqlStore, confirmed: bool) -> None:
    found, lake = another_key(confirmed=confirmed), MemoryTable("ice.raw.orders")
    made = make_plan(migration_source(found), None, iceberg.TARGET, lake.table, Policy())
    heeded = looked(store, lake).check_plan(made, None, found)
    if confirmed:
        assert heeded == made
        return
    assert (heeded.steps, heeded.approvals_needed, heeded.point_of_no_return) == ((), (), None)
    assert "it is not confirmed that its key is now (memo)" in heeded.refusals[0].reason
    assert "schemaman decide confirm" in heeded.refusals[0].instead
    # nor is a table that nobody made given that key; one that has a key keeps it, and goes on
    for key, refused in ((("id",), False), ((), True)):
        live = LakeTable(
            lake.table, replace(made.wanted, columns=made.wanted.columns[:2], key=key), "id", "1"
        )
        ordinary = make_plan(migration_source(found), live, iceberg.TARGET, lake.table, Policy())
        assert ordinary.steps
        assert (looked(store, lake).check_plan(ordinary, live, found).steps == ()) == refused


def test_a_key_that_never_was_another_one_needs_no_word() -> None:
    found = another_key(confirmed=False)
    alone = replace(found, versions=found.versions[-1:])
    assert refuse_unconfirmed_key(alone) is None
    assert refuse_unconfirmed_key(found) is not None


def test_a_way_back_heeds_what_people_have_answered(run: Commands) -> None:
    settings = Path("schemaman.toml")
    settings.write_text(settings.read_text().replace("app.*", "inventory.*"))
    assert run("ingest", CAPTURES / "postgres/shop-downtime/records.ndjson.gz").code == 0
    assert run("plan", "carriers@1", "-o", "p.plan.json").code == 0
    assert run("apply", "p.plan.json").code == 0
    made = run.live("ice.raw.carriers")
    others = {n: v for n, v in made.properties.items() if n not in ("schemaman.key", "identifier-fields")}
    id = replace(made.schema.columns[0], nullable=True)
    bare = replace(made.schema, columns=(id,), key=())  # somebody else has taken key and column away
    run.lake.table("ice.raw.carriers").live = replace(made, schema=bare, identifiers=(), properties=others)
    unsure = run("plan", "carriers")
    assert (unsure.code, "it is not confirmed that its key is now ()" in unsure.out) == (1, True)
    assert run("decide", "confirm", "carriers", "key").code == 0
    assert run("plan", "carriers", "-o", "q.plan.json").code == 0

    def fault(statement: str) -> None:
        if "schemaman.key" in statement:
            raise Crash

    run.lake.before = fault
    with pytest.raises(Crash):
        run("apply", "q.plan.json")
    back = run("plan", "--rollback", "q.plan.json", "--format", "json").json
    assert (back["refusals"], [each["kind"] for each in back["steps"]]) == ([], ["drop-columns"])


# Rows that were read as what they are not.


def by_command(store: SqlStore, lake: MemorySink) -> tuple[Plan, Plan, MemoryLake]:
    """The plan for the only table, and what a command makes of it, which knows no modes of a connector."""
    ((name, table),) = lake.tables.items()
    history = store.history(lake.sources[name])
    assert history is not None
    catalog = MemoryLake(lake.tables)
    made = make_plan(migration_source(history), table.live, delta.TARGET, name, Policy())
    return made, looked(store, catalog).check_plan(made, table.live, history), catalog


def test_no_command_plans_over_rows_that_were_read_as_what_they_are_not(
    run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (*ORDERS, ("cost", "INT"))
    run.learns(run.table(told))
    assert run.moved().code == 0
    with SqlStore.open("sqlite:///schemaman.db") as store:
        read = {"store": store.id, "table": "srv.app.orders", "reading": "of before", "said": "2"}
    run.change("ADD COLUMNS (`_row_order` STRING)")
    run.change(f"SET TBLPROPERTIES ('schemaman.read' = '{json.dumps(read)}')")
    ddl = "alter table orders rename column price to cost, rename column cost to price"
    run.learns(run.table((("id", "INT"), ("cost", "INT"), ("price", "INT")), ddl=ddl))
    before = run.live()
    rows: list[tuple[object, ...]] = [(0, 1, 7)]

    def answer(query: str) -> tuple[tuple[object, ...], ...]:
        return tuple(rows) if query.startswith("SELECT") else (("x", "hive"),)

    monkeypatch.setattr(run.lake, "query", answer)
    for refused in (True, False):
        for words in (("orders",), ("orders", "--recipe", "--into", "ice.raw.next")):
            said = run("plan", *words, "--format", "json").json
            reasons = [r["reason"] for plan in said.get("plans", [said]) for r in plan["refusals"]]
            assert any("1 of its rows were written before an earlier change" in r for r in reasons) == refused
        if refused:
            synced = run("sync", "r.jsonl", "--once", "--format", "json")
            assert (synced.code, synced.json["tables"][0]["state"]) == (1, "refused")
            assert run("apply", "--partial", "plans/raw.ice.raw.orders.plan.json").code == 1
            assert run.live().schema == before.schema
            rows.clear()


@pytest.mark.parametrize("case", [c for c in FALSIFIED if "exchanged" in c])
def test_what_a_stream_has_stopped_is_not_renamed_by_a_command(store: SqlStore, case: str) -> None:
    (first, changes, (early, later)), why = FALSIFIED[case]
    lake = mirror(store)
    for batch in (first, [early], [*changes, later]):
        lake.take(batch)
    before = live(lake)
    made, heeded, catalog = by_command(store, lake)
    assert [s.kind for s in made.steps].count("rename-column") == 3
    assert (heeded.steps, heeded.wanted) == ((), made.base_schema)
    (refusal,) = heeded.refusals
    assert why in refusal.reason
    assert "DELETE FROM" in refusal.instead
    (withheld,) = lake.withheld().values()
    assert refusal.reason in withheld
    done = apply(heeded, catalog, StoreJournal(store), lambda: 0, run="r", partial=True, store=store.id)
    assert (done.outcomes, live(lake)) == ((), before)


def test_a_command_reads_plain_values_by_the_modes_that_the_table_bears(store: SqlStore) -> None:
    """Milliseconds that were read as microseconds: only who knows the mode can tell."""
    (first, changes, (early, later)), why = FALSIFIED["microseconds, then milliseconds"]
    assert DEFAULTS.time is not None
    lake = mirror(store)
    for batch in (first, [early], [*changes, later]):
        lake.take(batch)
    ((name, table),) = lake.tables.items()
    assert table.live is not None
    history = store.history(lake.sources[name])
    assert history is not None
    found = looked(store, MemoryLake(lake.tables)).find_stale_rows(history, table.live, "delta")
    assert found is not None
    assert why in found.reason
