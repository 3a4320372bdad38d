"""`sync` on real tables: what is automatic happens, what a person decides waits, no table stops another."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from schemaman.store.sql.store import SqlStore
from tests.spark import recordings_in_tables as mirrored
from tests.spark.formats import on_iceberg
from tests.spark.test_cli import checked
from tests.support.checkout import CAPTURES, PROOF
from tests.support.command_line import Run

pytestmark = pytest.mark.spark
RECORDS = CAPTURES / "mariadb" / "bookshop-mariadb-3.5.0-json"
SHOP = CAPTURES / "postgres" / "shop-json"
AUTHOR = 'tables = ["author"]'


@dataclass(frozen=True, slots=True)
class Renamed:
    """A column that a recording renames: its kind of change, and the records before and up to it."""

    kind: str
    recording: Path
    table: str
    old: str
    new: str
    before: int
    after: int

    def __str__(self) -> str:
        return self.kind

    def lake(self, folder: Path, format: str) -> str:
        """The lake table, as SQL and as `lake:` name it after `settings`."""
        return f"delta.`{folder}/lake/{self.table}`" if format == "delta" else f"ice.synced.{self.table}"


PROVEN = Renamed("rename-proven", SHOP, "customers", "phone", "phone_number", 206, 207)
STATED = Renamed("rename-stated", RECORDS, "book", "pages", "page_count", 32, 33)


def settings(folder: Path, *more: str, tables: str = AUTHOR, format: str = "delta") -> None:
    """A target for some tables, and whatever else is to stand in the file."""
    place = f'path = "{folder}/lake/{{table}}"' if format == "delta" else 'table = "ice.synced.{table}"'
    target = f'[[target]]\nname = "raw"\nformat = "{format}"\n{tables}\n{place}\n'
    Path("schemaman.toml").write_text("\n".join((target, *more)))


def cut(folder: Path, records: int, recording: Path = RECORDS) -> Path:
    """The first records of a recording: what there was at an earlier time."""
    found = folder / f"first-{records}"
    found.mkdir()
    with gzip.open(recording / "records.ndjson.gz", "rt", encoding="utf-8") as lines:
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


@pytest.mark.parametrize(
    ("renamed", "format"),
    [(STATED, "delta"), (PROVEN, "iceberg"), *([(STATED, "iceberg")] if PROOF else [])],
    ids=str,
)
def test_a_rename_that_is_automatic_takes_the_old_values_along(
    spark: Any, run: Run, tmp_path: Path, renamed: Renamed, format: str
) -> None:
    level = None if renamed is STATED else "auto"  # a stated one is so by default
    lake, rows = before_the_rename(spark, run, tmp_path, renamed, format, level)
    told = run("sync", cut(tmp_path, renamed.after, renamed.recording), "--once", "--format", "json")
    (done,) = checked("sync", told)["tables"]
    assert (told.code, done["state"], done["reasons"]) == (0, "applied", [])
    (statement,) = [s for s in done["statements"] if "SET TBLPROPERTIES" not in s]
    assert statement.endswith(f"RENAME COLUMN `{renamed.old}` TO `{renamed.new}`")
    assert shown(spark, lake) == in_the_new_name(rows, renamed)
    assert run("drift").code == 0


@on_iceberg
def test_a_rename_on_proof_waits_for_approval_and_touches_nothing(
    spark: Any, run: Run, tmp_path: Path, format: str
) -> None:
    lake, rows = before_the_rename(spark, run, tmp_path, PROVEN, format)
    later = cut(tmp_path, PROVEN.after, PROVEN.recording)
    first = run("sync", later, "--once", "--format", "json")
    (told,) = checked("sync", first)["tables"]
    assert (first.code, told["state"], told["statements"]) == (1, "waiting", [])
    assert "rename-proven = approve by default" in " ".join(told["reasons"])
    assert shown(spark, lake) == rows
    # a round later it is the same plan, and the lake still has the old name alone
    (same,) = checked("sync", run("sync", later, "--once", "--format", "json"))["tables"]
    assert (same["state"], same["plan"], same["file"]) == ("waiting", told["plan"], told["file"])
    assert shown(spark, lake) == rows
    assert run("approve", told["file"], "--yes").code == 0
    (done,) = checked("sync", run("sync", later, "--once", "--format", "json"))["tables"]
    assert (done["state"], Path(told["file"]).exists()) == ("applied", False)
    assert shown(spark, lake) == in_the_new_name(rows, PROVEN)
    assert run("drift").code == 0


@on_iceberg
def test_a_mirrored_table_that_nobody_writes_follows_at_once(
    spark: Any, run: Run, tmp_path: Path, format: str
) -> None:
    records, schemas = mirrored.recorded(str(RECORDS.relative_to(CAPTURES)))
    name = f"quiet_{format}"
    with SqlStore.open("sqlite:///schemaman.db", create=True) as store:
        mirror = mirrored.Run(spark, store, format, name, schemas)
        moving = mirror.mirror()
        moving(mirrored.frame(spark, records[: STATED.before]), 0)
        moving(mirrored.frame(spark, records[STATED.before : STATED.after]), 1)
        before = the_book(mirror)
        assert before
        assert (STATED.old in before[0], STATED.new in before[0]) == (True, False)
        lake = mirror.target()
        place = f'path = "{lake.path}"' if format == "delta" else f'table = "{lake.table}"'
        target = f'[[target]]\nname = "lake"\nformat = "{format}"\ntables = ["{STATED.table}"]\n{place}\n'
        Path("schemaman.toml").write_text(target, encoding="utf-8")
        told = run("sync", cut(tmp_path, STATED.after), "--once", "--format", "json")
        assert (told.code, states(checked("sync", told))) == (0, {STATED.table: "applied"})
        assert sorted(the_book(mirror), key=repr) == in_the_new_name(before, STATED)


def the_book(mirror: mirrored.Run) -> list[dict[str, Any]]:
    """The rows of the mirrored table that `STATED` renames a column of."""
    (found,) = [lake for lake in mirror.lake() if lake.source.table == STATED.table]
    return found.rows


def before_the_rename(
    spark: Any, run: Run, folder: Path, renamed: Renamed, format: str, level: str | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """The lake table with rows of the old name, under a policy for this kind of change; its name and rows."""
    rule = [f'[[policy]]\n{renamed.kind} = "{level}"'] if level else []
    settings(folder, *rule, tables=f'tables = ["{renamed.table}"]', format=format)
    lake = renamed.lake(folder, format)
    if format == "iceberg":
        spark.sql(f"DROP TABLE IF EXISTS {lake}")
    made = run("sync", cut(folder, renamed.before, renamed.recording), "--once", "--format", "json")
    assert states(checked("sync", made)) == {renamed.table: "applied"}
    named = {f.name: f for f in spark.table(lake).schema}
    given = {n: "2024" for n, f in named.items() if not f.nullable} | {renamed.old: "17"}
    values = ", ".join(f"CAST('{v}' AS {named[n].dataType.simpleString()})" for n, v in given.items())
    spark.sql(f"INSERT INTO {lake} ({', '.join(given)}) VALUES ({values})")
    return lake, shown(spark, lake)


def shown(spark: Any, lake: str) -> list[dict[str, Any]]:
    """The rows of a lake table as they lie there now."""
    spark.sql(f"REFRESH TABLE {lake}")
    return sorted((row.asDict() for row in spark.table(lake).collect()), key=repr)


def in_the_new_name(rows: list[dict[str, Any]], renamed: Renamed) -> list[dict[str, Any]]:
    """The rows as they ought to be once the column has its new name, in its old place."""
    now = [{renamed.new if n == renamed.old else n: v for n, v in row.items()} for row in rows]
    return sorted(now, key=repr)


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
    author = f"delta.`{tmp_path / 'lake' / 'author'}`"
    spark.sql(f"ALTER TABLE {author} SET TBLPROPERTIES ('schemaman.store' = 'another')")
    done = run("sync", RECORDS, "--once", "--format", "json")
    told = checked("sync", done)
    assert states(told)["secret_note"] == "applied"
    assert states(told)["author"] == "failed"
    assert done.code == 4
    assert told["tables"][0]["reasons"]


def test_what_cannot_be_synced(run: Run) -> None:
    none = run("sync", RECORDS, "--once")
    assert (none.code, "schemaman.toml has no target to migrate" in none.err) == (2, True)
    settings(Path.cwd(), tables=AUTHOR)
    endless = run("sync", RECORDS)
    assert (endless.code, "only Kafka topics can be followed" in endless.err) == (2, True)
