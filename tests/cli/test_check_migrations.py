"""`check` of SQL migrations as a pull request runs it: real repositories, files and lines, no database."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from schemaman.compat.snapshots import Snapshot, build_file_name, to_text
from schemaman.model.column_list import parse_columns
from tests.cli.test_check_branch import ACCEPTED, TABLE, git
from tests.support.command_line import Run
from tests.support.command_line import run as ask
from tests.support.records import node, row_event

__all__ = ["ask"]

FIRST = "CREATE TABLE audit (id int, at timestamptz);\n"
CHANGES: dict[str, tuple[str, int, str, int]] = {
    "nothing": ("-- a remark; DROP TABLE orders\nINSERT INTO audit VALUES (1);\n", 0, "no findings", 0),
    "nullable add": ("ALTER TABLE orders ADD extra varchar(9);\n", 0, "column-added-nullable", 1),
    "drop": ("-- away\n\nALTER TABLE public.orders\n  DROP COLUMN name;\n", 1, "column-dropped", 3),
    "rename": ("ALTER TABLE orders RENAME COLUMN name TO full_name;\n", 1, "column-renamed", 1),
    "narrow": ("SELECT 1;\nALTER TABLE orders ALTER COLUMN n TYPE integer;\n", 1, "integer-narrowed", 2),
    "key": (
        "ALTER TABLE orders DROP CONSTRAINT orders_pkey,\nADD PRIMARY KEY (id, name)", 1,
        "key-column-added", 1,
    ),
    "comment": ("COMMENT ON COLUMN orders.n IS 'pieces';\n", 0, "pass", 1),
    "table gone": ("DROP TABLE orders;\n", 1, "table-dropped", 1),
    "not read": ("\nDO $$ BEGIN EXECUTE 'DROP TABLE orders'; END $$;\n", 0, "statement-not-read", 2),
    "conflict": ("ALTER TABLE orders ADD COLUMN name text;\n", 0, "already has a column name", 1),
    "earlier migration": ("ALTER TABLE audit DROP COLUMN at;\n", 1, "column-dropped", 1),
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a snapshot, a folder of Flyway, and a branch on which main went on."""
    home = tmp_path / "shop" / "data"
    (home / "db" / "migration").mkdir(parents=True)
    (home / "schemas").mkdir()
    monkeypatch.chdir(home)
    git(tmp_path, "init", "-q", "-b", "main", "shop")
    (home / "schemaman.toml").write_text('[migrations]\n"db/migration" = "postgresql"\n')
    (home / "db/migration/V1__first.sql").write_text(FIRST)
    (home / "db/migration/logo.png").write_bytes(b"\xff\xfe\x00")
    accept(home, ACCEPTED)
    git(home, "add", ".")
    git(home, "commit", "-qm", "accepted")
    git(home, "checkout", "-qb", "pr")
    return home


def list_places(ask: Run, *words: str) -> list[tuple[str, str, int]]:
    """The rule, the file and the line of each annotation of a check."""
    out = ask("check", *words, "--format", "github").out
    found = re.findall(r"^::\w+ file=([^,]*),line=(\d+),title=([a-z-]+)", out, re.MULTILINE)
    return [(rule, file, int(line)) for file, line, rule in found]


def accept(home: Path, columns: str) -> None:
    (home / "schemas" / build_file_name(TABLE)).write_text(to_text(Snapshot(TABLE, parse_columns(columns))))


def migrate(home: Path, sql: str, name: str = "V2__change.sql") -> str:
    (home / "db" / "migration" / name).write_text(sql)
    return f"db/migration/{name}"


@pytest.mark.parametrize("change", CHANGES)
def test_a_pull_request_is_checked_for_what_its_migrations_do(place: Path, ask: Run, change: str) -> None:
    script, code, words, line = CHANGES[change]
    name = migrate(place, script)
    done = ask("check")
    assert done.code == code, done.out + done.err
    assert words in done.out
    assert not Path("schemaman.db").exists()
    if line:
        assert {(file, line) for _, file, line in list_places(ask)} == {(f"data/{name}", line)}


