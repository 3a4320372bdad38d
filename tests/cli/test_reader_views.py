"""Views for readers, by `sync` over a lake in memory: made, replaced and taken back by plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemaman.errors import StatementFailed
from schemaman.migration.policy import Policy
from schemaman.store.sql.store import SqlStore
from tests.streaming.conftest import store
from tests.streaming.test_autopilot import told
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run
from tests.support.memory_sink import MemorySink

__all__ = ["run", "store"]

VIEW = "`ice`.`pub`.`orders`"
TARGET = """
profile = "autopilot"
[[target]]
name = "raw"
format = "iceberg"
tables = "app.*"
table = "ice.raw.{table}"
view = "ice.pub.{table}"
alias-old-names = "30d"
"""
NOW = (("id", "INT"), ("cost", "INT"))
WAS = (("id", "INT"), ("price", "INT"))


def synced(run: Commands, *columns: tuple[str, str], ddl: str = "", key: tuple[str, ...] = ("id",)) -> str:
    """What the view shows after a round of `sync`."""
    run.says(run.table(columns, ddl=ddl, key=key))
    done = run("sync", "r.jsonl", "--once")
    assert done.code == 0, done
    return run.lake.views.get(VIEW, "").partition(" AS SELECT ")[2]


def last_run(run: Commands) -> str:
    return str(run("digest", "--since", "1h", "--format", "json").json["runs"][-1]["run"])


@pytest.fixture(autouse=True)
def settings(run: Commands) -> None:
    Path("schemaman.toml").write_text(TARGET, encoding="utf-8")


def test_the_view_follows_renames_and_types_and_is_taken_back(run: Commands) -> None:
    assert synced(run, *WAS) == "`id`, `price` FROM `ice`.`raw`.`orders`"
    first = run.lake.views[VIEW]
    renamed = synced(
        run, ("id", "INT"), ("cost", "INT"), ddl="ALTER TABLE orders RENAME COLUMN price TO cost"
    )
    assert renamed == "`id`, `cost`, `cost` AS `price` FROM `ice`.`raw`.`orders`"
    back = run("plan", "--rollback", last_run(run), "-o", "back.plan.json")
    assert back.code == 0, back
    steps = json.loads(Path("back.plan.json").read_text())["steps"]
    assert [step["kind"] for step in steps][-1] == "replace-view"
    assert run.applied("back.plan.json").code == 0
    assert run.lake.views[VIEW] == first
    wide = synced(run, ("id", "BIGINT"), ("cost", "INT"))
    assert wide == renamed
    # A view keeps the types that it was made with: the same text is made again, with another mark.
    assert run.lake.views[VIEW] != first


def test_a_split_column_is_one_column(run: Commands) -> None:
    synced(run, *WAS)
    split = synced(run, ("id", "INT"), ("price", "VARCHAR"))
    assert split == (
        "`id`, coalesce(`price__2`, try_cast(`price` AS STRING)) AS `price` FROM `ice`.`raw`.`orders`"
    )
    assert run.live().schema.names == ("id", "price", "price__2")
    renamed = synced(
        run, ("id", "INT"), ("cost", "VARCHAR"), ddl="ALTER TABLE orders RENAME COLUMN price TO cost"
    )
    both = "coalesce(`cost`, try_cast(`price` AS STRING))"
    assert renamed == f"`id`, {both} AS `cost`, {both} AS `price` FROM `ice`.`raw`.`orders`"


def test_a_plan_with_refusals_replaces_the_view_with_the_steps_that_run(run: Commands) -> None:
    Path("schemaman.toml").write_text(TARGET.replace('profile = "autopilot"', ""), encoding="utf-8")
    synced(run, *WAS)
    run.says(run.table((("id", "INT"), ("price", "VARCHAR"), ("q", "INT"))))
    assert run("sync", "r.jsonl", "--once").code == 1
    assert "`q`" not in run.lake.views[VIEW]
    assert run("sync", "r.jsonl", "--once", "--partial").code == 1
    assert "`id`, `price`, `q` FROM" in run.lake.views[VIEW]


def test_a_view_that_others_made_is_never_replaced(run: Commands) -> None:
    run.lake.views[VIEW] = " AS SELECT 1"
    run.learns(run.table(WAS))
    planned = run("plan", "orders", "-o", "p.plan.json")
    assert "others made a table or view of this name" in " ".join(planned.out.split())
    assert synced(run, *WAS) == "1"
    del run.lake.views[VIEW]
    assert synced(run, *WAS).startswith("`id`")
    run.lake.views[VIEW] = " AS SELECT 2"
    assert synced(run, *WAS, ("q", "INT")) == "2"


def test_a_view_that_cannot_be_made_stops_nothing_and_is_told_once(run: Commands) -> None:
    tries: list[str] = []

    def refuse(statement: str) -> None:
        if " VIEW " in statement:
            tries.append(statement)
            raise StatementFailed("the catalogue has no views")

    run.lake.before = refuse
    run.says(run.table(WAS))
    told = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]
    assert (told["state"], told["reasons"]) == ("applied", [f"not made: {VIEW}: the catalogue has no views"])
    assert run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]["reasons"] == []
    assert len(tries) == 1
    assert synced(run, *WAS, ("q", "INT")) == ""
    assert run.live().schema.names == ("id", "price", "q")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('view = "ice.pub.orders"', "would be one for several tables"),
        ('view = "ice.raw.{table}"', "has the name of the table"),
        ('view = "/lake/{table}"', "no path has a view"),
        ('view = "ice.pub.{tabel}"', "may hold"),
        ('view = "ice.pub.{table}"\nalias-old-names = "a month"', "is a number of days"),
        ('views = "yes"', "views is true or false"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused(run: Commands, line: str, words: str) -> None:
    text = TARGET.replace('view = "ice.pub.{table}"\nalias-old-names = "30d"', line)
    Path("schemaman.toml").write_text(text, encoding="utf-8")
    done = run("plan")
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_a_view_has_a_name_of_its_own_without_one_in_the_settings(run: Commands) -> None:
    text = TARGET.replace('view = "ice.pub.{table}"\nalias-old-names = "30d"', "views = true")
    Path("schemaman.toml").write_text(text, encoding="utf-8")
    synced(run, *WAS)
    assert list(run.lake.views) == ["`ice`.`raw`.`orders_view`"]


def test_the_view_of_a_table_with_a_successor_keeps_its_rows_and_the_successor_has_its_own(
    store: SqlStore,
) -> None:
    autopilot = Policy(profile="autopilot")
    lake = MemorySink(store, lambda _: None, "iceberg", autopilot, lambda _: False, view="ice.pub.{table}")
    lake.take([told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})])
    first = dict(lake.views)
    lake.take([told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 4, "n": 8}, key=("n",))])
    assert {name: text for name, text in lake.views.items() if name in first} == first
    (successor,) = lake.views.keys() - first
    assert successor == "`ice`.`pub`.`t__2`"
    assert "FROM `ice`.`raw`.`shop.public.t__2` WHERE" in lake.views[successor]


def test_a_view_whose_name_is_that_of_a_table_is_not_made_and_makes_room(run: Commands) -> None:
    """The view was made before the table of its name was known."""
    text = TARGET.replace('view = "ice.pub.{table}"', 'view = "ice.raw.v_{table}"')
    Path("schemaman.toml").write_text(text, encoding="utf-8")
    view = "`ice`.`raw`.`v_orders`"
    synced(run, *WAS)
    assert list(run.lake.views) == [view]
    run.says(run.table(WAS, name="v_orders"))
    run("sync", "r.jsonl", "--once")
    done = run("sync", "r.jsonl", "--once")
    assert done.code == 0, done
    assert run.live("ice.raw.v_orders").schema.names == ("id", "price")
    assert list(run.lake.views) == ["`ice`.`raw`.`v_v_orders`"]
    planned = run("plan", "orders", "-o", "p.plan.json")
    words = f"the view {view} is not made: it would have the name of the lake table of srv.app.v_orders"
    assert words in " ".join(planned.out.split())


def test_a_table_that_no_target_leads_to_takes_no_name(run: Commands) -> None:
    text = TARGET.replace('view = "ice.pub.{table}"', 'view = "ice.raw.v_{table}"')
    Path("schemaman.toml").write_text(text, encoding="utf-8")
    run.learns(run.table(WAS, name="v_orders", database="other"))
    synced(run, *WAS)
    assert list(run.lake.views) == ["`ice`.`raw`.`v_orders`"]


def test_a_view_is_gone_before_a_name_that_it_reads_is_given_to_another_column(run: Commands) -> None:
    """Its text would be valid again, and show no value of the column that had the name."""
    synced(run, *WAS)
    before = run.lake.views[VIEW]
    meanwhile: list[tuple[str, ...]] = []

    def note(statement: str) -> None:
        if run.lake.views.get(VIEW) == before:
            meanwhile.append(run.live().schema.names)

    run.lake.after = note
    renamed = run.table(NOW, ddl="ALTER TABLE orders RENAME COLUMN price TO cost")
    run.learns(renamed, run.table((*NOW, ("price", "INT"))))
    assert run.moved().code == 0
    assert [names for names in meanwhile if "price" in names] == []
    assert run.live().schema.names == ("id", "cost", "price")
    assert run.lake.views[VIEW].endswith(" AS SELECT `id`, `cost`, `price` FROM `ice`.`raw`.`orders`")
    run.lake.after = lambda _: None
    back = run("plan", "--rollback", last_run(run), "-o", "back.plan.json")
    assert back.code == 0, back
    assert run.applied("back.plan.json").code == 0
    assert run.lake.views[VIEW] == before
