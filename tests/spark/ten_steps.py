"""A plan of ten steps on a real table, and what the table's own format says of which of them ran."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from schemaman.migration.apply.apply import apply
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan import MigrationSource, Plan, Policy
from schemaman.migration.plan_file import plan_hash, to_text
from schemaman.migration.planner import make_plan
from schemaman.model.column_list import parse_columns
from schemaman.spark.executor import SparkExecutor
from schemaman.store.log import MigrationEntry
from schemaman.store.sql.store import SqlStore
from tests.support.chain import TARGETS
from tests.support.random_histories import source

FIRST = """id INT NOT NULL ID 1, a VARCHAR(9) ID 2, b VARCHAR(9) ID 3, c INT ID 4, e INT ID 5,
n INT NOT NULL ID 6, s STRUCT<x: INT> ID 7, PRIMARY KEY (id)"""
LATER = """id BIGINT NOT NULL ID 1, b VARCHAR(9) ID 2, a VARCHAR(9) ID 3, c2 BIGINT COMMENT 'was c' ID 4,
e2 INT ID 5, n INT NOT NULL ID 6, s STRUCT<x: BIGINT> ID 7, d DATE ID 8,
PRIMARY KEY (id), COMMENT 'ten steps later'"""
ROW = "1, 'was a', 'was b', 3, 4, 5, named_struct('x', 6)"
READ = ("id, b, a, c2, e2, n, s.x, d", (1, "was a", "was b", 3, 4, 5, 6, None))
STEPS = 10


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a row, and the plan that waits for it; `commits` were made before."""

    format: str
    table: str
    plan: Plan
    file: Path
    commits: int

    @property
    def name(self) -> str:
        """The table as SQL writes it."""
        return TARGETS[self.format].table_name(self.table)


def versions(*ddl: str) -> list[MigrationSource]:
    """Versions of a table in words; column ids say which column is which."""
    schemas = [parse_columns(text) for text in ddl]
    return [source(schemas[: n + 1]) for n in range(len(schemas))]


def prepared(
    executor: SparkExecutor, store: SqlStore, warehouse: Path, folder: Path, format: str, name: str
) -> Table:
    """A table as the first version has it, made by a plan, with a row in it."""
    table = str(warehouse / name) if format == "delta" else f"ice.ten.{name}"
    first, later = versions(FIRST, LATER)
    made = make_plan(first, None, TARGETS[format], table, Policy())
    apply(made, executor, StoreJournal(store), store.now_ms, run="made", store=store.id)
    sql = TARGETS[format].table_name(table)
    executor.run(f"INSERT INTO {sql} VALUES ({ROW})")
    drawn = planned(executor, folder, format, table, later)
    return replace(drawn, commits=len(commits(executor, drawn)))


def planned(
    executor: SparkExecutor, folder: Path, format: str, table: str, following: MigrationSource
) -> Table:
    """The plan that brings a table where the source is, in a file."""
    plan = make_plan(following, executor.inspect(table, format), TARGETS[format], table, Policy())
    assert plan.refusals == ()
    file = folder / f"{plan_hash(plan)[:12]}.plan.json"
    file.write_text(to_text(plan), encoding="utf-8")
    return Table(format, table, plan, file, 0)


def commits(executor: SparkExecutor, table: Table) -> list[str]:
    """What each commit on the table did, oldest first: `mark` for those that only told whose run it is."""
    return list(_delta(executor, table) if table.format == "delta" else _iceberg(executor, table))


def _delta(executor: SparkExecutor, table: Table) -> Iterator[str]:
    rows = executor._spark.sql(f"DESCRIBE HISTORY {table.name}").orderBy("version").collect()
    for row in rows:
        properties = json.loads(row["operationParameters"].get("properties", "{}"))
        yield (
            "mark"
            if "schemaman.fence" in properties and "CREATE" not in row["operation"]
            else row["operation"]
        )


def _iceberg(executor: SparkExecutor, table: Table) -> Iterator[str]:
    query = f"SELECT file FROM {table.name}.metadata_log_entries ORDER BY timestamp"
    before: dict[str, Any] = {}
    for (file,) in executor.query(query):
        metadata = json.loads(Path(str(file).removeprefix("file:")).read_text(encoding="utf-8"))
        now = {k: v for k, v in metadata.items() if k not in ("last-updated-ms", "metadata-log")}
        changed = {k for k in now if now[k] != before.get(k)}
        properties, earlier = now["properties"], before.get("properties", {})
        set_now = {k for k in properties if properties[k] != earlier.get(k)}
        mark = changed == {"properties"} and set_now <= {f"schemaman.{k}" for k in ("store", "plan", "fence")}
        yield "mark" if mark else ", ".join(sorted(changed))
        before = now


def require_done(executor: SparkExecutor, store: SqlStore, table: Table) -> int:
    """Fails unless every step ran once, the table is as wanted, its row read right and the journal true.

    The number of marks beside the steps.
    """
    live = executor.inspect(table.table, table.format)
    assert live is not None
    assert live.schema == table.plan.wanted
    columns, row = READ
    assert executor.query(f"SELECT {columns} FROM {table.name}") == (row,)
    since = commits(executor, table)[table.commits :]
    marks = since.count("mark")
    assert len(since) - marks == len(table.plan.steps), since
    require_true(list(StoreJournal(store).read_plan_lines(plan_hash(table.plan))), table.plan)
    return marks


def require_true(lines: list[MigrationEntry], plan: Plan) -> None:
    """Fails unless the journal tells of every step once that it was done, in order, and begun before that."""
    assert lines[-1].state == "finished"
    ends: dict[int, list[str]] = {}
    for line in lines:
        if line.step is None:
            continue
        assert line.statement == plan.steps[line.step].statement
        ends.setdefault(line.step, []).append(line.state)
    assert sorted(ends) == list(range(len(plan.steps)))
    for states in ends.values():
        assert states[0] == "intent"
        assert states.count("done") <= 1
        told = [state for state in states if state in ("done", "skipped")]
        assert told, "nobody says what became of it"
        assert "failed" not in states
        assert "intent" not in states[states.index(told[0]) :], "begun again after it was done"
