"""The profile `autopilot` on an Iceberg table: another key within a batch, and a type beside the old one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import schemaman as sm
from schemaman.errors import StatementFailed
from schemaman.history.decisions import Decisions, Rename, TableRename, format_coordinates
from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan_file import from_text
from schemaman.migration.policy import PolicyRule
from schemaman.migration.properties.names import SUCCESSOR_PROPERTY
from schemaman.migration.rollback import plan_rollback
from schemaman.migration.successor import list_successors
from schemaman.migration.target import TARGETS
from schemaman.migration.target_id import target_id
from schemaman.spark.executor import SparkExecutor
from schemaman.spark.record_columns import RAW
from schemaman.spark.statements import run_statement
from schemaman.spark.streaming.batch_report import BatchReport
from tests.streaming.automatic_ways import WAYS, exchange_tables
from tests.streaming.test_autopilot import keyless, told
from tests.streaming.test_moved_tables import Source
from tests.streaming.test_online_copies import Copying, copy_rows
from tests.streaming.test_renamed_and_changed import rename_and_change
from tests.streaming.test_taken_columns import BIG, Server, change_and_rename, change_key_and_rename
from tests.support.checkout import PROOF
from tests.support.command_line import Run
from tests.support.recordings import recorded
from tests.support.records import node, row_event, without_schemas

pytestmark = pytest.mark.spark


def _make_frame(spark: SparkSession, records: list[sm.Record]) -> DataFrame:
    rows: list[tuple[object, ...]] = [
        (r.topic, r.partition, r.offset, datetime.fromtimestamp(0, UTC),
         None if r.key is None else bytearray(r.key),
         bytearray(r.value or b""), [])
        for r in records
    ]  # fmt: skip
    return spark.createDataFrame(rows, RAW)


def test_another_key_and_another_type_need_nobody(spark: SparkSession, tmp_path: Path) -> None:
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [sm.TargetSetting("lake", "iceberg", ("*",), table="ice.autopilot.{table}")],
            sm.spark.Quarantine("ice.autopilot.quarantine", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            on_report=reports.append,
        )
        first = [told(0, {"id": 1, "n": 1, "price": 5}), told(1, {"id": 2, "n": 2, "price": 6})]
        second = [
            told(2, {"id": 2, "n": 2, "price": 7}, "u"),
            told(3, {"id": 1, "n": 3, "price": "five"}, key=("id", "n")),
            told(4, {"id": 1, "n": 1, "price": "six"}, "u", key=("id", "n")),
        ]
        sink(_make_frame(spark, first), 0)
        sink(_make_frame(spark, second), 1)
    assert not any(table.blocked for report in reports for table in report.tables)
    found = spark.table("ice.autopilot.t").where("_row_deleted IS NOT TRUE").orderBy("id", "n")
    assert [(r.id, r.n, r.price, r.price__2) for r in found.collect()] == [
        (1, 1, None, "six"), (1, 3, None, "five"), (2, 2, 7, None),
    ]  # fmt: skip
    assert spark.table("ice.autopilot.quarantine").count() == 0


def test_one_big_batch_is_written_as_small_ones(spark: SparkSession, tmp_path: Path) -> None:
    """A key that nothing confirms is before a key of another type, and bytes are before a text."""
    raw, text = node("bytes", optional=True), node("string", optional=True)
    records = [told(0, {"id": "a", "n": 1}), told(1, {"id": "b", "n": 2}), keyless(2, {"id": "c", "n": 3})]
    records += [told(3, {"id": 7, "n": 4}), told(4, {"id": 8, "n": 5})]
    records += [
        row_event({"id": node("int32"), "b": raw}, "c", {"id": 1, "b": "/wA="}, offset=0, table="blobs"),
        row_event({"id": node("int32"), "b": text}, "c", {"id": 2, "b": "x"}, offset=1, table="blobs"),
        row_event({"id": node("int32"), "b": text}, "u", {"id": 1, "b": "y"}, offset=2, table="blobs"),
        row_event({"id": node("int32"), "b": raw}, "c", {"id": 3, "b": "/wE="}, offset=3, table="blobs"),
    ]
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        target = sm.TargetSetting("lake", "iceberg", ("*",), table="ice.big.{table}")
        quarantine = sm.spark.Quarantine("ice.big.quarantine", "iceberg")
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy)
        sink(_make_frame(spark, records), 0)
        sink(_make_frame(spark, []), 1)
    assert spark.table("ice.big.quarantine").count() == 0
    keys = [[r.id for r in spark.table(f"ice.big.{name}").orderBy("id").collect()] for name in ("t", "t__2")]
    assert keys == [["a", "b", "c"], [7, 8]]
    blobs = spark.table("ice.big.blobs").orderBy("id").drop("_row_order", "_row_deleted").collect()
    assert [[v for v in row[1:] if v is not None] for row in blobs] == [["y"], ["x"], [b"\xff\x01"]]


EMPTIED = row_event({"id": node("int32"), "n": node("int32")}, "t", None, offset=3)


@pytest.mark.parametrize(
    ("format", "before", "after", "newer"),
    [
        (
            "iceberg",
            [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})],
            [told(2, {"id": 3, "n": 7}, key=("n",)), told(3, {"id": 5, "n": 7}, "u", key=("n",))],
            [(5, 7)],
        ),
        (
            "delta",
            [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})],
            [keyless(2, {"id": 7, "n": 1}), keyless(3, {"id": 7, "n": 1})],
            [(7, 1), (7, 1)],
        ),
        (
            "iceberg",
            [told(0, {"id": 1, "n": 1}), told(1, {"id": 2, "n": 1})],
            [keyless(2, {"id": 7, "n": 1}), EMPTIED, keyless(4, {"id": 8, "n": 1})],
            [(7, 1), (8, 1), (None, None)],
        ),
        (
            "iceberg",
            [keyless(0, {"id": 1, "n": 1}), keyless(1, {"id": 2, "n": 1})],
            [told(2, {"id": 3, "n": 7}), told(3, {"id": 3, "n": 8}, "u")],
            [(3, 8)],
        ),
    ],
    ids=[
        "rows do not prove the key",
        "the key is gone",
        "the key is gone, then TRUNCATE",
        "a log gets a key",
    ],
)
def test_a_successor_takes_the_newer_rows(
    spark: SparkSession,
    tmp_path: Path,
    format: str,
    before: list[sm.Record],
    after: list[sm.Record],
    newer: list[tuple[int, int]],
) -> None:
    """One batch holds rows of both tables, and the next one finds the successor."""
    place = f"ice.{tmp_path.name}.{{table}}" if format == "iceberg" else str(tmp_path / "{table}")
    target = sm.TargetSetting("lake", "iceberg", ("*",), table=place)
    if format == "delta":
        target = sm.TargetSetting("lake", "delta", ("*",), path=place)
    quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
    place = place.replace("{table}", "t")
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy, on_report=reports.append)
        sink(_make_frame(spark, [*before, *after[:-1]]), 0)
        sink(_make_frame(spark, after[-1:]), 1)
        # The first record without the key does not show yet that the key is gone: it waits for the next one.
        assert not [table.blocked for table in reports[-1].tables if table.blocked]
        executor = SparkExecutor(spark)
        first, second = list_successors(lambda name: executor.inspect(name, format), place)
        lines = StoreJournal(registry.store).read_target_lines(target_id(format, place))
    target_of = TARGETS.get(format)
    rows = [
        sorted(((r.id, r.n) for r in spark.table(target_of.table_name(name)).collect()), key=repr)
        for name in (first.address, second.address)
    ]
    assert rows == [[(1, 1), (2, 1)], newer]
    assert any(SUCCESSOR_PROPERTY in line.statement and line.state == "done" for line in lines)


@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_json_without_types_is_text_until_its_types_are_known(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    path, table = (f"{tmp_path}/{{table}}", "") if format == "delta" else ("", "ice.untyped.{table}")
    target = sm.TargetSetting("lake", format, ("*",), path=path or None, table=table or None)
    quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
    typed = [told(n, {"id": n, "n": 7}) for n in range(4)]
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy, on_report=reports.append)
        sink(_make_frame(spark, list(map(without_schemas, typed[:2]))), 0)
        sink(_make_frame(spark, typed[2:]), 1)
    assert not any(table.blocked for report in reports for table in report.tables), reports
    place = (table or path).replace("{table}", "t")
    found = [
        sorted(
            (r.id, r.n)
            for r in spark.sql(f"SELECT id, n FROM {TARGETS.get(format).table_name(name)}").collect()
        )
        for name in (place, f"{place}__2")
    ]
    assert found == [[("0", "7"), ("1", "7")], [(2, 7), (3, 7)]]


def test_values_that_wait_are_told_and_drain_once_the_policy_lets_them(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    fields = {"id": node("int32"), "day": node("int32", "io.debezium.time.Date")}
    days = {1: 19_000, 2: -622_191_234}
    dates = [row_event(fields, "c", {"id": id, "day": day}, offset=id) for id, day in days.items()]
    quarantine = "ice.beside.quarantine"
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        for policy, records in ((sm.Policy(), dates), (sm.Policy(profile="autopilot"), dates[:1])):
            sink = sm.spark.LakeSink(
                registry,
                [sm.TargetSetting("lake", "iceberg", ("*",), table="ice.beside.{table}")],
                sm.spark.Quarantine(quarantine, "iceberg"),
                policy=policy,
                on_report=reports.append,
            )
            sink(_make_frame(spark, records), len(reports))
            if not reports[1:]:
                (waiting,) = reports[0].waiting
                assert (waiting.records, waiting.source_table, waiting.oldest_ms) == (
                    1,
                    "srv.shop.public.t",
                    0,
                )
                assert "infinity is no DATE" in waiting.reason
                store = f"sqlite:///{tmp_path / 'store.db'}"
                words = ("--store", store, "--quarantine", quarantine, "--format", "json")
                shown = run("status", *words).json
                assert [each["reason"] for each in shown["quarantine"]] == [waiting.reason]
    assert reports[1].waiting == ()
    found = spark.table("ice.beside.t").orderBy("id").collect()
    assert [(r.id, str(r.day), r.day__2) for r in found] == [(1, "2022-01-08", None), (2, "None", "infinity")]
    assert spark.table(quarantine).count() == 0


@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_a_late_answer_unites_columns_and_is_taken_back(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    path, table = (f"{tmp_path}/{{table}}", "") if format == "delta" else ("", "ice.renamed.{table}")
    target = sm.TargetSetting("lake", format, ("*",), path=path or None, table=table or None)
    decisions = Decisions()
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [target],
            sm.spark.Quarantine(f"ice.autopilot.quarantine_{format}", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            decisions=lambda: decisions,
        )
        first = [told(n, {"id": n, "z": 1, "title": f"t{n}"}) for n in range(2)]
        sink(_make_frame(spark, [*first, told(2, {"id": 0, "z": 2, "name": "n0"}, "u")]), 0)
        (history,) = registry.tables()
        place = history.latest.id, format_coordinates(history.latest.at)
        decisions = Decisions((Rename(str(history.table), "title", "name", *place),))
        sink(_make_frame(spark, [told(3, {"id": 2, "z": 2, "name": "n2"})]), 1)

        def read() -> list[str | None]:
            table = TARGETS.get(format).table_name(target.address(history.table))
            return [r.name for r in spark.table(table).orderBy("id").collect()]

        assert read() == ["n0", "t1", "n2"]
        begun = [line.statement for line in registry.journal() if line.state == "started"]
        executor = sm.spark.Executor(spark)
        lake = executor.inspect(target.address(history.table), format)
        back = plan_rollback(from_text(begun[-1]), lake, 2)
        assert sm.apply(back, registry, executor, approved=True).state == "applied"
        assert read() == ["n0", None, "n2"]


def test_newer_rows_do_not_wait_behind_one_of_the_table_before(spark: SparkSession, tmp_path: Path) -> None:
    """A recorded table that is made anew, whose new rows are delivered thrice: no record waits."""
    reports: list[BatchReport] = []
    records = [r for r in recorded("postgres/shop-crash") if r.topic.endswith("shelves")]
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [sm.TargetSetting("lake", "iceberg", ("*",), table="ice.behind.{table}")],
            sm.spark.Quarantine("ice.behind.quarantine", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            on_report=reports.append,
        )
        sink(_make_frame(spark, records), 0)
    assert [[*report.waiting] for report in reports] == [[]]
    rows = spark.table("ice.behind.shelves__2").where("NOT _row_deleted").collect()
    assert sorted((row.id, row.code) for row in rows) == [(16, "s50"), (17, "s51")]
    former = {row.code for row in spark.table("ice.behind.shelves").collect()}
    assert former >= {f"s{number}" for number in range(1, 16)}


def test_a_row_of_a_key_that_nothing_confirms_waits_for_one_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    reports: list[BatchReport] = []
    other = [r for r in recorded("postgres/shop-crash") if r.topic.endswith("shelves")][:1]
    records = [*(told(n, {"id": n, "n": n}) for n in range(2)), keyless(5, {"id": 5, "n": 5})]
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [sm.TargetSetting("lake", "iceberg", ("t",), table="ice.unsure.{table}")],
            sm.spark.Quarantine("ice.unsure.quarantine", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            on_report=reports.append,
        )
        for number, batch in enumerate((records, other)):
            sink(_make_frame(spark, batch), number)
    assert [[each.records for each in report.waiting] for report in reports] == [[1], []]
    assert sorted(row.id for row in spark.table("ice.unsure.t").collect()) == [0, 1, 5]


def test_a_namespace_that_another_writer_makes_first_is_there(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []

    def refuse_once(session: SparkSession, statement: str) -> DataFrame:
        statements.append(statement)
        if len(statements) == 1:
            raise AnalysisException("UNIQUE constraint failed: iceberg_namespace_properties")
        return run_statement(session, statement)

    monkeypatch.setattr("schemaman.spark.executor.run_statement", refuse_once)
    executor = SparkExecutor(spark)
    executor.run("CREATE NAMESPACE IF NOT EXISTS `ice`.`twice`")
    assert len(statements) == 2
    statements.clear()
    with pytest.raises(StatementFailed):
        executor.run("DROP NAMESPACE `ice`.`twice`")
    executor.run("DROP NAMESPACE `ice`.`twice`")


@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_rows_from_before_an_exchange_of_names_in_one_batch_are_kept(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    source = Source(None)  # type: ignore[arg-type]
    exchange_tables(source)
    path, table = (f"{tmp_path}/{{table}}", "") if format == "delta" else ("", "ice.exchanged.{table}")
    target = sm.TargetSetting("lake", format, ("*",), path=path or None, table=table or None)
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [target],
            sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            on_report=reports.append,
        )
        for number in range(2):  # the batch comes again, as after a crash
            sink(_make_frame(spark, source.connector.records), number)
    assert not any(each.blocked or each.quarantined for report in reports for each in report.tables), reports
    assert not any(each.ended_incarnation for each in reports[0].tables)
    notes = [note for each in reports[0].tables for note in each.notes]
    assert any("cannot give up its own" in note for note in notes) == (format == "delta"), notes
    found = {}
    # A folder keeps its name, so that a successor takes the rows from after the exchange.
    suffix = "__2" if format == "delta" else ""
    for name in "ab":
        address = (table or path).replace("{table}", name + suffix)
        rows = spark.table(TARGETS.get(format).table_name(address))
        alive = rows.where("_row_deleted IS NOT TRUE").collect()
        found[name] = {row.id: row.v for row in alive}
    assert found == {"a": {2: "b2", 3: "a3"}, "b": {1: "a1", 4: "b4"}}


@pytest.mark.parametrize("format", ["iceberg", *(["delta"] if PROOF else [])])
def test_a_table_that_one_statement_renames_and_changes_is_followed_and_its_rows_are_known_again(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    server = Server()
    rename_and_change(server)
    path, table = (f"{tmp_path}/{{table}}", "") if format == "delta" else ("", "ice.changed.{table}")
    target = sm.TargetSetting("lake", format, ("*",), path=path or None, table=table or None)
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy, on_report=reports.append)
        for number in range(2):  # the batch comes again, as after a crash
            sink(_make_frame(spark, server.connector.records), number)
    assert not any(each.blocked or each.quarantined for report in reports for each in report.tables), reports
    rows = spark.table(TARGETS.get(format).table_name((table or path).replace("{table}", "b")))
    assert [(row.id, row.text, row.word, row.price) for row in rows.orderBy("id").collect()] == [
        (1, "note 1", "word 1", None),
        (2, "note 3", "word 2", 3),
        (4, "note 4", "word 4", 4),
    ]


def test_a_renamed_table_at_a_path_takes_rows_whose_columns_differ_and_gives_them_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    server = Server()
    change_and_rename(server)
    target = sm.TargetSetting("lake", "delta", ("*",), path=f"{tmp_path}/{{table}}")
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy, on_report=reports.append)
        sink(_make_frame(spark, server.connector.records), 0)

        def read() -> list[tuple[object, ...]]:
            rows = spark.table(f"delta.`{tmp_path}/b`").orderBy("id").collect()
            return [(row.id, row.price, row.asDict().get("note")) for row in rows]

        assert read() == [(1, 10, "n1"), (2, BIG + 1, "n2"), (3, 30, None), (4, BIG, None)]
        begun = [from_text(line.statement) for line in registry.journal() if line.state == "started"]
        (plan,) = (each for each in begun if each.phase is not None and each.phase.name == "take-rows")
        assert any("try_cast(o.`price` AS BIGINT)" in step.statement for step in plan.steps)
        executor = sm.spark.Executor(spark)
        back = plan_rollback(plan, executor.inspect(f"{tmp_path}/b", "delta"), len(plan.steps))
        assert back.refusals == ()
        assert sm.apply(back, registry, executor, approved=True).state == "applied"
        assert read() == [(2, BIG + 1, None), (4, BIG, None)]
        for number in (1, 2):  # the next job takes the rows again, and the last batch comes once more
            sink(_make_frame(spark, server.connector.records), number)
        assert not any(each.blocked or each.quarantined for report in reports for each in report.tables)
        assert [row[:2] for row in read()] == [(1, 10), (2, BIG + 1), (3, 30), (4, BIG)]


@pytest.mark.parametrize(
    ("id", "taken"), [(7, [(1, 10), (2, 21), (3, 30), (7, 5)]), (BIG, [(2, 21), (3, 30)])]
)
def test_a_renamed_table_at_a_path_takes_rows_whose_key_had_another_type(
    spark: SparkSession, tmp_path: Path, id: int, taken: list[tuple[int, int]]
) -> None:
    """None if the later type does not hold the key of one of them."""
    server = Server()
    change_key_and_rename(server, id)
    target = sm.TargetSetting("lake", "delta", ("*",), path=f"{tmp_path}/{{table}}")
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy)
        for number, records in enumerate((server.connector.records[:5], server.connector.records[5:])):
            sink(_make_frame(spark, records), number)

        def read() -> list[tuple[int, int]]:
            rows = spark.table(f"delta.`{tmp_path}/b`").orderBy("id").collect()
            return [(row.id, row.price) for row in rows]

        assert read() == taken
        begun = [from_text(line.statement) for line in registry.journal() if line.state == "started"]
        for plan in (each for each in begun if each.phase is not None and each.phase.name == "take-rows"):
            executor = sm.spark.Executor(spark)
            back = plan_rollback(plan, executor.inspect(f"{tmp_path}/b", "delta"), len(plan.steps))
            assert sm.apply(back, registry, executor, approved=True).state == "applied"
        assert read() == [(2, 21), (3, 30)]


def test_the_rows_of_a_copy_go_into_its_table_that_the_same_batch_makes(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Copying(None)  # type: ignore[arg-type]
    copy_rows(source)
    source.swap()
    source.write("t", id=4, v="v4", n=8)
    reports: list[BatchReport] = []
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        target = sm.TargetSetting("lake", "iceberg", ("*",), table="ice.copied.{table}")
        quarantine = sm.spark.Quarantine("ice.copied.quarantine", "iceberg")
        policy = sm.Policy(profile="autopilot")
        sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy, on_report=reports.append)
        sink(_make_frame(spark, source.connector.records), 0)
    rows = spark.table("ice.copied.t").where("NOT _row_deleted").orderBy("id").collect()
    assert [(row.id, row.v, row.n) for row in rows] == [(1, "v1", 7), (2, "newer", None), (4, "v4", 8)]
    assert not spark.catalog.tableExists("ice.copied._t_new")
    assert not any(each.blocked or each.quarantined for report in reports for each in report.tables)


def test_rows_that_a_table_with_a_name_took_over_are_given_back(spark: SparkSession, tmp_path: Path) -> None:
    """A person says of two Iceberg tables that they are one, and takes that back."""
    first, second, third, _ = (batch.records for batch in WAYS["tables united after an answer"].batches)
    decisions = Decisions()
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        sink = sm.spark.LakeSink(
            registry,
            [sm.TargetSetting("lake", "iceberg", ("*",), table="ice.taken.{table}")],
            sm.spark.Quarantine("ice.taken.quarantine", "iceberg"),
            policy=sm.Policy(profile="autopilot"),
            decisions=lambda: decisions,
        )
        sink(_make_frame(spark, list(first)), 0)
        sink(_make_frame(spark, list(second)), 1)
        names = {history.table.table: str(history.table) for history in registry.tables()}
        decisions = Decisions(table_renames=(TableRename(names["b"], names["a"]),))
        sink(_make_frame(spark, list(third)), 2)

        def read() -> list[int]:
            return sorted(row.id for row in spark.table("ice.taken.b").where("NOT _row_deleted").collect())

        assert read() == [1, 2, 8, 9]
        begun = [from_text(line.statement) for line in registry.journal() if line.state == "started"]
        (plan,) = (each for each in begun if each.phase is not None and each.phase.name == "take-rows")
        executor = sm.spark.Executor(spark)
        back = plan_rollback(plan, executor.inspect("ice.taken.b", "iceberg"), len(plan.steps))
        assert [step.statement.split()[0] for step in back.steps if "o.`" in step.statement] == ["MERGE"]
        assert sm.apply(back, registry, executor, approved=True).state == "applied"
        assert read() == [2, 8, 9]


def test_rows_that_waited_while_their_table_was_dropped_get_a_table_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(None)  # type: ignore[arg-type]
    source.create("t", 1, 2)
    begun = len(source.connector.records)
    source.drop("t")
    source.create("t", 9)
    records = source.connector.records
    reports: list[BatchReport] = []
    quarantine = sm.spark.Quarantine(f"ice.{tmp_path.name}.quarantine", "iceberg")
    target = sm.TargetSetting("lake", "iceberg", ("*",), table="ice.ended.{table}")
    blocked = (PolicyRule("block", ("new-table",)),)
    with sm.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as registry:
        for number, (rules, batch) in enumerate(((blocked, records[:begun]), ((), records[begun:]))):
            policy = sm.Policy(rules=rules, profile="autopilot")
            sink = sm.spark.LakeSink(registry, [target], quarantine, policy=policy, on_report=reports.append)
            sink(_make_frame(spark, batch), number)
    assert [sum(each.quarantined for each in report.tables) for report in reports] == [2, 0]
    assert reports[1].waiting == ()
    names = ("t", "t__dropped_1")
    found = {name: sorted(row.id for row in spark.table(f"ice.ended.{name}").collect()) for name in names}
    assert found == {"t": [9], "t__dropped_1": [1, 2]}
