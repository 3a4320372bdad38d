"""A mirrored table that goes on in a new one, on real tables: graves stay graves, the stream goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.debezium.records import Record
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.policy import Policy
from schemaman.migration.recipes.recipes import RecipePlanner
from schemaman.migration.settings import TargetSetting
from schemaman.migration.source import migration_source
from schemaman.migration.target import TARGETS
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.streaming.sink import LakeSink
from schemaman.store.sql.store import SqlStore
from tests.spark.formats import on_iceberg
from tests.spark.recordings_in_tables import Run, frame
from tests.spark.test_migrate import run
from tests.support.records import Node, node, row_event

pytestmark = pytest.mark.spark
INT, TEXT = node("int32", optional=True), node("string", optional=True)
OLD = {"id": node("int32"), "n": TEXT, "gone": TEXT}
NOW = {"id": node("int32"), "n": INT}


def told(offset: int, op: str, row: dict[str, object], types: dict[str, Node]) -> Record:
    return row_event(types, op, row, offset=offset, ts_ms=offset)


@on_iceberg
def test_a_mirror_goes_on_in_the_table_that_took_its_rows_over(spark, tmp_path: Path, format: str) -> None:
    executor = SparkExecutor(spark)
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        old = Run(spark, store, format, f"taken_over_{format}", NO_REGISTRY, Policy())
        first = [told(n, "c", {"id": n, "n": f"{n}", "gone": "x"}, OLD) for n in (1, 2)]
        old.mirror()(frame(spark, [*first, told(3, "d", {"id": 2, "n": "2", "gone": "x"}, OLD)]), 0)
        old.mirror()(frame(spark, [told(4, "u", {"id": 1, "n": 5}, NOW)]), 1)
        (table,) = store.tables()
        address = old.target().address(table)
        new = f"{address}_new" if format == "delta" else f"ice.{old.name}.taken"
        live = executor.inspect(address, format)
        followed = store.history(table)
        assert live is not None
        assert followed is not None
        target = TARGETS.get(format)
        for plan in RecipePlanner(migration_source(followed), target, address, Policy()).make_plans(
            live, new
        ):
            run(plan, executor)
        table_name, path = (None, new) if format == "delta" else (new, None)
        moved = TargetSetting("moved", format, (table.table,), table=table_name, path=path)
        mirror = LakeSink(store, [moved], old.quarantine(), policy=Policy(), on_report=old.reports.append)
        late = told(0, "c", {"id": 2, "n": "0", "gone": "old"}, OLD)
        mirror(frame(spark, [told(4, "u", {"id": 1, "n": 5}, NOW), late]), 2)
        assert [t.blocked for t in old.reports[-1].tables] == [None]
        rows = f"SELECT id, n, gone, _row_deleted FROM {target.table_name(new)} ORDER BY id"
        assert executor.query(rows) == ((1, 5, "x", False), (2, None, None, True))
