"""The command line over lakes on paper: whole lives of tables, from records to plans that are applied."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.api import spark_session
from schemaman.migration.target import LakeTable
from schemaman.migration.targets import delta, iceberg
from schemaman_cli.main import main
from tests.support.command_result import Done
from tests.support.memory_lake import PaperLake

_STATEMENT = re.compile(
    r"(?:CREATE TABLE|ALTER TABLE|UPDATE|COMMENT ON TABLE|CREATE NAMESPACE IF NOT EXISTS) "
    r"((?:`(?:[^`]|``)+`\.?)+)"
)
_JDBC = {"INT": 4, "BIGINT": -5, "VARCHAR": 12, "DATE": 91, "TEXT": 12}
Told = tuple[str, str]


class PaperLakes:
    """Several tables, each by the name that SQL has for it."""

    def __init__(self) -> None:
        self.tables: dict[str, PaperLake] = {}
        self.before: Callable[[str], None] = lambda _: None

    def of(self, table: str, format: str = "iceberg") -> PaperLake:
        """The lake of one table, be it there or not."""
        target = iceberg.TARGET if format == "iceberg" else delta.TARGET
        return self.tables.setdefault(target.table_name(table), PaperLake(table))

    def inspect(self, table: str, format: str) -> LakeTable | None:
        live = self.of(table, format).live
        return replace(live, name=table) if live is not None else None

    def run(self, statement: str) -> None:
        self.before(statement)
        found = _STATEMENT.match(statement)
        assert found, statement
        if not statement.startswith("CREATE NAMESPACE"):
            self.tables.setdefault(found[1], PaperLake(found[1])).run(statement)

    def query(self, statement: str) -> tuple[tuple[object, ...], ...]:
        return ((0,),) if statement.startswith("SELECT") else (("x", "hive"),)


class Commands:
    """Runs command lines in an empty folder whose settings name one target, `raw`."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self.capture = capture
        self.lakes = PaperLakes()
        self.told = 0
        self.place = 0

    def __call__(self, *words: object) -> Done:
        self.capture.readouterr()
        code = main([str(word) for word in words])
        out, err = self.capture.readouterr()
        return Done(code, out.decode(), err.decode())

    def settings(self, format: str = "iceberg", table: str = "ice.raw.{table}", more: str = "") -> None:
        """Another target, for every table of the database `app`; `more` is TOML in front of it."""
        path = "path" if table.startswith("/") else "table"
        target = f'[[target]]\nname="raw"\nformat="{format}"\ntables="app.*"\n{path}="{table}"\n'
        Path("schemaman.toml").write_text(more + target, encoding="utf-8")

    def says(self, *payloads: dict[str, object]) -> None:
        """The source tells of changes of structure."""
        lines = [
            {"topic": "srv", "partition": 0, "offset": self.told + n, "tstype": "create",
             "ts": 1_700_000_000_000, "key": json.dumps({"databaseName": "app"}),
             "payload": json.dumps(payload)}
            for n, payload in enumerate(payloads)
        ]  # fmt: skip
        self.told += len(lines)
        Path("r.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def learns(self, *payloads: dict[str, object]) -> None:
        """The same, and it is ingested."""
        self.says(*payloads)
        assert self("ingest", "r.jsonl").code == 0

    def table(
        self,
        columns: Sequence[Told],
        *,
        name: str = "orders",
        key: Sequence[str] = ("id",),
        ddl: str = "",
        type: str = "ALTER",
        database: str = "app",
    ) -> dict[str, object]:
        """A schema-change record of MySQL: the columns that a table has now."""
        self.place += 100
        image = {
            "defaultCharsetName": "utf8mb4", "primaryKeyColumnNames": list(key), "comment": None,
            "columns": [_column(n, *column, key) for n, column in enumerate(columns, 1)],
        }  # fmt: skip
        source = {
            "version": "3.4.1.Final", "connector": "mysql", "name": "srv", "snapshot": "false",
            "ts_ms": 1_700_000_000_000 + self.place, "db": database, "table": name, "server_id": 1,
            "gtid": None, "file": "bin.000001", "pos": self.place, "row": 0,
        }  # fmt: skip
        change = {"type": type, "id": f'"{database}"."{name}"', "previousId": None, "table": image}
        return {
            "source": source, "ts_ms": source["ts_ms"], "databaseName": database, "schemaName": None,
            "ddl": ddl or type.lower(), "tableChanges": [change],
        }  # fmt: skip

    def moved(self, *words: object, plan: str = "p.plan.json") -> Done:
        """Planned, approved and applied."""
        planned = self("plan", "orders", "-o", plan, *words)
        assert planned.code == 0, planned
        return self.applied(plan)

    def applied(self, plan: str) -> Done:
        """Approved and applied."""
        self("approve", plan, "--yes")
        return self("apply", plan)

    def live(self, table: str = "ice.raw.orders") -> LakeTable:
        """A table as it stands."""
        live = self.lakes.of(table).live
        assert live is not None
        return live

    def change(self, action: str, table: str = "ice.raw.orders") -> None:
        """Somebody else changes a table."""
        self.lakes.of(table).run(f"ALTER TABLE {iceberg.TARGET.table_name(table)} {action}")


def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]
) -> Commands:
    """Command lines in an empty folder, without Spark."""
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("SCHEMAMAN_")]:
        monkeypatch.delenv(name)
    made = Commands(capture)
    monkeypatch.setattr(spark_session, "_open_session", lambda workspace: None)
    monkeypatch.setattr("schemaman.spark.executor.SparkExecutor", lambda spark: made.lakes)
    made.settings()
    return made


def _column(place: int, name: str, type: str, key: Sequence[str]) -> dict[str, object]:
    return {
        "name": name, "jdbcType": _JDBC[type], "nativeType": None, "typeName": type, "typeExpression": type,
        "charsetName": None, "length": 20 if type == "VARCHAR" else None, "scale": None, "position": place,
        "optional": name not in key, "autoIncremented": False, "generated": False, "comment": None,
        "hasDefaultValue": False, "enumValues": [],
    }  # fmt: skip
