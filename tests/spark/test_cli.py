"""The commands that move, on real tables: plan, apply, drift, resume, and the demo."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pyiceberg.table import StaticTable

from schemaman.migration.apply.apply import StoreJournal, apply
from schemaman.migration.plan_file import from_text
from schemaman.registry import Registry
from schemaman.report.json import schemas
from schemaman.spark.executor import SparkExecutor
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from tests.support.checkout import CAPTURES
from tests.support.command_line import Done, Run
from tests.support.memory_lake import Crash

pytestmark = pytest.mark.spark
DB2 = CAPTURES / "db2" / "shop-3.4.1-json"
MARIADB = CAPTURES / "mariadb" / "bookshop-mariadb-3.5.0-json"


def checked(name: str, done: Done) -> Any:
    """The document, valid against its schema."""
    Draft202012Validator(schemas.read_schema(name)).validate(done.json)
    return done.json


def test_a_table_is_followed_from_the_command_line(spark: Any, run: Run, tmp_path: Path) -> None:
    assert run("ingest", MARIADB).code == 0
    lake = str(tmp_path / "lake" / "author")
    target = ["--target", "delta", "--table", lake]
    first = run("plan", "author@1", *target, "-o", "1.json", "--format", "json")
    assert first.code == 0
    assert checked("plan", first) == json.loads(Path("1.json").read_text())
    done = checked("apply", run("apply", "1.json", "--format", "json"))
    assert done["state"] == "applied"
    assert checked("apply", run("apply", "1.json", "--format", "json"))["state"] == "unchanged"

    assert run("plan", "author", *target, "-o", "2.json").code == 0
    assert run("apply", "2.json").code == 0
    assert run("plan", "author", *target, "--format", "json").json["steps"] == []
    last = run("status", "--format", "json").json["runs"][-1]["run"]
    assert checked("apply", run("resume", last, "--format", "json"))["state"] == "unchanged"
    shown = run("show", f"lake:{lake}", "--format", "json").json
    wanted = json.loads(Path("2.json").read_text())["wanted"]["columns"]
    assert [(c["name"], c["type"]) for c in shown["columns"]] == [(c["name"], c["type"]) for c in wanted]

    clean = run("drift", "author", "--format", "json")
    assert clean.code == 0
    assert not checked("drift", clean)["tables"][0]["drift"]
    SparkExecutor(spark).run(f"ALTER TABLE delta.`{lake}` ADD COLUMNS (mine STRING)")
    found = run("drift", "--format", "json")
    assert found.code == 1
    changes = checked("drift", found)["tables"][0]["changes"]
    assert [(c["change"], c["path"]) for c in changes] == [("add-column", ["mine"])]

    stale = run("apply", "1.json")
    assert stale.code == 4
    assert "hint:" in stale.err
    runs = checked("status", run("status", "--format", "json"))["runs"]
    assert [r["state"] for r in runs][:3] == ["finished", "finished", "finished"]
    assert run("resume", "nonsense").code == 2


class Dying(SparkExecutor):
    """An executor whose process dies before columns are added."""

    def run(self, statement: str) -> None:
        if "ADD COLUMNS" in statement:
            raise Crash
        super().run(statement)


def test_what_a_run_left_half_way_is_no_drift_and_a_lost_target_hides_no_other(
    spark: Any, run: Run, tmp_path: Path
) -> None:
    run("ingest", MARIADB)
    target = ["--target", "delta", "--table", tmp_path / "lake" / "half"]
    assert run("plan", "author@1", *target, "-o", "1.json").code == 0
    assert run("apply", "1.json").code == 0
    assert run("plan", "author", *target, "-o", "plans/").code == 0
    (file,) = Path("plans").glob("*.plan.json")
    plan = from_text(file.read_text())
    with SqlStore.open("sqlite:///schemaman.db") as store:
        with pytest.raises(Crash):
            apply(plan, Dying(spark), StoreJournal(store), store.now_ms, run="r9", store=store.id)
        half = run("drift", "--format", "json")
        assert (half.code, half.json["tables"][0]["drift"]) == (0, False)
        assert "schemaman resume r9" in half.err
        assert run("drift").code == 0
        SparkExecutor(spark).run(f"ALTER TABLE delta.`{plan.table}` ADD COLUMNS (mine STRING)")
        assert run("drift").code == 1
        lost = MigrationEntry("r", "p", "iceberg:nowhere.raw.t", None, "finished", "id INT")
        Registry(store, store.now_ms).note(lost)
        blind = run("drift", "--format", "json")
    assert blind.code == 3
    assert [t["drift"] for t in checked("drift", blind)["tables"]] == [True]
    assert "nowhere.raw.t cannot be read" in blind.err


def test_a_name_that_spark_would_forget_is_refused(spark: Any, run: Run) -> None:
    run("ingest", MARIADB)
    done = run("plan", "author", "--target", "delta", "--table", "lake.author")
    assert done.code == 2
    assert "its catalogue is in memory" in done.err


def test_what_needs_approval_waits_for_it(spark: Any, run: Run, tmp_path: Path) -> None:
    run("ingest", DB2)
    (tmp_path / "schemaman.toml").write_text('drops = "drop"\n')
    lake = tmp_path / "lake" / "products"
    target = ["--target", "delta", "--table", lake]
    assert run("plan", "PRODUCTS@2", *target, "-o", "2.json").code == 0
    assert run("apply", "2.json").code == 0
    plan = run("plan", "PRODUCTS@3", *target, "-o", "3.json", "--format", "json").json
    assert plan["approvals_needed"]
    waiting = run("apply", "3.json")
    assert waiting.code == 1
    assert "needs approval" in waiting.out
    (tmp_path / "schemaman.decisions.toml").write_text(
        f'[[approve]]\nplan = "{plan["hash"]}"\nby = "me"\nexpires = 2999-01-01\n'
    )
    assert run("apply", "3.json").code == 0
    left = [c["name"] for c in run("show", f"lake:{lake}", "--format", "json").json["columns"]]
    assert "WEIGHT" not in left
    told = run("report", "PRODUCTS", "--plan", "3.json", "--format", "json").json
    assert [p["table"] for p in told["tables"][0]["plans"]] == [str(lake)]


def test_an_edited_plan_is_stale(spark: Any, run: Run, tmp_path: Path) -> None:
    run("ingest", MARIADB)
    run("plan", "author", "--target", "delta", "--table", tmp_path / "lake" / "edited", "-o", "p.json")
    text = Path("p.json").read_text()
    Path("p.json").write_text(text.replace("author", "authors", 1))
    done = run("apply", "p.json")
    assert done.code == 4
    assert "edited" in done.err
    assert run("apply", "p.json", "missing.json").code == 4
    run("plan", "author@1", "--target", "delta", "--table", tmp_path / "lake" / "good", "-o", "good.json")
    both = run("apply", "p.json", "good.json", "--format", "json")
    assert both.code == 4
    assert [r["state"] for r in checked("apply", both)["runs"]] == ["failed", "applied"]


def test_a_refusal_is_a_finding_and_nothing_is_done(spark: Any, run: Run, tmp_path: Path) -> None:
    run("ingest", MARIADB)
    (tmp_path / "schemaman.toml").write_text(
        '[[target]]\nname = "lake"\nformat = "iceberg"\ntables = "bookshop.book"\ntable = "ice.cli.{table}"\n'
    )
    assert run("plan", "bookshop.book@1", "-o", "1.json").code == 0
    assert run("apply", "1.json").code == 0
    refused = run("plan", "bookshop.book@2", "-o", "2.json", "--format", "json")
    assert refused.code == 1
    assert refused.json["refusals"]
    done = run("apply", "2.json", "--format", "json")
    assert done.code == 1
    assert done.json["state"] == "refused"
    assert run("plan", "bookshop.book@1", "--format", "json").json["steps"] == []
    sql = run("plan", "bookshop.book@2", "--format", "sql")
    assert "-- refused: " in sql.out
    SparkExecutor(spark).run("DROP TABLE ice.cli.book")
    gone = run("drift", "--format", "json")
    assert gone.code == 1
    assert gone.json["tables"][0]["gone"]


def test_a_scale_is_changed_in_phases_and_the_last_one_taken_back(
    spark: Any, run: Run, tmp_path: Path
) -> None:
    run("ingest", MARIADB)
    (tmp_path / "schemaman.toml").write_text(
        '[[target]]\nname = "lake"\nformat = "iceberg"\ntables = "*.book"\ntable = "ice.inturn.{table}"\n'
    )
    executor = SparkExecutor(spark)
    assert run("plan", "bookshop.book@1", "-o", "1.json").code == 0
    assert run("apply", "1.json").code == 0
    executor.run("INSERT INTO ice.inturn.book (isbn, price) VALUES ('x', 9.95), ('y', NULL)")
    assert run("plan", "bookshop.book@2", "-o", "2.json").code == 1
    early = run("plan", "bookshop.book@2", "--recipe")
    assert early.code == 1
    assert "ordinary plan first" in early.out
    run("approve", "2.json", "--by", "me", "-y")
    assert run("apply", "2.json", "--partial").code == 1

    drawn = run("plan", "bookshop.book@2", "--recipe", "-o", "phases", "--format", "json")
    plans = checked("plan", drawn)["plans"]
    assert [p["phase"]["name"] for p in plans] == ["expand", "backfill", "swap", "contract"]
    files = sorted(Path("phases").glob("*.plan.json"))
    assert [f.name.split(".")[-3] for f in files] == ["1-expand", "2-backfill", "3-swap", "4-contract"]
    for file in files[:3]:
        run("approve", file, "--by", "me", "-y")
        assert run("apply", file).code == 0
    assert run("plan", "bookshop.book@2", "--recipe", "--phase", "swap").code == 2
    rows = executor.query("SELECT isbn, list_price, list_price__old FROM ice.inturn.book ORDER BY isbn")
    assert [tuple(map(str, row)) for row in rows] == [("x", "9.9500", "9.95"), ("y", "None", "None")]
    assert run("plan", "bookshop.book@2").code == 0

    back = run("plan", "--rollback", files[2], "-o", "back.json", "--format", "json")
    assert back.code == 0
    assert checked("plan", back)["phase"]["name"] == "rollback"
    run("approve", "back.json", "--by", "me", "-y")
    assert run("apply", "back.json").code == 0
    assert run("plan", "--rollback", "nonsense").code == 2
    assert executor.query("SELECT isbn, list_price FROM ice.inturn.book WHERE isbn = 'x'")[0][1] == Decimal(
        "9.95"
    )


def test_both_engines_teach_the_same(spark: Any, run: Run) -> None:
    for engine in ("local", "spark"):
        url = f"sqlite:///{engine}.db"
        assert run("ingest", MARIADB, "--engine", engine, "--store", url).code == 0
    reports = {
        engine: run("report", "--full", "--format", "json", "--store", f"sqlite:///{engine}.db").out
        for engine in ("local", "spark")
    }
    assert reports["local"].replace("sqlite:///local.db", "sqlite:///spark.db") == reports["spark"]


def test_the_demo_does_what_it_says(spark: Any, run: Run, tmp_path: Path) -> None:
    done = run("demo", "--dir", "shown")
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) < 70
    assert "iceberg: rename-column ✓" in done.out
    assert done.out.count("Spark reads the rows as written") == 2
    assert "id an int:     registered, id 1 ✓" in done.out
    assert "id a string:   refused, 409 ✓" in done.out
    assert "the new schema has another type than the old schema" in done.out
    page = tmp_path / "shown" / "report.html"
    assert page.as_uri() in done.out
    assert page.read_text().startswith("<!doctype html>")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["shown"]

    newest = "SELECT file FROM ice.shop.customers.metadata_log_entries ORDER BY timestamp DESC LIMIT 1"
    file = str(SparkExecutor(spark).query(newest)[0][0])
    rows = StaticTable.from_metadata(file).scan().to_arrow().sort_by("id").to_pylist()
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert rows[0]["phone_number"] == "value 1"
    assert rows[0]["tier"] is None
    assert rows[3]["vip"] is not None
    commands = re.findall(r"^   \$ schemaman (\w+)", done.out, re.MULTILINE)
    assert {"ingest", "history", "check", "plan", "approve", "drift", "serve", "report"} <= set(commands)
    assert run("demo", "--dir", "shown", "--engine").code == 2
