"""Plans on real tables from the command line and from Python: dry runs, clones, stores, several at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import schemaman as sm
from schemaman.errors import PartlyApplied, StatementFailed
from schemaman.migration.apply.apply import apply, check
from schemaman.migration.apply.clone import NAMESPACE, make_rehearsal
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.properties.names import STORE_PROPERTY
from schemaman.spark.executor import SparkExecutor
from schemaman.store.sql.store import SqlStore
from tests.spark.formats import both, on_iceberg
from tests.spark.ten_steps import Table, commits, planned, prepared, versions
from tests.support.chain import TARGETS
from tests.support.checkout import ROOT
from tests.support.command_line import Run

pytestmark = pytest.mark.spark


def clones(executor: SparkExecutor, format: str) -> list[Any]:
    catalog = "spark_catalog" if format == "delta" else "ice"
    return list(executor.query(f"SHOW TABLES IN {catalog}.{NAMESPACE}"))


@on_iceberg
def test_a_plan_is_tried_on_an_empty_clone_first(spark, warehouse: Path, tmp_path: Path, format: str) -> None:
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path}/s.db", create=True) as store:
        table = prepared(executor, store, warehouse, tmp_path, format, f"cloned_{format}")
        before = commits(executor, table)
        rehearse = make_rehearsal(executor, TARGETS[format], "try")
        told = check(
            table.plan, executor, StoreJournal(store), store.now_ms, store=store.id, rehearse=rehearse
        )
        assert (told.state, len(told.outcomes)) == ("checked", 10)
        assert clones(executor, format) == []
        assert commits(executor, table) == before
        done = apply(
            table.plan,
            executor,
            StoreJournal(store),
            store.now_ms,
            run="r",
            store=store.id,
            rehearse=rehearse,
        )
        assert (done.state, done.differences) == ("applied", ())
        assert executor.query(f"SELECT count(*) FROM {table.name}") == ((1,),)


class _Balky(SparkExecutor):
    """A lake that refuses to add columns."""

    def run(self, statement: str) -> None:
        if "ADD COLUMNS" in statement:
            raise StatementFailed("no columns today")
        super().run(statement)


@on_iceberg
def test_what_fails_on_the_clone_is_not_done_to_the_table(
    spark, warehouse: Path, tmp_path: Path, format: str
) -> None:
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path}/s.db", create=True) as store:
        table = prepared(executor, store, warehouse, tmp_path, format, f"balky_{format}")
        before = commits(executor, table)
        balky = _Balky(spark)
        rehearse = make_rehearsal(balky, TARGETS[format], "try")
        with pytest.raises(StatementFailed, match=r"tried on an empty clone.*no columns today"):
            apply(
                table.plan,
                balky,
                StoreJournal(store),
                store.now_ms,
                run="r",
                store=store.id,
                rehearse=rehearse,
            )
        assert commits(executor, table) == before
        assert clones(executor, format) == []
        with pytest.raises(PartlyApplied, match="step 10 of 10"):
            apply(table.plan, balky, StoreJournal(store), store.now_ms, run="r", store=store.id)


@both
def test_a_clone_has_the_layout_of_its_table(spark, warehouse: Path, tmp_path: Path, format: str) -> None:
    """What the planner allows and the engine refuses because of the layout is refused on the clone, too."""
    executor = SparkExecutor(spark)
    name = str(warehouse / "laid_out") if format == "delta" else "ice.ten.laid_out"
    sql = TARGETS[format].table_name(name)
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.ten")
    executor.run(
        f"CREATE TABLE {sql} (id INT NOT NULL COMMENT 'it\\'s', `a.b` STRING, s STRUCT<x: INT>, d DATE) "
        f"USING {format} PARTITIONED BY (d) TBLPROPERTIES ('one' = 'it\\'s')"
    )
    if format == "iceberg":
        executor.run(f"ALTER TABLE {sql} SET IDENTIFIER FIELDS id")
        executor.run(f"ALTER TABLE {sql} WRITE ORDERED BY id")
    first = versions(
        "id INT NOT NULL COMMENT 'it\\'s' ID 1, `a.b` STRING ID 2, s STRUCT<x: INT> ID 3, d DATE ID 4, "
        "PRIMARY KEY (id)"
    )[0]
    table = planned(executor, tmp_path, format, name, first)
    seen: list[Any] = []

    class Looking(SparkExecutor):
        def inspect(self, table: str, format: str):
            live = super().inspect(table, format)
            seen.append(live)
            return live

    make_rehearsal(Looking(spark), TARGETS[format], "try")(table.plan)
    live = executor.inspect(name, format)
    assert live is not None
    assert seen[0].schema == live.schema
    assert seen[0].layout == live.layout
    assert seen[0].properties["one"] == "it's"
    assert clones(executor, format) == []


def test_a_table_of_another_store_several_plans_and_a_dry_run(
    spark, warehouse: Path, tmp_path: Path, run: Run
) -> None:
    executor = SparkExecutor(spark)
    plans = tmp_path / "plans"
    plans.mkdir()
    with SqlStore.open(f"sqlite:///{tmp_path}/elsewhere.db", create=True) as elsewhere:
        theirs = prepared(executor, elsewhere, warehouse, tmp_path, "iceberg", "theirs")
        elsewhere_id = elsewhere.id
    with SqlStore.open(f"sqlite:///{tmp_path}/schemaman.db", create=True) as store:
        ours = prepared(executor, store, warehouse, tmp_path, "iceberg", "ours")
    for table in (theirs, ours):
        (plans / f"{table.table}.plan.json").write_bytes(table.file.read_bytes())
    dry = run("apply", ours.file, "--dry-run", "--format", "json")
    assert dry.code == 0
    told = json.loads(dry.out)
    assert (told["state"], {s["state"] for s in told["steps"]}) == ("checked", {"pending"})
    assert commits(executor, ours)[ours.commits :] == []

    done = run("apply", plans, "--format", "json")
    assert done.code == 4
    runs = {r["table"]: r for r in json.loads(done.out)["runs"]}
    assert runs[ours.table]["state"] == "applied"
    assert runs[theirs.table]["state"] == "failed"
    assert elsewhere_id in runs[theirs.table]["reasons"][0]
    assert "--take-over" in runs[theirs.table]["reasons"][1]
    alone = run("apply", theirs.file)
    assert (alone.code, "belongs to the store" in alone.err) == (4, True)
    assert run("apply", theirs.file, "--take-over", "--clone").code == 0
    assert _property(executor, theirs) != elsewhere_id
    text = run("status").out
    assert "10 of 10" in text


def _property(executor: SparkExecutor, table: Table) -> str:
    live = executor.inspect(table.table, table.format)
    assert live is not None
    return live.properties[STORE_PROPERTY]


def test_a_plan_is_applied_from_python_as_the_page_says(spark, warehouse: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "applying.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec("\n".join(code), names)
    url = f"sqlite:///{tmp_path}/s.db"
    with sm.open(url, create=True) as registry:
        sm.ingest(ROOT / "fixtures" / "captures" / "postgres" / "shop-crash", registry)
    done = names["migrate"](spark, url, "returns@1", "ice.ten.from_python")
    assert (done.state, done.differences) == ("applied", ())