def test_a_named_script_is_checked_in_every_way(place: Path, ask: Run) -> None:
    name = migrate(place, CHANGES["drop"][0])
    commands = [
        ("--sql", name), ("--sql", "db/migration"),
        ("--sql", name, "--dialect", "postgres", "--base", "main"),
        ("--sql", name, "--against", "git:main"), ("db/migration", "--against", "git:main"),
        ("--sql", name, "--against", f"file:schemas/{build_file_name(TABLE)}"),
        ("--sql", name, "--against", "file:schemas"),
    ]  # fmt: skip
    for words in commands:
        assert list_places(ask, *words) == [("column-dropped", f"data/{name}", 3)], words
    done = ask("check", *commands[-1], "--format", "json")
    assert done.code == 1
    (finding,) = done.json["findings"]
    again = ("--sql", name, "--against", "file:schemas")
    assert ask("explain", finding["fingerprint"], *again).code == 0
    why = ("--reason", "unread", "--owner", "ann", "--expires", "30d")
    assert ask("waive", finding["fingerprint"], *again, *why).code == 0
    assert ask("check").code == 0


def test_a_change_of_snapshot_and_migration_is_one_finding(place: Path, ask: Run) -> None:
    migrate(place, "ALTER TABLE orders DROP COLUMN n;")
    accept(place, "id INT NOT NULL, name STRING, PRIMARY KEY (id)")
    assert list_places(ask) == [("column-dropped", "data/db/migration/V2__change.sql", 1)]


def test_a_table_that_a_migration_truncates_is_a_danger(place: Path, ask: Run) -> None:
    name = migrate(place, "TRUNCATE staging.rows;\nTRUNCATE TABLE ONLY audit, public.orders CASCADE;\n")
    assert list_places(ask) == [("table-truncated", f"data/{name}", 2)] * 2
    assert (ask("check").code, ask("check", "--fail-on", "danger").code) == (0, 1)


def test_a_migration_that_ends_the_capture_is_one_danger(place: Path, ask: Run) -> None:
    name = migrate(place, "BEGIN;\nDROP PUBLICATION dbz_publication;\n")
    assert list_places(ask) == [("capture-stopped", f"data/{name}", 2)]
    done = ask("check")
    assert (done.code, ask("check", "--fail-on", "danger").code) == (0, 1)
    assert done.out.count("capture-stopped") == 1
    assert "after DROP PUBLICATION of dbz_publication the connector gets no changes of" in done.out
    assert "unless another publication has it, or dbz_publication never had it" in done.out


def test_of_a_changed_script_only_new_statements_count(place: Path, ask: Run) -> None:
    migrate(place, FIRST + "ALTER TABLE orders ADD b int;\n", "V1__first.sql")
    migrate(place, "DROP TABLE orders;", "U1__first.sql")
    (place / "db" / "migration" / "driver.jar").write_bytes(b"\xff\xfe\x00")
    assert list_places(ask) == [("column-added-nullable", "data/db/migration/V1__first.sql", 2)]
    migrate(place, "ALTER TABLE orders DROP b;", "V10__x.sql")
    migrate(place, "ALTER TABLE orders ADD c int;", "V9__x.sql")
    migrate(place, "ALTER TABLE orders DROP c;", "R__x.sql")
    assert ask("check").out.startswith("✓ pass · no findings")


def test_files_in_other_languages_and_a_missing_dialect_are_told(place: Path, ask: Run) -> None:
    migrate(place, "<databaseChangeLog/>", "changes.xml")
    done = ask("check", "--fail-on", "danger")
    assert done.code == 1
    assert "Liquibase changelog in XML" in done.out
    Path("schemaman.toml").unlink()
    done = ask("check", "--sql", "db/migration/V1__first.sql")
    assert done.code == 2
    assert "--dialect" in done.err
    assert ask("check", "--sql", "gone.sql", "--dialect", "mysql").code == 3
    assert ask("check", "orders", "--sql", "x.sql").code == 2


