"""The executor on real tables: what it reads back, what it says when a statement fails."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from schemaman.errors import StatementConflict, StatementFailed, UnknownName
from schemaman.migration.target import LakeTable, LayoutField
from schemaman.model.column_list import parse_columns
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.formats._iceberg_metadata import read_description
from schemaman.spark.session import make_session_settings, start_session

pytestmark = pytest.mark.spark

NESTED = "s STRUCT<x: INT COMMENT 'in', y: ARRAY<STRING>>, m MAP<STRING, DATE>"
COLUMNS = f"id INT NOT NULL COMMENT 'it\\'s', {NESTED}"


def inspect(executor: SparkExecutor, table: str, format: str) -> LakeTable:
    live = executor.inspect(table, format)
    assert live is not None
    return live


def test_the_session_is_one_and_the_same(spark, warehouse: Path) -> None:
    assert start_session(warehouse=warehouse) is spark


def test_settings_name_both_formats() -> None:
    settings = make_session_settings(Path("/w"), "lake", "local[2]")
    assert "DeltaCatalog" in settings["spark.sql.catalog.spark_catalog"]
    assert settings["spark.sql.catalog.lake.uri"] == "jdbc:sqlite:/w/lake.db"


def test_a_delta_table_is_read_back(executor: SparkExecutor, warehouse: Path) -> None:
    table = str(warehouse / "looked at" / "orders`s")
    name = "delta.`" + table.replace("`", "``") + "`"
    assert executor.inspect(table, "delta") is None
    executor.run(
        f"CREATE TABLE {name} ({COLUMNS}, v VARCHAR(9), d DATE) USING delta PARTITIONED BY (d) COMMENT 'all' "
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'schemaman.key' = '[\"id\"]')"
    )
    live = inspect(executor, table, "delta")
    assert live.schema == parse_columns(f"{COLUMNS}, v VARCHAR(9), d DATE, PRIMARY KEY (id), COMMENT 'all'")
    assert live.version == "0"
    assert live.layout == ("d",)
    assert live.properties["delta.columnMapping.mode"] == "name"
    assert "columnMapping" in live.features
    executor.run(f"ALTER TABLE {name} ADD COLUMNS (e INT)")
    later = inspect(executor, table, "delta")
    assert (later.identity, later.version) == (live.identity, "1")


def test_an_iceberg_table_is_read_back(executor: SparkExecutor) -> None:
    table = "ice.looked.`at orders`"
    assert executor.inspect(table, "iceberg") is None
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.looked")
    executor.run(
        f"CREATE TABLE {table} ({COLUMNS}, t TINYINT, `a.b` VARCHAR(9)) USING iceberg "
        "PARTITIONED BY (bucket(4, t)) COMMENT 'all'"
    )
    executor.run(f"ALTER TABLE {table} SET IDENTIFIER FIELDS id")
    executor.run(f"ALTER TABLE {table} WRITE ORDERED BY `a.b`")
    live = inspect(executor, table, "iceberg")
    assert live.schema == parse_columns(f"{COLUMNS}, t INT, `a.b` STRING, PRIMARY KEY (id), COMMENT 'all'")
    assert set(live.layout) == {"t", "a.b"}
    assert live.properties["identifier-fields"] == '["id"]'
    assert live.version.endswith(".metadata.json")
    executor.run(f"ALTER TABLE {table} ADD COLUMNS (e INT)")
    later = inspect(executor, table, "iceberg")
    assert later.identity == live.identity
    assert later.version != live.version


LAID_OUT = f"""CREATE TABLE ice.laid.out ({COLUMNS}, `a.b` VARCHAR(9), t TIMESTAMP) USING iceberg
PARTITIONED BY (bucket(4, id), days(t), s.x, truncate(3, `a.b`)) COMMENT 'all' TBLPROPERTIES ('a' = 'b')"""


def laid_out(executor: SparkExecutor) -> str:
    """An Iceberg table with everything that names a column."""
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.laid")
    executor.run("DROP TABLE IF EXISTS ice.laid.out")
    executor.run(LAID_OUT)
    executor.run("ALTER TABLE ice.laid.out SET IDENTIFIER FIELDS id")
    executor.run("ALTER TABLE ice.laid.out WRITE ORDERED BY `a.b` DESC NULLS LAST, bucket(3, s.x)")
    executor.run("ALTER TABLE ice.laid.out DROP PARTITION FIELD bucket(4, id)")
    executor.run("ALTER TABLE ice.laid.out ADD COLUMNS (e INT AFTER id)")
    return "ice.laid.out"


def test_the_layout_of_an_iceberg_table_is_read_back(executor: SparkExecutor) -> None:
    live = inspect(executor, laid_out(executor), "iceberg")
    assert live.partitions == (
        LayoutField(("t",), "day"),
        LayoutField(("s", "x")),
        LayoutField(("a.b",), "truncate[3]"),
    )
    assert live.sort == (
        LayoutField(("a.b",), "identity desc nulls-last"),
        LayoutField(("s", "x"), "bucket[3] asc nulls-first"),
    )
    assert live.layout == ("t", "s", "a.b")
    assert live.identifiers == (("id",),)
    assert live.format_version == 2


def test_the_layout_of_a_delta_table_is_read_back(executor: SparkExecutor, warehouse: Path) -> None:
    table = str(warehouse / "laid")
    executor.run(
        f"CREATE TABLE delta.`{table}` (id INT, `x.y` INT, s STRUCT<d: DATE>, "
        "g INT GENERATED ALWAYS AS (id + 1), n BIGINT GENERATED ALWAYS AS IDENTITY) USING delta "
        "CLUSTER BY (id, `x.y`, s.d) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    executor.run(f"ALTER TABLE delta.`{table}` ADD CONSTRAINT positive CHECK (id > 0)")
    before = inspect(executor, table, "delta")
    assert before.clustering == (("id",), ("x.y",), ("s", "d"))
    assert before.layout == ("id", "x.y", "s")
    assert before.generated == {"g": "id + 1", "n": ""}
    assert before.checks == {"positive": "id > 0"}
    # A checkpoint comes with the tenth commit; the log that begins before it is cleaned in time.
    for number in range(9):
        executor.run(f"ALTER TABLE delta.`{table}` ADD COLUMNS (c{number} INT)")
    for commit in (warehouse / "laid" / "_delta_log").glob("0000000000000000000?.json"):
        commit.unlink()
    after = inspect(executor, table, "delta")
    assert (after.version, after.generated) == ("10", before.generated)
    by_sql = inspect(SparkExecutor(executor._spark, java=False), table, "delta")
    assert by_sql == replace(after, field_ids={})


def test_without_a_jvm_at_hand_the_same_is_told(spark, executor: SparkExecutor, warehouse: Path) -> None:
    far = SparkExecutor(spark, java=False)
    path = str(warehouse / "told twice")
    nested = "i STRUCT<v: VARCHAR(5) COMMENT 'inner', n: VOID>"
    more = f"c CHAR(3), n VOID, l TIMESTAMP_NTZ, w INT DEFAULT 7, {nested}"
    executor.run(
        f"CREATE TABLE delta.`{path}` ({COLUMNS}, {more}) USING delta PARTITIONED BY (id) COMMENT 'all' "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    for table, format in ((laid_out(executor), "iceberg"), (path, "delta")):
        assert far.inspect(table, format) == executor.inspect(table, format)


def test_a_metadata_file_that_nobody_can_read_is_made_up_for(spark, executor: SparkExecutor) -> None:
    live = inspect(executor, laid_out(executor), "iceberg")
    told = {row["key"]: row["value"] for row in spark.sql("SHOW TBLPROPERTIES ice.laid.out").collect()}
    described = [(r[0], r[1]) for r in spark.sql("DESCRIBE TABLE EXTENDED ice.laid.out").collect()]
    other = read_description(live.name, live.schema.columns, live.version, told, described)
    assert other == replace(
        live,
        former_layout=None,
        identity=other.identity,
        properties=other.properties,
        partition_names=dict.fromkeys(live.partition_names, ()),
        column_ids="",
        field_ids={},
        spark_major=other.spark_major,
    )
    assert live.partition_names["s.x"] == ("s", "x")
    assert other.properties.items() <= live.properties.items()


def test_a_table_that_was_made_anew_is_another_one(executor: SparkExecutor) -> None:
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.anew")
    identities = []
    for _ in range(2):
        executor.run("CREATE TABLE ice.anew.t (id INT) USING iceberg")
        identities.append(inspect(executor, "ice.anew.t", "iceberg").identity)
        executor.run("DROP TABLE ice.anew.t PURGE")
    assert identities[0] != identities[1]
    assert executor.inspect("ice.anew.t", "iceberg") is None


def test_a_table_of_another_format_is_said_so(executor: SparkExecutor) -> None:
    executor.run("CREATE NAMESPACE IF NOT EXISTS mixed")
    executor.run("CREATE TABLE mixed.p (id INT) USING parquet")
    with pytest.raises(StatementFailed, match="parquet"):
        executor.inspect("mixed.p", "delta")
    with pytest.raises(UnknownName, match="hudi"):
        executor.inspect("mixed.p", "hudi")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELEC 1", "PARSE_SYNTAX_ERROR"),
        ("ALTER TABLE ice.failing.t ALTER COLUMN id TYPE STRING", "Cannot change column type"),
        ("ALTER TABLE ice.failing.t ADD COLUMNS (ID INT)", "FIELDS?_ALREADY_EXISTS"),
        ("ALTER TABLE ice.failing.nothing ADD COLUMNS (a INT)", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER TABLE nowhere.a.b ADD COLUMNS (a INT)", "spark_catalog"),
    ],
)
def test_a_refused_statement_is_one_line(executor: SparkExecutor, capfd, statement: str, words: str) -> None:
    executor.run("CREATE NAMESPACE IF NOT EXISTS ice.failing")
    executor.run("CREATE TABLE IF NOT EXISTS ice.failing.t (id INT) USING iceberg")
    capfd.readouterr()
    with pytest.raises(StatementFailed, match=words) as caught:
        executor.run(statement)
    assert "\n" not in caught.value.message
    assert not isinstance(caught.value, StatementConflict)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "left", [(), (".00000.json.tmp",), ("_commits/.x",)], ids=lambda names: "-".join(names)
)
def test_a_creation_that_died_half_way_does_not_stop_the_next_one(
    executor: SparkExecutor, warehouse: Path, left: tuple[str, ...]
) -> None:
    folder = warehouse / f"unborn{len(left)}{''.join(left).count('/')}"
    for name in ("", *left):
        file = folder / "_delta_log" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if name:
            file.write_text("half", encoding="utf-8")
    (folder / "_delta_log").mkdir(exist_ok=True, parents=True)
    assert executor.inspect(str(folder), "delta") is None
    executor.run(f"CREATE TABLE `delta`.`{folder}` (`id` INT)\nUSING delta")
    assert inspect(executor, str(folder), "delta").schema.names == ("id",)


def test_a_folder_that_holds_something_else_is_left_alone(executor: SparkExecutor, warehouse: Path) -> None:
    folder = warehouse / "not ours"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(StatementFailed, match="ALREADY_EXISTS"):
        executor.run(f"CREATE TABLE `delta`.`{folder}` (`id` INT)\nUSING delta")
    assert (folder / "letter.txt").exists()


def test_a_name_that_the_session_forgot_is_known_again_by_its_folder(
    executor: SparkExecutor, warehouse: Path
) -> None:
    folder = warehouse / "spark" / "forgotten.db" / "orders"
    executor.run(f"CREATE TABLE delta.`{folder}` (id INT) USING delta")
    assert executor.inspect("forgotten.others", "delta") is None
    assert inspect(executor, "Forgotten.Orders", "delta").schema.names == ("id",)
    executor.run("ALTER TABLE forgotten.orders ADD COLUMNS (a INT)")
    assert inspect(executor, str(folder), "delta").schema.names == ("id", "a")


def test_a_lost_race_is_told_from_other_failures(executor: SparkExecutor, warehouse: Path) -> None:
    name = f"delta.`{warehouse / 'raced'}`"
    executor.run(f"CREATE TABLE {name} (id INT) USING delta")
    lost: list[StatementFailed] = []
    # Most rounds have a loser; ten without one would be no race.
    for turn in range(10):
        ready = threading.Barrier(2)

        def alter(column: str, ready: threading.Barrier = ready) -> None:
            ready.wait()
            try:
                executor.run(f"ALTER TABLE {name} ADD COLUMNS ({column} INT)")
            except StatementFailed as error:
                lost.append(error)

        racers = [threading.Thread(target=alter, args=(f"{side}{turn}",)) for side in "ab"]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        if lost:
            break
    assert lost
    assert all(isinstance(error, StatementConflict) for error in lost)


def test_a_query_gives_rows(executor: SparkExecutor) -> None:
    assert executor.query("SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y' ORDER BY a") == (
        (1, "x"),
        (2, "y"),
    )
