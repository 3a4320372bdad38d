"""On Spark: what is wrong with one table stops that table, and no other one of its batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.target import TARGETS
from schemaman.store.sql.store import SqlStore
from tests.spark.recordings_in_tables import Run, frame
from tests.streaming.test_row_column_names import HELPERS, told


def test_a_table_that_refuses_its_rows_stops_alone(spark, tmp_path: Path) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        run = Run(spark, store, "delta", "alone", NO_REGISTRY)
        mine = {"id": 1, **dict.fromkeys(HELPERS, "mine")}
        run.mirror()(frame(spark, [told(0, mine), told(0, {"id": 1, "a": "x"}, table="u")]), 0)
        assert run.withheld() == []
        (table,) = (t for t in store.tables() if t.table == "u")
        name = TARGETS.get("delta").table_name(run.target().address(table))
        spark.sql(f"ALTER TABLE {name} ADD CONSTRAINT small CHECK (id < 2)")
        for number, small in ((1, 10_000), (2, 0)):
            more = told(number, {**mine, "id": 1 + number})
            batch = [more, told(number, {"id": 1 + number, "a": "y"}, table="u")]
            run.mirror(small)(frame(spark, batch), number)
            good, stopped = run.reports[-1].tables
            assert (good.rows, good.blocked) == (1, None)
            assert (stopped.rows, stopped.quarantined) == (0, 1)
            assert "CHECK" in (stopped.blocked or "").upper()
        assert len(run.withheld()) == 2
        spark.sql(f"ALTER TABLE {name} DROP CONSTRAINT small")
        run.mirror()(frame(spark, []), 3)
        assert run.withheld() == []
        found = {t.source.table: t.rows for t in run.lake()}
        assert [row["__reason"] for row in found["t"]] == ["mine"] * 3
        assert sorted(str(row["a"]) for row in found["u"]) == ["x", "y", "y"]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_number_that_comes_again_with_other_records_leaves_none_out(
    spark, tmp_path: Path, format: str
) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        run = Run(spark, store, format, "numbers", NO_REGISTRY)
        records = [told(number, {"id": number, "a": "x"}) for number in range(5)]
        taken = [(0, records[:1]), (1, records[1:2]), (2, records[2:3]), (1, records[1:2])]
        # as after a checkpoint that was put back: numbers that were used, for other records, and once more
        again = [(1, records[2:4]), (1, records[2:4]), (2, records[4:])]
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", "numbers")
        try:
            for number, batch in taken:
                run.mirror()(frame(spark, batch), number)
            (table,) = store.tables()
            name = TARGETS.get(format).table_name(run.target().address(table))
            before = _commits(spark, format, name)
            mirror = run.mirror()
            for number, batch in again:
                mirror(frame(spark, batch), number)
        finally:
            spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
        assert sorted(row["id"] for row in run.lake()[0].rows) == [0, 1, 2, 3, 4]
        assert _commits(spark, format, name) - before == 2
        if format == "delta":
            notes = [t.notes for report in run.reports for t in report.tables]
            assert [bool(said) for said in notes] == [False] * 4 + [True, False, True]
            assert "batch 1 has a number that other records had before" in notes[4][0]


def _commits(spark, format: str, name: str) -> int:
    said = f"DESCRIBE HISTORY {name}" if format == "delta" else f"SELECT * FROM {name}.snapshots"
    return spark.sql(said).count()
