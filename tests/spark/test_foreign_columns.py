"""Real tables that somebody else made: what they fill themselves, what others fill, what nothing fills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemaman.errors import StatementFailed
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.exchanged_names import NameCheck, check_names
from schemaman.migration.row_columns import DELETED
from schemaman.migration.target import TARGETS
from schemaman.migration.target_id import target_id
from schemaman.model.schema import TableId
from schemaman.spark.executor import SparkExecutor
from schemaman.store.sql.store import SqlStore
from tests.spark.formats import both, on_iceberg
from tests.spark.recordings_in_tables import Run, frame
from tests.streaming.test_policy import told

pytestmark = pytest.mark.spark
TABLE = TableId("srv", "shop", "public", "t")
DEFAULTS = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"


def standing(run: Run, columns: str, more: str, *statements: str) -> str:
    """A table that somebody else made; its name in SQL. `T` in a statement stands for it."""
    executor = SparkExecutor(run.spark)
    name = TARGETS.get(run.format).table_name(run.target().address(TABLE))
    if run.format == "iceberg":
        executor.run(f"CREATE NAMESPACE IF NOT EXISTS ice.{run.name}")
    for statement in (f"CREATE TABLE T ({columns}) USING {run.format} {more}", *statements):
        executor.run(statement.replace(" T ", f" {name} "))
    return name


def rows(run: Run) -> list[dict[str, Any]]:
    (table,) = run.lake()
    alive = (row for row in table.rows if not row[DELETED])
    plain = [{n: v for n, v in row.items() if not n.startswith("_row_")} for row in alive]
    return sorted(plain, key=lambda row: row["id"])


def test_delta_fills_its_own_columns(spark, tmp_path: Path) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, "delta", "filled", NO_REGISTRY)
        standing(
            run,
            "id INT NOT NULL, n INT, twice INT GENERATED ALWAYS AS (CAST(n * 2 AS INT)), "
            "loaded_by STRING NOT NULL DEFAULT 'etl'",
            DEFAULTS,
            "INSERT INTO T (id, n, loaded_by) VALUES (1, 1, 'by hand')",
        )
        run.mirror()(frame(spark, [told(0, "c", {"id": 1, "n": 2}), told(1, "c", {"id": 2, "n": 5})]), 0)
        first = {"id": 1, "n": 2, "twice": 4, "loaded_by": "by hand"}
        assert rows(run) == [first, {"id": 2, "n": 5, "twice": 10, "loaded_by": "etl"}]
        run.mirror()(frame(spark, [told(2, "d", {"id": 1, "n": 2}), told(3, "c", {"id": 1, "n": 3})]), 1)
        assert rows(run)[0] == {**first, "n": 3, "twice": 6}
        assert run.withheld() == []


@on_iceberg
def test_a_column_that_others_fill_keeps_its_values(spark, tmp_path: Path, format: str) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"foreign_{format}", NO_REGISTRY)
        name = standing(
            run,
            "segment STRING, id INT NOT NULL, N BIGINT NOT NULL",
            "",
            "INSERT INTO T VALUES ('silver', 1, 1)",
        )
        first = [told(0, "r", {"id": 1, "n": 2}), told(1, "r", {"id": 2, "n": 2})]
        run.mirror()(frame(spark, first), 0)
        spark.sql(f"UPDATE {name} SET segment = 'gold' WHERE id = 2")
        again = [
            told(2, "d", {"id": 2, "n": 2}),
            told(3, "c", {"id": 2, "n": 3}),
            told(4, "d", {"id": 9, "n": 1}),
        ]
        run.mirror()(frame(spark, again), 1)
        assert rows(run) == [
            {"segment": "silver", "id": 1, "N": 2},
            {"segment": "gold", "id": 2, "N": 3},
        ]
        assert run.withheld() == []


@on_iceberg
def test_a_column_that_nothing_fills_stops_the_table_beforehand(spark, tmp_path: Path, format: str) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"unfilled_{format}", NO_REGISTRY)
        name = standing(run, "id INT NOT NULL, n INT, load_id STRING NOT NULL", "")
        run.mirror()(frame(spark, [told(0, "c", {"id": 1, "n": 2})]), 0)
        (report,) = run.reports[0].tables
        assert "the table forbids NULL in `load_id`" in str(report.blocked)
        assert spark.table(name).columns == ["id", "n", "load_id"]
        spark.sql(f"ALTER TABLE {name} ALTER COLUMN load_id DROP NOT NULL")
        run.mirror()(frame(spark, []), 1)
        assert rows(run) == [{"id": 1, "n": 2, "load_id": None}]


def test_iceberg_writes_its_own_defaults(spark, tmp_path: Path) -> None:
    """Spark 4.1 creates none: another writer does, as Iceberg's own interface here."""
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, "iceberg", "defaults", NO_REGISTRY)
        name = standing(run, "id INT NOT NULL, n INT", "TBLPROPERTIES ('format-version' = '3')")
        jvm = spark._jvm
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
        text = jvm.org.apache.iceberg.types.Types.StringType.get()
        default = jvm.org.apache.iceberg.expressions.Literal.of("etl")
        table.updateSchema().addRequiredColumn("loaded_by", text, None, default).commit()
        live = SparkExecutor(spark).inspect(run.target().address(TABLE), "iceberg")
        assert live is not None
        assert live.defaults == {"loaded_by": "'etl'"}
        assert SparkExecutor(spark, java=False).inspect(live.name, "iceberg") is not None
        run.mirror()(frame(spark, [told(0, "c", {"id": 1, "n": 2})]), 0)
        assert rows(run) == [{"id": 1, "n": 2, "loaded_by": "etl"}]
        assert run.withheld() == []


