"""`init` and `stream` on real tables: rows without a job, and `sync` finds their tables current."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pyspark.sql import SparkSession

from schemaman.report.json import schemas
from tests.support.checkout import CAPTURES
from tests.support.command_line import Run

pytestmark = pytest.mark.spark
SHOP = CAPTURES / "postgres" / "shop-crash" / "records.ndjson.gz"


def test_a_recording_becomes_rows_by_two_commands(spark: SparkSession, run: Run, place: Path) -> None:
    lines = [line for line in gzip.decompress(SHOP.read_bytes()).splitlines() if b"refunds" in line]
    topic = next(t for t in map(json.loads, lines) if "refunds" in t["topic"])["topic"]
    lines = [line for line in lines if json.loads(line)["topic"] == topic]
    Path("r.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    assert run("init", "r.jsonl", "--profile", "autopilot", "--yes").code == 0
    file = Path("schemaman.toml")
    file.write_text(file.read_text().replace("ice.raw.", "ice.by_command."))
    done = run("stream", "r.jsonl", "--once", "--batch", "10", "--format", "json")
    assert done.code == 0, done
    batches = [json.loads(line) for line in done.out.splitlines()]
    for batch in batches:
        Draft202012Validator(schemas.read_schema("stream")).validate(batch)
    assert sum(batch["records"] for batch in batches) == len(lines)
    alive = spark.table("ice.by_command.refunds").where("_row_deleted IS NOT TRUE")
    rows = sorted(map(str, alive.collect()))
    assert len(rows) > 3
    assert run("stream", "r.jsonl", "--once").code == 0
    spark.catalog.refreshTable("ice.by_command.refunds")
    assert sorted(map(str, alive.collect())) == rows
    synced = run("sync", "r.jsonl", "--once", "--format", "json")
    assert (synced.code, [t["state"] for t in synced.json["tables"]]) == (0, ["current"])
