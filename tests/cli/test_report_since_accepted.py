"""A report since the accepted state: what changed, each finding once, and what the lake is expected to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from schemaman.report.json import schemas
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run, place
from tests.support.command_line import run as ask

__all__ = ["ask", "place"]
TARGETS = """
[[target]]
name = "raw"
format = "iceberg"
tables = "*"
table = "ice.raw.{table}"

[[target]]
name = "files"
format = "delta"
tables = "*"
table = "lake.{table}"
"""


@pytest.fixture
def shop(place: Path, ask: Run) -> Path:
    """A folder with the history of a recording, and two targets."""
    assert ask("ingest", CAPTURES / "postgres" / "shop-crash").code == 0
    (place / "schemaman.toml").write_text(TARGETS)
    return place


def test_a_report_since_a_version_tells_each_change_once_newest_first(shop: Path, ask: Run) -> None:
    done = ask("report", "returns", "--against", "returns@2")
    assert (done.code, done.err) == (0, "")
    order = [done.out.index(f"Version {number}") for number in (4, 3)]
    assert order == sorted(order)
    assert "Version 2" not in done.out
    findings = [line for line in done.out.splitlines() if line.startswith("✗ break: ")]
    assert [line.split()[3] for line in findings] == [
        "shopdb.shop.shop.returns.photo", "shopdb.shop.shop.returns.order_no"
    ]  # fmt: skip
    lake = done.out.partition("Expected in the lake")[2]
    for target, table in (("raw (iceberg)", "`ice`.`raw`.`returns`"), ("files (delta)", "`lake`.`returns`")):
        (line,) = (line for line in lake.splitlines() if line.startswith(target))
        assert f"ALTER TABLE {table} RENAME COLUMN `order_no` TO `order_ref`; 1 approval needed" in line
        assert "rename `photo` to `note`: rename not decided" in line


def test_the_json_of_it_is_valid_and_names_what_is_expected(shop: Path, ask: Run) -> None:
    done = ask("report", "returns", "--against", "returns@2", "--format", "json").json
    Draft202012Validator(schemas.read_schema("report")).validate(done)
    (table,) = done["tables"]
    assert (done["verdict"], table["since"]) == (
        "fail", ["shopdb.shop.shop.returns@3", "shopdb.shop.shop.returns@4"]
    )  # fmt: skip
    assert [(e["target"], bool(e["steps"])) for e in table["expected"]] == [("raw", True), ("files", True)]
    assert len({f["fingerprint"] for f in table["findings"]}) == len(table["findings"]) == 2


def test_a_baseline_that_the_history_does_not_hold_leaves_the_lake_open(shop: Path, ask: Run) -> None:
    (shop / "old.ddl").write_text("id INT NOT NULL, gone STRING")
    done = ask("report", "returns", "--against", "file:old.ddl")
    assert "not known in the lake: the accepted schema is not a version of the history" in done.out
    assert "column-dropped" in done.out


def test_a_table_without_a_change_is_only_counted(shop: Path, ask: Run) -> None:
    done = ask("report", "returns", "--against", "returns@4", "--format", "markdown")
    assert "1 table did not change" in done.out
    assert ask("report", "--full", "--against", "accepted").code == 2


@pytest.mark.parametrize("format", ["concise", "jsonl", "sarif", "junit", "gitlab"])
def test_a_whole_report_exists_for_programs_too(shop: Path, ask: Run, format: str) -> None:
    done = ask("report", "returns", "--format", format)
    assert done.code == 0
    assert "column-rename-suspected" in done.out
