"""A lake table that somebody else made with other types: a difference is accepted once, and work goes on."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from schemaman.history.decisions import parse
from schemaman.migration.target import TARGETS
from schemaman.model.column_list import parse_columns
from tests.support.memory_commands import Commands
from tests.support.memory_commands import commands as run

__all__ = ["run"]

PLACES = {"delta": "/lake/orders", "iceberg": "ice.raw.orders"}
SOURCE = (("id", "INT"), ("Amount", "VARCHAR"), ("at", "DATE"))
MORE = (*SOURCE, ("coupon", "VARCHAR"))


def standing(run: Commands, format: str) -> None:
    """The target, and its table as another job made it: other order, case and types, a column of its own."""
    run.settings(format, {"delta": "/lake/{table}", "iceberg": "ice.raw.{table}"}[format])
    schema = parse_columns("loaded DATE, amount BIGINT, id BIGINT NOT NULL, at STRING")
    table = run.lake.table(PLACES[format])
    table.run(TARGETS.get(format).create_table(PLACES[format], schema, {}).statement)


@pytest.mark.parametrize("format", PLACES)
def test_a_standing_difference_of_types_is_accepted_once(run: Commands, format: str) -> None:
    standing(run, format)
    run.learns(run.table(SOURCE, type="CREATE"))
    refused = run("plan", "orders", "--format", "json")
    assert refused.code == 1
    first, second = (r["instead"].rpartition("`schemaman ")[2].strip("`") for r in refused.json["refusals"])
    assert first == "decide accept-type srv.app.orders Amount 'BIGINT'"
    for hint in (first, second):
        words = shlex.split(hint)
        assert run(*words, "--by", "kim", "--reason", "reports read it so").code == 0
    planned = run("plan", "orders", "-o", "p.plan.json", "--format", "json")
    assert (planned.code, [s["kind"] for s in planned.json["steps"]]) == (0, ["set-properties"])
    notes = " ".join(planned.json["notes"])
    assert "the source has VARCHAR(20): the lake keeps BIGINT; kim accepted it on " in notes
    assert ": reports read it so" in notes
    assert run("apply", "p.plan.json").code == 0
    # later changes go on, and the two are not asked about again
    run.says(run.table(MORE))
    assert run("sync", "r.jsonl", "--once").code == 0
    assert run.live(PLACES[format]).schema == parse_columns(
        "loaded DATE, amount BIGINT, id BIGINT NOT NULL, at STRING, coupon STRING, PRIMARY KEY (id)"
    )
    # another type at the source is another difference
    run.learns(run.table([(n, "TEXT" if n == "Amount" else t) for n, t in MORE]))
    again = run("plan", "orders", "--format", "json")
    assert [r["change"] for r in again.json["refusals"]] == ["change `amount` from BIGINT to STRING"]


def test_an_acceptance_is_recorded_with_who_and_when(run: Commands) -> None:
    run.learns(run.table(SOURCE, type="CREATE"))
    words = ("decide", "accept-type", "orders", "Amount", "double")
    assert run(*words, "--by", "kim").code == 0
    (found,) = parse(Path("schemaman.decisions.toml").read_text()).accepted_types
    assert (found.column, found.source, found.lake, found.by) == ("Amount", "VARCHAR(20)", "DOUBLE", "kim")
    assert "already contains this answer" in run(*words, "--by", "lee").err
    assert "has no column price" in run("decide", "accept-type", "orders", "price", "INT").err
    assert run("decide", "accept-type", "orders", "Amount", "DOUBLY BIG(").code == 2
    assert run("decide", "accept-type", "orders", "Amount").code == 2
