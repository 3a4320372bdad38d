"""Random recordings of MariaDB: their statements, the catalogue beside them, and where an event belongs."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench import random_mariadb
from bench.mariadb_source import MariaDbSource, describe_tables, is_dml
from tests.lake_state.recording import Event
from tests.lake_state.row_numbers import ROW
from tests.lake_state.truth import MariaDbTruth
from tests.live.mariadb import mariadb
from tests.live.process import NotReady

FORMS = (
    "INSERT IGNORE", "REPLACE INTO", "ON DUPLICATE KEY UPDATE", "UPDATE ", "DELETE FROM", "TRUNCATE TABLE",
    "ADD COLUMN", " FIRST", " AFTER ", "GENERATED ALWAYS AS", "DROP COLUMN", "MODIFY", "CHANGE COLUMN",
    "RENAME COLUMN", "RENAME TABLE", "TO shop.between_them, ", "RENAME TO", "DROP PRIMARY KEY",
    "ADD PRIMARY KEY", "AUTO_INCREMENT PRIMARY KEY", "UNIQUE KEY", "CREATE UNIQUE INDEX", "DROP INDEX",
    "SET DEFAULT", "NOT NULL", "DROP TABLE", "CREATE TABLE", " LIKE shop.", "`tags 2`", "`größe`", "unsigned",
)  # fmt: skip


def make_column(name: str, type: str, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "type": type, "not_null": required, "indexed": required} | {
        "generated": False,
        "auto_increment": False,
    }


def make_table(name: str) -> dict[str, Any]:
    columns = [
        make_column("id", "int(11)", required=True),
        make_column("größe", "enum('eur','usd','chf')"),
        make_column("note", "varchar(20)"),
        make_column(ROW, "bigint(20)", required=True),
    ]
    return {
        "name": name,
        "columns": columns,
        "primary_key": {"columns": ["id"]},
        "unique_indexes": [{"name": "u_1"}],
    }


def make_statements(seed: int) -> list[str]:
    chance = random.Random(seed)
    tables = [make_table(name) for name in random_mariadb.TABLES[4:9]]
    made = random_mariadb.make_tables(chance, 6)
    for _ in range(3000):
        made += random_mariadb.make_transaction(chance, tables).statements
    return made


def test_every_form_of_a_statement_is_made_and_a_seed_makes_the_same() -> None:
    made = make_statements(1)
    assert [form for form in FORMS if not any(form in sql for sql in made)] == []
    assert made == make_statements(1)
    assert made != make_statements(2)


def test_no_statement_changes_the_number_of_a_row() -> None:
    made = [sql.replace(f"(concat(`{ROW}`, '!'))", "") for sql in make_statements(3)]
    named = [sql for sql in made if ROW in sql]
    assert all(sql.startswith("CREATE TABLE") and sql.count(ROW) == 2 for sql in named)


def test_a_table_is_described_with_its_key_and_its_indexes() -> None:
    column = {"table": "orders", "name": "id", "type": "int(11)", "nullable": "NO", "extra": "",
              "generated": "NEVER", "position": 1}  # fmt: skip
    indexes = [
        {"table": "orders", "index": index, "column": name}
        for index, name in (("PRIMARY", "line"), ("PRIMARY", "id"), ("u_1", "id"))
    ]
    (found,) = describe_tables([column], indexes).values()
    assert (found["db"], found["table"]) == ("shop", "orders")
    assert (found["primary_key"], found["unique_indexes"]) == (["line", "id"], {"u_1": ["id"]})
    assert [(c["name"], c["nullable"], c["generated"]) for c in found["columns"]] == [("id", False, False)]


@dataclass
class FakeClient:
    """A client of a database with a table that refuses statements with the word `refused`."""

    asked: list[str] = field(default_factory=list)

    def ask(self, sql: str) -> list[str]:
        self.asked.append(sql)
        if "refused" in sql:
            return ["ERROR 1062 (23000) at line 1: Duplicate entry", "-1"]
        if "MASTER STATUS" in sql:
            return [f"binlog.000001\t{100 * len(self.asked)}\t\t"]
        if "last_gtid" in sql:
            return ["0-1-7"]
        return ["1"] if "row_count" in sql else []


def run(*statements: str) -> tuple[str | None, list[list[str]], list[str]]:
    client = FakeClient()
    source = MariaDbSource(client)  # type: ignore[arg-type]
    transaction = source.run(statements)
    return transaction, [step["sql"] for step in source.steps], client.asked


def test_rows_are_written_in_one_transaction() -> None:
    transaction, steps, asked = run("INSERT INTO a VALUES (1)", "DELETE FROM a")
    assert (transaction, steps) == ("0-1-7", [["INSERT INTO a VALUES (1)", "DELETE FROM a"]])
    assert asked[0] == "BEGIN"
    assert "COMMIT" in asked


def test_a_transaction_with_a_refused_statement_is_no_step() -> None:
    transaction, steps, asked = run("DELETE FROM a", "INSERT INTO refused VALUES (1)")
    assert (transaction, steps, asked[-1]) == (None, [], "ROLLBACK")


def test_changes_of_tables_are_steps_up_to_the_one_that_is_refused() -> None:
    transaction, steps, _ = run("ALTER TABLE a FORCE", "ALTER TABLE refused FORCE", "ALTER TABLE b FORCE")
    assert (transaction, steps) == (None, [["ALTER TABLE a FORCE"]])
    assert not is_dml("TRUNCATE TABLE a")


def test_a_server_that_is_not_there_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotReady, match=r"needs mariadbd, .* on the PATH: install the package mariadb-server"):
        mariadb().__enter__()


def describe(columns: Sequence[str], name: str = "orders") -> dict[str, Any]:
    return {
        "db": "shop",
        "table": name,
        "columns": [{"name": c, "type": "int(11)", "nullable": True, "generated": False} for c in columns],
        "primary_key": ["id"],
        "unique_indexes": {},
    }


def make_truth(folder: Path, *steps: tuple[str, int, Sequence[Mapping[str, Any]]]) -> MariaDbTruth:
    """The truth of statements, each with the position at which it ended and the tables that it changed."""
    lines = [
        {"sql": [sql] if sql else [], "binlog": {"file": "binlog.000001", "pos": position},
         "changed_tables": tables, "dropped_tables": []}
        for sql, position, tables in steps
    ]  # fmt: skip
    (folder / "truth.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return MariaDbTruth(folder)


def make_event(op: str, position: int, row: Mapping[str, Any]) -> Event:
    source = {"db": "shop", "table": "orders", "file": "binlog.000001", "pos": position, "row": 0}
    return Event(("shop.shop.orders", 0, 0), 0, op, None, None, row, source)


def test_an_event_belongs_to_the_step_whose_part_of_the_binlog_has_it(tmp_path: Path) -> None:
    first, second = describe(["id", "a"]), describe(["id", "b"])
    rename = "ALTER TABLE shop.orders RENAME COLUMN a TO b"
    truth = make_truth(tmp_path, ("", 100, [first]), (rename, 200, [second]), ("", 300, []))
    # A snapshot has the position at which the step before it ended.
    read, inserted = make_event("r", 100, {"id": 1, "a": 1}), make_event("c", 200, {"id": 1, "b": 1})
    assert (truth.place(read).order[0], truth.place(inserted).order[0]) == (0, 2)
    assert truth.place(read).fields["a"].id == truth.place(inserted).fields["b"].id


@pytest.mark.parametrize(
    ("statement", "is_same"),
    [
        ("ALTER TABLE shop.orders DROP COLUMN a, ADD COLUMN a int", False),
        ("ALTER TABLE shop.orders MODIFY a int FIRST", True),
        ("ALTER TABLE shop.orders RENAME COLUMN a TO b, RENAME COLUMN b TO a", False),
        ("ALTER TABLE shop.orders DROP COLUMN a, RENAME COLUMN b TO a", False),
    ],
)
def test_a_column_is_known_by_what_a_statement_does_with_its_name(
    tmp_path: Path, statement: str, is_same: bool
) -> None:
    table = describe(["id", "a", "b"])
    first, last = make_truth(tmp_path, ("", 100, [table]), (statement, 200, [table])).states
    old, new = ({c.name: c.id for t in state.values() for c in t.columns} for state in (first, last))
    assert (new["a"] == old["a"]) == is_same


def test_a_table_keeps_its_columns_when_one_statement_alters_and_renames_it(tmp_path: Path) -> None:
    statement = "ALTER TABLE shop.orders RENAME COLUMN a TO b, RENAME TO shop.`tags 2`"
    renamed = describe(["id", "b"], "tags 2")
    first, last = make_truth(tmp_path, ("", 100, [describe(["id", "a"])]), (statement, 200, [renamed])).states
    assert [[c.id for c in table.columns] for table in first.values()] == [
        [c.id for c in table.columns] for table in last.values()
    ]
    assert first.keys() == last.keys()