@both
def test_no_row_goes_into_a_column_whose_name_others_exchanged(spark, tmp_path: Path, format: str) -> None:
    """The ids of the columns show it; a table that was replaced has lost them."""
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"exchanged_{format}", NO_REGISTRY)
        executor = SparkExecutor(spark)
        run.mirror()(frame(spark, [told(0, "c", {"id": 1, "n": 2, "m": 3})]), 0)
        address = run.target().address(TABLE)
        name = TARGETS.get(format).table_name(address)
        for old, new in (("n", "between"), ("m", "n"), ("between", "m")):
            executor.run(f"ALTER TABLE {name} RENAME COLUMN `{old}` TO `{new}`")
        before = rows(run)
        assert before == [{"id": 1, "n": 3, "m": 2}]
        run.mirror()(frame(spark, [told(1, "c", {"id": 2, "n": 2, "m": 3})]), 1)
        assert rows(run) == before
        assert "`n` is the column that was `m`" in str(run.withheld())
        for old, new in (("n", "between"), ("m", "n"), ("between", "m")):
            executor.run(f"ALTER TABLE {name} RENAME COLUMN `{old}` TO `{new}`")
        lake = executor.inspect(address, format)
        assert lake is not None
        journal = StoreJournal(store).read_target_lines(target_id(format, address))
        assert check_names(journal, lake) == NameCheck({})
        columns = ", ".join({"n": "m AS n", "m": "n AS m"}.get(n, n) for n in lake.schema.names)
        executor.run(f"CREATE OR REPLACE TABLE {name} USING {format} AS SELECT {columns} FROM {name}")
        replaced = executor.inspect(address, format)
        assert replaced is not None
        assert check_names(journal, replaced) == NameCheck({}, is_made_anew=True)


@both
def test_no_variable_in_what_others_named_is_substituted(spark, tmp_path: Path, format: str) -> None:
    """A column, a nested field, a comment, a property and a default with a variable stay as they are."""
    variable = "${spark.sql.session.timeZone}"
    more = f"TBLPROPERTIES ('made.by' = '{variable}', 'delta.columnMapping.mode' = 'name'"
    more += ", 'delta.feature.allowColumnDefaults' = 'supported')" if format == "delta" else ")"
    default = f" DEFAULT '{variable}'" if format == "delta" else ""
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"variables_{format}", NO_REGISTRY)
        spark.conf.set("spark.sql.variable.substitute", "false")
        try:
            name = standing(run, "id INT NOT NULL", "") if format == "iceberg" else ""
            name = name or TARGETS.get(format).table_name(run.target().address(TABLE))
            columns = f"id INT NOT NULL, n INT COMMENT '{variable}', `{variable}` STRING, by STRING{default}"
            columns += f", s STRUCT<`{variable}`: INT>"
            spark.sql(f"DROP TABLE IF EXISTS {name}")
            spark.sql(f"CREATE TABLE {name} ({columns}) USING {format} {more}")
            spark.sql(f"INSERT INTO {name} VALUES (1, 1, 'kept', 'b', named_struct('{variable}', 4))")
        finally:
            spark.conf.unset("spark.sql.variable.substitute")
        run.mirror()(frame(spark, [told(0, "c", {"id": 1, "n": 2, "m": 3})]), 0)
        assert run.withheld() == []
        (row,) = rows(run)
        assert (row["n"], row["m"], row[variable], row["by"]) == (2, 3, "kept", "b")
        executor = SparkExecutor(spark)
        lake = executor.inspect(run.target().address(TABLE), format)
        assert lake is not None
        assert [c.comment for c in lake.schema.columns if c.name == "n"] == [variable]
        assert lake.properties["made.by"] == variable
        for statement in (
            f"ALTER TABLE {name} DROP COLUMNS (`{variable}`)",
            f"SELECT `{variable}` FROM {name}",
        ):
            with pytest.raises(StatementFailed, match="not run"):
                executor.run(statement)
            with pytest.raises(StatementFailed, match="not run"):
                executor.query(statement)
        if format == "iceberg":
            made = "\n".join(TARGETS.get(format).draft_clone(executor, name, name.replace("`t`", "`c`")))
            assert "${" not in made
