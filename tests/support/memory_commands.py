"""The command line over a lake in memory: whole lives of tables, from records to plans that are applied."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from schemaman.api import spark_session
from schemaman.migration.target import LakeTable
from schemaman.migration.targets import iceberg
from tests.support.command_line import Done, finished
from tests.support.memory_lake import MemoryLake

_JDBC = {"INT": 4, "BIGINT": -5, "VARCHAR": 12, "DATE": 91, "TEXT": 12}
Told = tuple[str, str]


class Commands:
    """Runs command lines in an empty folder whose settings name one target, `raw`."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self.capture = capture
        self.lake = MemoryLake()
        self.told = 0
        self.place = 0

    def __call__(self, *words: object) -> Done:
        return finished(self.capture, words)

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
        live = self.lake.table(table).live
        assert live is not None
        return live

    def change(self, action: str, table: str = "ice.raw.orders") -> None:
        """Somebody else changes a table."""
        self.lake.table(table).run(f"ALTER TABLE {iceberg.TARGET.table_name(table)} {action}")


@pytest.fixture
def commands(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    """Command lines in an empty folder, without Spark."""
    made = Commands(capfdbinary)
    monkeypatch.setattr(spark_session, "_open_session", lambda workspace: None)
    monkeypatch.setattr("schemaman.spark.executor.SparkExecutor", lambda spark: made.lake)
    made.settings()
    return made


def _column(place: int, name: str, type: str, key: Sequence[str]) -> dict[str, object]:
    return {
        "name": name, "jdbcType": _JDBC[type], "nativeType": None, "typeName": type, "typeExpression": type,
        "charsetName": None, "length": 20 if type == "VARCHAR" else None, "scale": None, "position": place,
        "optional": name not in key, "autoIncremented": False, "generated": False, "comment": None,
        "hasDefaultValue": False, "enumValues": [],
    }  # fmt: skip
