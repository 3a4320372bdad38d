"""`sync` on real tables: what is automatic happens, what a person decides waits, no table stops another."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.house import CAPTURES
from tests.spark.test_cli import Run, checked, run

pytestmark = pytest.mark.spark
__all__ = ["run"]
RECORDS = CAPTURES / "mariadb" / "bookshop-mariadb-3.5.0-json"
AUTHOR = 'tables = ["author"]'


def settings(folder: Path, *more: str, tables: str = AUTHOR, format: str = "delta") -> None:
    """A target for some tables, and whatever else is to stand in the file."""
    place = f'path = "{folder}/lake/{{table}}"' if format == "delta" else 'table = "ice.synced.{table}"'
    target = f'[[target]]\nname = "raw"\nformat = "{format}"\n{tables}\n{place}\n'
    Path("schemaman.toml").write_text("\n".join((target, *more)))


def cut(folder: Path, records: int) -> Path:
    """The first records of the recording: what there was at an earlier time."""
    found = folder / f"first-{records}"
    found.mkdir()
    with gzip.open(RECORDS / "records.ndjson.gz", "rt", encoding="utf-8") as lines:
        (found / "records.ndjson").write_text("".join(islice(lines, records)), encoding="utf-8")
    return found


def states(done: Any) -> Mapping[str, str]:
    return {t["table"].rpartition(".")[2]: t["state"] for t in done["tables"]}


def test_all_tables_of_a_recording_follow_at_once_and_stay(spark: Any, run: Run, tmp_path: Path) -> None:
    settings(tmp_path, tables='tables = ["bookshop.*"]', format="iceberg")
    first = run("sync", RECORDS, "--once", "--format", "json")
    told = checked("sync", first)
    assert set(states(told).values()) == {"applied"}, told
    assert first.code == 0
    again = checked("sync", run("sync", RECORDS, "--once", "--format", "json"))
    assert set(states(again).values()) == {"current"}
    assert again["records"]["new"] == 0
    shown = run("show", "lake:ice.synced.author", "--format", "json").json
    wanted = run("show", "author", "--format", "json").json
    assert [c["name"] for c in shown["columns"]] >= [c["name"] for c in wanted["columns"]]
    assert run("drift").code == 0


def test_what_a_person_has_to_approve_waits_while_rows_are_written(
    spark: Any, run: Run, tmp_path: Path
) -> None:
    policy = '[[policy]]\nadd-column = "approve"'
    settings(tmp_path, policy)
    early = cut(tmp_path, 26)
    first = checked("sync", run("sync", early, "--once", "--format", "json"))
    assert states(first) == {"author": "applied"}
    waiting = run("sync", RECORDS, "--once", "--format", "json")
    (told,) = checked("sync", waiting)["tables"]
    assert (waiting.code, told["state"], told["statements"]) == (1, "waiting", [])
    assert json.loads(Path(told["file"]).read_text())["hash"] == told["plan"]
    names = [f.name for f in spark.table(f"delta.`{tmp_path}/lake/author`").schema]
    spark.sql(f"INSERT INTO delta.`{tmp_path}/lake/author` ({names[0]}) VALUES (7)")
    (same,) = checked("sync", run("sync", RECORDS, "--once", "--format", "json"))["tables"]
    assert same["plan"] == told["plan"], "rows are no other plan"
    assert run("approve", told["file"], "--yes").code == 0
    done = run("sync", RECORDS, "--once", "--format", "json")
    (applied,) = checked("sync", done)["tables"]
    assert (done.code, applied["state"]) == (0, "applied")
    assert not Path(told["file"]).exists()
    assert run("drift").code == 0


def test_a_table_that_is_refused_stops_no_other(spark: Any, run: Run, tmp_path: Path) -> None:
    policy = '[[policy]]\ntables = ["author"]\nadd-column = "block"'
    settings(tmp_path, policy, tables='tables = ["author", "secret_note"]')
    assert run("sync", cut(tmp_path, 26), "--once").code == 0
    later = run("sync", RECORDS, "--once", "--format", "json")
    told = checked("sync", later)
    assert later.code == 1
    assert states(told) == {"author": "refused", "secret_note": "applied"}
    assert "add-column = block" in " ".join(told["tables"][0]["reasons"])


def test_a_table_that_fails_stops_no_other(spark: Any, run: Run, tmp_path: Path) -> None:
    settings(tmp_path, tables='tables = ["author", "secret_note"]')
    assert run("sync", cut(tmp_path, 26), "--once").code == 0
    shutil.rmtree(tmp_path / "lake" / "author" / "_delta_log")
    (tmp_path / "lake" / "author" / "_delta_log").write_text("no log")
    done = run("sync", RECORDS, "--once", "--format", "json")
    told = checked("sync", done)
    assert states(told)["secret_note"] == "applied"
    assert states(told)["author"] == "failed"
    assert done.code in (3, 4)
    assert told["tables"][0]["reasons"]


def test_what_cannot_be_synced(run: Run) -> None:
    none = run("sync", RECORDS, "--once")
    assert (none.code, "no target to bring up to date" in none.err) == (2, True)
    settings(Path(), tables=AUTHOR)
    endless = run("sync", RECORDS)
    assert (endless.code, "only topics of Kafka can be followed" in endless.err) == (2, True)