def test_without_git_the_baseline_is_a_script(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.sql").write_text("CREATE TABLE orders (id bigint PRIMARY KEY, n int);")
    (tmp_path / "V2.sql").write_text("ALTER TABLE orders DROP n;")
    words = ("check", "--sql", "V2.sql", "--dialect", "postgres")
    assert ask(*words).code == 2
    assert ask(*words, "--against", "file:old.sql").code == 1
    (tmp_path / "old.sql").write_text("DO $$ x $$;\nCREATE TABLE orders (id bigint PRIMARY KEY, n int);")
    assert "old.sql:1" in ask(*words, "--against", "file:old.sql").err
    assert not (tmp_path / "schemaman.db").exists()


DELTA: dict[str, Any] = {
    "type": "struct",
    "fields": [{"name": "id", "type": "long", "nullable": False, "metadata": {}}],
}
_ID = {"id": 1, "name": "id", "required": True, "type": "long"}
ICEBERG: dict[str, Any] = {"type": "struct", "schema-id": 1, "fields": [_ID], "identifier-field-ids": [1]}
CONNECT: dict[str, Any] = {"type": "struct", "fields": [{"field": "id", "type": "int64", "optional": False}]}
AVRO: dict[str, Any] = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def with_column(kind: str, type: str) -> str:
    """A schema of a kind whose second column has a type, over several lines where a person would write it."""
    long = type == "long"
    match kind:
        case "spark.json" | "delta.json":
            fields = [*DELTA["fields"], {"name": "n", "type": type, "nullable": True, "metadata": {}}]
            struct = {**DELTA, "fields": fields}
            if kind == "spark.json":
                return json.dumps(struct, indent=1)
            actions = [
                {"commitInfo": {"note": "n"}},
                {"metaData": {"id": "x", "schemaString": json.dumps(struct)}},
            ]
            return "\n".join(map(json.dumps, actions))
        case "iceberg.json" | "metadata.json":
            fields = [
                *ICEBERG["fields"],
                {"id": 2, "name": "n", "required": False, "type": type if long else "int"},
            ]
            schema = {**ICEBERG, "fields": fields}
            old = {"type": "struct", "schema-id": 0, "fields": []}
            whole = {"format-version": 2, "schemas": [old, schema], "current-schema-id": 1}
            return json.dumps(schema if kind == "iceberg.json" else whole, indent=1)
        case "connect.json":
            field: dict[str, Any] = {"field": "n", "type": "int64" if long else "int32", "optional": True}
            return json.dumps({**CONNECT, "fields": [*CONNECT["fields"], field]}, indent=1)
        case "order.avsc":
            field = {"name": "n", "type": ["null", type if long else "int"], "default": None}
            return json.dumps({**AVRO, "fields": [*AVRO["fields"], field]}, indent=1)
        case "list.ddl":
            return f"id BIGINT NOT NULL,\n  n {'BIGINT' if long else 'INT'}"
        case "snapshot.json":
            return to_text(
                Snapshot(TABLE, parse_columns(f"id BIGINT NOT NULL, n {'BIGINT' if long else 'INT'}"))
            )
        case _:
            return f"CREATE TABLE orders (\n  id bigint NOT NULL,\n  n {'bigint' if long else 'int'}\n);"


KINDS = {
    "snapshot.json": 8, "order.avsc": 10, "connect.json": 10, "spark.json": 11, "delta.json": 2,
    "iceberg.json": 13, "metadata.json": 0, "list.ddl": 2, "tables.sql": 1,
}  # fmt: skip
"""Each kind of file with a schema, and the line of its second column; 0 where it is not asked."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_is_checked_alone_and_on_a_branch(place: Path, ask: Run, kind: str) -> None:
    file = place / "proposed" / kind
    file.parent.mkdir()
    file.write_text(with_column(kind, "long"))
    git(place, "add", ".")
    git(place, "commit", "-qm", "schema")
    git(place, "branch", "-qf", "main", "pr")
    (place / f"old-{kind}").write_text(file.read_text())
    file.write_text(with_column(kind, "integer"))
    pair = ask("check", f"file:proposed/{kind}", "--against", f"file:old-{kind}", "--format", "json")
    assert (pair.code, [f["rule"] for f in pair.json["findings"]]) == (1, ["integer-narrowed"]), pair.err
    branch = ask("check", "proposed", "--against", "git:main", "--format", "json")
    assert branch.code == 1, branch.err
    ((rule, name, line),) = list_places(ask, "proposed", "--against", "git:main")
    assert (rule, name) == ("integer-narrowed", f"data/proposed/{kind}")
    assert line == (KINDS[kind] or line)


def test_with_a_store_the_baseline_is_the_newest_version(
    tmp_path: Path, ask: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    event = row_event({"id": node("int32"), "n": node("int64")}, "c", {"id": 1, "n": 2}, offset=0)
    assert event.value is not None
    line = {"topic": "srv.t", "partition": 0, "offset": 0, "key": None, "payload": event.value.decode()}
    (tmp_path / "r.jsonl").write_text(json.dumps(line))
    (tmp_path / "V2.sql").write_text("ALTER TABLE t ALTER n TYPE int;")
    assert ask("ingest", "r.jsonl").code == 0
    done = ask("check", "--sql", "V2.sql", "--dialect", "postgresql", "--format", "json")
    assert done.code == 1
    assert [(f["rule"], f["path"], f["new"]) for f in done.json["findings"]] == [
        ("integer-narrowed", ["n"], "V2.sql:1")
    ]
