"""On Spark: what is wrong with one table stops that table, and no other one of its batch."""

from __future__ import annotations

from pathlib import Path

from schemaman.adapters.schema_registry import NO_REGISTRY
from schemaman.spark.following import TARGETS
from schemaman.stores.sql import SqlStore
from tests.spark.mirrored import Run, frame
from tests.test_mirror_names import HELPERS, told


def test_a_table_that_no_rows_can_be_made_for_stops_alone(spark, tmp_path: Path) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path}/store.db", create=True) as store:
        run = Run(spark, store, "delta", "alone", NO_REGISTRY)
        mine = {"id": 1, **dict.fromkeys(HELPERS, "mine")}
        run.mirror()(frame(spark, [told(0, mine), told(0, {"id": 1, "a": "x"}, table="u")]), 0)
        assert run.withheld() == []
        (table,) = (t for t in store.tables() if t.table == "u")
        name = TARGETS.get("delta").table_name(run.target().address(table))
        # Delta lets in a column of a type that nobody writes.
        spark.sql(f"ALTER TABLE {name} ADD COLUMNS (nothing VOID)")
        for number, small in ((1, 10_000), (2, 0)):
            more = told(number, {**mine, "id": 1 + number})
            batch = [more, told(number, {"id": 1 + number, "a": "y"}, table="u")]
            run.mirror(small)(frame(spark, batch), number)
            good, stopped = run.reports[-1].tables
            assert (good.rows, good.stopped) == (1, None)
            assert (stopped.rows, stopped.aside) == (0, 1)
            assert "no rows can be made of its records: " in (stopped.stopped or "")
            assert "void" in (stopped.stopped or "")
        assert len(run.withheld()) == 2
        spark.sql(f"ALTER TABLE {name} DROP COLUMN nothing")
        run.mirror()(frame(spark, []), 3)
        assert run.withheld() == []
        found = {t.source.table: t.rows for t in run.lake()}
        assert [row["__reason"] for row in found["t"]] == ["mine"] * 3
        assert sorted(str(row["a"]) for row in found["u"]) == ["x", "y", "y"]
