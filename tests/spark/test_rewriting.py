"""`sync` under autopilot: a column of another type is rewritten within the bounds, else it goes on beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.records import Record
from tests.spark.meanwhile import LakeFolder, MeanwhileReader
from tests.spark.test_cli import checked
from tests.spark.test_sync import settings
from tests.streaming.test_autopilot import told
from tests.support.checkout import PROOF
from tests.support.command_line import Run
from tests.support.lake_reader import list_faults

pytestmark = pytest.mark.spark


def write(folder: Path, name: str, *records: Record) -> Path:
    """A folder of records, as a recording has them."""
    lines = [
        {"topic": r.topic, "partition": r.partition, "offset": r.offset, "tstype": "create", "ts": 0,
         "headers": [], "key": (r.key or b"").decode(), "payload": (r.value or b"").decode()}
        for r in records
    ]  # fmt: skip
    (folder / name).mkdir()
    (folder / name / "records.ndjson").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder / name


def sync(run: Run, folder: Path) -> dict[str, Any]:
    (table,) = checked("sync", run("sync", folder, "--once", "--format", "json"))["tables"]
    return dict(table)


@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_a_column_goes_on_beside_until_the_bounds_let_it_be_rewritten(
    spark: Any, run: Run, tmp_path: Path, format: str
) -> None:
    def bounded(*lines: str) -> None:
        profile = 'profile = "autopilot"'
        settings(tmp_path, tables='tables = ["t"]', format=format)
        Path("schemaman.toml").write_text("\n".join((profile, *lines, Path("schemaman.toml").read_text())))

    lake = f"delta.`{tmp_path}/lake/t`" if format == "delta" else "ice.synced.t"
    place = f"{tmp_path}/lake" if format == "delta" else "ice.synced"
    folder = LakeFolder(format, place, tables=("t",))

    def sync_beside_reader(records: Path) -> dict[str, Any]:
        before = folder.read(spark, "before")
        with MeanwhileReader(spark, folder) as reader:
            found = sync(run, records)
        assert reader.faults == []
        assert list_faults(before, reader.readings, folder.read(spark, "the end")) == []
        return found

    numbers = write(tmp_path, "numbers", told(0, {"id": 1, "price": 5}), told(1, {"id": 2, "price": 6}))
    texts = write(tmp_path, "texts", told(2, {"id": 3, "price": "7.50"}))
    doubles = write(tmp_path, "doubles", told(3, {"id": 3, "price": 7.5}))

    bounded('max_rewrite = "1GB"')
    assert sync(run, numbers)["state"] == "applied"
    spark.sql(f"INSERT INTO {lake} (id, price) VALUES (1, 5), (2, NULL), (3, -6)")
    if format == "iceberg":  # a run that died after its first phase
        assert run("ingest", texts).code == 0
        assert run("plan", "t", "--recipe", "--phase", "expand", "-o", "first.plan.json").code == 0
        assert run("apply", "first.plan.json").code == 0
    swapped = sync_beside_reader(texts)
    assert swapped["state"] == "applied", swapped
    assert [s.split()[0] for s in swapped["statements"]].count("UPDATE") == 1
    found = spark.sql(f"SELECT id, price, price__old FROM {lake} ORDER BY id").collect()
    assert [tuple(row) for row in found] == [(1, "5", 5), (2, None, None), (3, "-6", -6)]

    spark.sql(f"INSERT INTO {lake} (id, price) VALUES (4, '1.5'), (5, 'five')")
    beside = sync(run, doubles)
    assert beside["state"] == "applied", beside
    assert any("does not hold 1 of the values exactly" in reason for reason in beside["reasons"]), beside
    bounded('max_rewrite = "1KB"')
    assert any("would be rewritten, and max_rewrite is 1 KB" in r for r in sync(run, doubles)["reasons"])
    bounded('max_rewrite = "1GB"')
    united = sync_beside_reader(doubles)
    assert (united["state"], united["reasons"]) == ("applied", [])
    found = spark.sql(f"SELECT id, price, price__2 FROM {lake} ORDER BY id").collect()
    assert [tuple(row) for row in found] == [
        (1, "5", 5.0), (2, None, None), (3, "-6", -6.0), (4, "1.5", 1.5), (5, "five", None),
    ]  # fmt: skip
    assert sync(run, doubles)["state"] == "current"
    assert run("drift").code == 0
