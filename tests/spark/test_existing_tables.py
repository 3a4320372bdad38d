"""Tables that somebody else made: what an engine refuses, or is ruined by, the plan refuses before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.errors import StalePlan, StatementFailed
from schemaman.migration.apply.apply import check
from schemaman.migration.conditions import make_step
from schemaman.migration.layout import describe_layout_change, find_layout_changes, record_layout
from schemaman.migration.plan import MigrationSource, Plan, Refusal
from schemaman.migration.target import Draft, LakeTable
from schemaman.model.diff import AddColumn, Change, ChangeType, DropColumn, RenameColumn, patch
from schemaman.model.schema import Column
from schemaman.model.types import Integer, String
from schemaman.spark.executor import SparkExecutor
from tests.spark.formats import both
from tests.support.chain import TARGETS
from tests.support.checkout import PROOF
from tests.support.memory_lake import MemoryJournal

pytestmark = pytest.mark.spark

COLUMNS = "id INT, area INT, place STRUCT<x: INT, y: INT>"
ROW = "(1, 2, named_struct('x', 3, 'y', 4))"
MAPPED = "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true'"


def inspect(executor: SparkExecutor, table: str, format: str) -> LakeTable:
    lake = executor.inspect(table, format)
    assert lake is not None
    return lake


def make_table(executor: SparkExecutor, table: str, format: str, clauses: str, after: Sequence[str]) -> str:
    """Create a table with one row, then alter it; return its name in SQL."""
    name = TARGETS[format].table_name(table)
    if format == "iceberg":
        executor.run("CREATE NAMESPACE IF NOT EXISTS ice.theirs")
    executor.run(f"CREATE TABLE {name} ({COLUMNS}) USING {format} {clauses}")
    executor.run(f"INSERT INTO {name} VALUES {ROW}")
    for statement in after:
        executor.run(statement.format(name=name))
    return name


def drop(*path: str) -> DropColumn:
    return DropColumn(path, Column(path[-1], Integer(32)))


CHANGES: list[Change] = [
    drop("area"), RenameColumn(("area",), "renamed"), ChangeType(("area",), Integer(32), Integer(64)),
    drop("place"), RenameColumn(("place",), "renamed"), drop("place", "x"), drop("place", "y"),
]  # fmt: skip


def works(executor: SparkExecutor, name: str, statement: str) -> bool:
    """Whether a table can still be written, read, compacted and altered after a statement."""
    try:
        executor.run(statement)
        executor.run(f"INSERT INTO {name} SELECT * FROM {name}")
        executor.run(f"DELETE FROM {name} WHERE id = 9")
        executor.run(f"ALTER TABLE {name} SET TBLPROPERTIES ('some' = 'property')")
        executor.query(f"SELECT * FROM {name}")
        if "`delta`" in name:
            executor.run(f"OPTIMIZE {name}")
    except StatementFailed:
        return False
    return True


ARRANGED = [
    ("iceberg", "TBLPROPERTIES ('format-version' = '2')",
     ["ALTER TABLE {name} WRITE ORDERED BY area, place.x", "ALTER TABLE {name} WRITE UNORDERED"]),
    ("iceberg", "PARTITIONED BY (bucket(4, area)) TBLPROPERTIES ('format-version' = '1')",
     ["ALTER TABLE {name} REPLACE PARTITION FIELD bucket(4, area) WITH place.x"]),
    ("iceberg", "TBLPROPERTIES ('write.metadata.metrics.column.place.x' = 'full')", []),
    ("delta", f"PARTITIONED BY (area) TBLPROPERTIES ({MAPPED})", []),
    ("delta", f"CLUSTER BY (place.x) TBLPROPERTIES ({MAPPED})", []),
    ("delta", f"TBLPROPERTIES ({MAPPED}, 'delta.dataSkippingStatsColumns' = 'area,place.x')", []),
    ("delta", f"TBLPROPERTIES ({MAPPED})", ["ALTER TABLE {name} ADD CONSTRAINT low CHECK (AREA < 9)"]),
]  # fmt: skip


@pytest.mark.parametrize(("format", "clauses", "after"), ARRANGED, ids=[each[1] for each in ARRANGED])
def test_a_plan_makes_no_change_that_the_engine_refuses_or_is_ruined_by(
    executor: SparkExecutor, warehouse: Path, format: str, clauses: str, after: list[str]
) -> None:
    """Each change of each column: where the target drafts a statement, the table works after it."""
    number = [each[1] for each in ARRANGED].index(clauses)
    addresses = [f"ice.theirs.t{number}_{turn}" for turn in range(len(CHANGES) + 1)]
    judged, *tables = addresses if format == "iceberg" else [str(warehouse / each) for each in addresses]
    make_table(executor, judged, format, clauses, after)
    answers = [TARGETS[format].draft_change(inspect(executor, judged, format), each) for each in CHANGES]
    drafts = [answer for answer in answers if isinstance(answer, Draft)]
    assert 0 < len(drafts) < len(CHANGES) or "dataSkipping" in clauses
    tried = drafts if PROOF else drafts[number % 4 :: 4]
    for table, draft in zip(tables, tried, strict=False):
        name = make_table(executor, table, format, clauses, after)
        statement = draft.statement.replace(TARGETS[format].table_name(judged), name)
        assert works(executor, name, statement), statement


def delete_by_value(spark, table: str, column: str, value: int) -> None:
    """Delete rows as Flink does: by a delete file with the value of a column."""
    iceberg = spark._jvm.org.apache.iceberg
    loaded = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
    schema = loaded.schema()
    ids = spark.sparkContext._gateway.new_array(spark._jvm.int, 1)
    ids[0] = schema.findField(column).fieldId()
    chosen = schema.select(spark._jvm.java.util.List.of(column))
    makes = iceberg.data.GenericAppenderFactory(schema, loaded.spec(), ids, chosen, None)
    file = iceberg.io.OutputFileFactory.builderFor(loaded, 1, 1).build().newOutputFile()
    writer = makes.newEqDeleteWriter(file, iceberg.FileFormat.PARQUET, None)
    row = iceberg.data.GenericRecord.create(chosen)
    row.setField(column, value)
    writer.write(row)
    writer.close()
    loaded.newRowDelta().addDeletes(writer.toDeleteFile()).commit()


def test_a_column_of_equality_deletes_stays_until_the_files_are_rewritten(
    spark, executor: SparkExecutor
) -> None:
    table = "ice.theirs.deleting"
    name = make_table(executor, table, "iceberg", "", [])
    executor.run(f"INSERT INTO {name} VALUES (2, 3, NULL)")
    target = TARGETS["iceberg"]
    lake = inspect(executor, table, "iceberg")
    planned = target.draft_change(lake, drop("area"))
    assert isinstance(planned, Draft)
    left = replace(lake, schema=patch(lake.schema, planned.changes))
    step = make_step(planned, lake, left)
    source = MigrationSource("shop.public.t", 1, "v1", 0, left.schema)
    plan = Plan(
        "raw", "iceberg", table, source, lake.identity, lake.version, lake.schema, left.schema, (step,)
    )
    assert check(plan, executor, MemoryJournal(), lambda: 0).state == "checked"
    delete_by_value(spark, table, "area", 2)
    with pytest.raises(StalePlan, match="delete files name rows by its values"):
        check(plan, executor, MemoryJournal(), lambda: 0)
    refused, other = (
        target.draft_change(inspect(by, table, "iceberg"), drop("area"))
        for by in (executor, SparkExecutor(spark, java=False))
    )
    assert isinstance(refused, Refusal)
    assert other == refused
    assert isinstance(target.draft_change(inspect(executor, table, "iceberg"), drop("place")), Draft)
    rewrite = refused.instead.partition("CALL ")[2].partition(";")[0]
    for _ in range(2):
        executor.query(f"CALL {rewrite}")
    draft = target.draft_change(inspect(executor, table, "iceberg"), drop("area"))
    assert isinstance(draft, Draft)
    assert works(executor, name, draft.statement)
    clean = "older_than => timestamp '2100-01-01', retain_last => 1, clean_expired_metadata => true"
    executor.query(f"CALL ice.system.expire_snapshots(table => 'theirs.deleting', {clean})")
    assert executor.query(f"SELECT DISTINCT id FROM {name}") == ((2,),)


def test_a_name_of_the_change_data_feed_is_refused_as_delta_does(
    executor: SparkExecutor, warehouse: Path
) -> None:
    table = str(warehouse / "theirs" / "fed")
    feed = "'delta.enableChangeDataFeed' = 'true'"
    name = make_table(executor, table, "delta", f"TBLPROPERTIES ({MAPPED}, {feed})", [])
    lake = inspect(executor, table, "delta")
    added = AddColumn(("_change_type",), Column("_change_type", String()), None)
    for change in (added, RenameColumn(("area",), "_commit_version")):
        assert isinstance(TARGETS["delta"].draft_change(lake, change), Refusal)
    with pytest.raises(StatementFailed):
        executor.run(f"ALTER TABLE {name} ADD COLUMNS (_change_type STRING)")
    renamed = TARGETS["delta"].draft_change(lake, RenameColumn(("area",), "b"))
    assert not isinstance(renamed, Refusal)
    assert any("table_changes" in who for who in renamed.hurts)
    executor.run(renamed.statement)
    with pytest.raises(StatementFailed):
        executor.query(f"SELECT * FROM table_changes_by_path('{table}', 0)")


ALTERED = {
    "iceberg": [
        ("ADD PARTITION FIELD bucket(4, area)", "partitions were none, and are `area` bucket[4] now"),
        ("WRITE ORDERED BY area", "sort fields were none, and are `area` identity asc nulls-first now"),
        ("SET TBLPROPERTIES ('format-version' = '3')", "format version was 2, and is 3 now"),
        ("SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')",
         "write.delete.mode was none, and is merge-on-read now"),
    ],
    "delta": [
        ("ADD CONSTRAINT low CHECK (area < 9)", "CHECK constraints were none, and are `low`: area < 9 now"),
        ("CLUSTER BY (area)", "clustering was none, and is `area` now"),
        ("SET TBLPROPERTIES ('delta.appendOnly' = 'true')", "delta.appendOnly was none, and is true now"),
        ("SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
         "delta.enableChangeDataFeed was none, and is true now"),
        ("SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
         "delta.columnMapping.mode was none, and is name now"),
    ],
}  # fmt: skip


@both
def test_what_others_change_in_the_layout_is_read_back(
    executor: SparkExecutor, warehouse: Path, format: str
) -> None:
    table = "ice.theirs.arranged" if format == "iceberg" else str(warehouse / "theirs" / "arranged")
    name = make_table(executor, table, format, "", [])
    before = record_layout(TARGETS[format], inspect(executor, table, format))
    for action, words in ALTERED[format]:
        executor.run(f"ALTER TABLE {name} {action}")
        after = record_layout(TARGETS[format], inspect(executor, table, format))
        described = [describe_layout_change(change) for change in find_layout_changes(before, after)]
        assert words in described
        # An engine enables a feature with a change, and Iceberg a distribution with a sort order.
        others = [
            each for each in described if each.startswith(("table features", "write.distribution-mode"))
        ]
        assert len(described) == 1 + len(others), described
        before = after
    # Rows, compaction and schemaman's own properties are no drift.
    executor.run(f"INSERT INTO {name} VALUES {ROW}")
    executor.run(f"ALTER TABLE {name} SET TBLPROPERTIES ('schemaman.version' = 'x')")
    assert find_layout_changes(before, record_layout(TARGETS[format], inspect(executor, table, format))) == ()
