"""What commands tell of lake tables besides columns: a changed layout, names that case tells apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from schemaman.migration.target import LayoutField
from schemaman.report.json import schemas
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run

__all__ = ["run"]

WAS = (("id", "INT"), ("price", "INT"))
MORE = (*WAS, ("q", "INT"))


def lay_out(run: Commands) -> None:
    """Somebody else partitions the table and sets a property that matters to writers."""
    live = run.live()
    properties = {**live.properties, "write.spark.accept-any-schema": "true"}
    run.lake.table("ice.raw.orders").live = replace(
        live, partitions=(LayoutField(("price",), "bucket[4]"),), layout=("price",), properties=properties
    )


def test_drift_tells_of_the_layout_and_exits_as_for_columns(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"))
    assert run.moved().code == 0
    assert run("drift").code == 0
    lay_out(run)
    found = run("drift", "--format", "json")
    Draft202012Validator(schemas.read_schema("drift")).validate(found.json)
    assert (found.code, found.json["tables"][0]["changes"]) == (1, [])
    assert found.json["tables"][0]["layout"] == [
        {"name": "partitions", "before": None, "after": "`price` bucket[4]"},
        {"name": "write.spark.accept-any-schema", "before": None, "after": "true"},
    ]
    shown = run("drift").out
    assert "partitions" in shown
    assert "none → `price` bucket[4]" in shown
    told = run("status", "--format", "json").json["targets"][0]["drift"]
    assert told.startswith("partitions were none, and are `price` bucket[4] now; ")
    # The next run goes on, and says so; what it leaves is the new state.
    run.learns(run.table(MORE))
    done = run.moved("--format", "text")
    assert done.code == 0
    assert "write.spark.accept-any-schema" in done.out
    again = run("drift", "--format", "json")
    assert (again.code, again.json["tables"][0]["layout"]) == (1, [])
    assert "partitions were none" in again.json["tables"][0]["before"]
    assert run("drift").code == 0


def test_sync_tells_once_of_a_layout_that_others_changed(run: Commands) -> None:
    run.says(run.table(WAS, type="CREATE"))
    assert run("sync", "r.jsonl", "--once").code == 0
    lay_out(run)
    told = run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]
    assert "partitions were none, and are `price` bucket[4] now" in told["reasons"][0]
    assert run("drift").code == 1
    assert run("sync", "r.jsonl", "--once", "--format", "json").json["tables"][0]["reasons"] == []


def create_both(run: Commands) -> None:
    run.learns(run.table(WAS, type="CREATE"), run.table(WAS, type="CREATE", name="ORDERS"))


@pytest.mark.parametrize("words", [(), ("app.orders",)])
def test_two_tables_that_get_one_lake_table_are_refused_at_planning(
    run: Commands, words: tuple[str, ...]
) -> None:
    create_both(run)
    settings = Path("schemaman.toml")
    settings.write_text(settings.read_text() + 'names = "lower"\n')
    plan = run("plan", *words, "--format", "json")
    assert plan.code == 1
    plans = plan.json.get("plans", [plan.json])
    assert [each["steps"] for each in plans] == [[] for _ in plans]
    assert all("into this lake table, too" in each["refusals"][0]["reason"] for each in plans)


def test_two_tables_that_case_tells_apart_are_told_of(run: Commands) -> None:
    create_both(run)
    plans = run("plan", "--format", "json")
    assert plans.code == 0
    assert plans.out.count("without regard to case takes both for one table") == 2
    told = run("sync", "r.jsonl", "--once", "--format", "json")
    assert told.code == 0
    assert all("without regard to case" in each["reasons"][0] for each in told.json["tables"])
    # Once a table is there, its source owns it.
    assert "without regard to case" not in run("plan").out


def test_a_lake_gets_small_letters_where_its_target_says_so(run: Commands) -> None:
    run.learns(run.table((("id", "INT"), ("Unit_Price", "INT")), type="CREATE", name="Orders"))
    settings = Path("schemaman.toml")
    settings.write_text(settings.read_text() + 'names = "lower"\n')
    assert run("sync", "r.jsonl", "--once").code == 0
    assert run.live("ice.raw.orders").schema.names == ("id", "unit_price")
    run.learns(run.table((("id", "INT"), ("Unit_Price", "INT"), ("NOTE", "TEXT")), name="Orders"))
    assert run("sync", "r.jsonl", "--once").code == 0
    assert run.live("ice.raw.orders").schema.names == ("id", "unit_price", "note")
    assert run("plan", "--format", "json").json["steps"] == []


def test_names_of_a_target_are_known_words(run: Commands) -> None:
    settings = Path("schemaman.toml")
    settings.write_text(settings.read_text() + 'names = "Lower"\n')
    done = run("plan")
    assert (done.code, "did you mean" in done.err or "lower" in done.err) == (2, True)
