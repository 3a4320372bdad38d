"""The executor on real tables: what it reads back, what it says when a statement fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from schemaman.columns import parse_columns
from schemaman.errors import StatementConflict, StatementFailed, UnknownName
from schemaman.plan import Live
from schemaman.spark.lake import SparkExecutor
from schemaman.spark.session import session, session_settings

pytestmark = pytest.mark.spark

NESTED = "s STRUCT<x: INT COMMENT 'in', y: ARRAY<STRING>>, m MAP<STRING, DATE>"
COLUMNS = f"id INT NOT NULL COMMENT 'it\\'s', {NESTED}"


@pytest.fixture
def executor(spark) -> SparkExecutor:
    return SparkExecutor(spark)


def inspect(executor: SparkExecutor, table: str, format: str) -> Live:
    live = executor.inspect(table, format)
    assert live is not None
    return live


def test_the_session_is_one_and_the_same(spark, warehouse: Path) -> None:
    assert session(warehouse=warehouse) is spark


def test_settings_name_both_formats() -> None:
    settings = session_settings(Path("/w"), "lake", "local[2]")
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
        ("ALTER TABLE ice.failing.t ADD COLUMNS (ID INT)", "FIELD_ALREADY_EXISTS"),
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
