"""The hook of a Structured Streaming job: recorded streams into real tables, replayed, cell by cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.errors import BadConfiguration, UsageError
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.migration.policy import Policy, ProjectionRule
from schemaman.migration.properties.names import STORE_PROPERTY
from schemaman.migration.row_columns import DELETED
from schemaman.migration.settings import TargetSetting
from schemaman.migration.target import TARGETS
from schemaman.registry import Registry
from schemaman.spark.streaming import lake_progress as asking
from schemaman.spark.streaming.decoded import DecodedBatch, decode_batch
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.spark.streaming.sink import LakeSink
from schemaman.store.sql.store import SqlStore
from tests.lake_state.lake_comparison import compared
from tests.spark.formats import on_iceberg
from tests.spark.recordings_in_tables import Run, batches, frame, recorded
from tests.streaming.test_deletes import bare
from tests.streaming.test_late_schema_changes import LATE, TOLD_MEANWHILE, added, exchanged
from tests.streaming.test_policy import EMPTIED, FIRST, LATER, THEN, nested, quantities, told
from tests.streaming.test_recordings import RECORDINGS, unknown
from tests.support.checkout import CAPTURES, PROOF
from tests.support.memory_sink import batch_of
from tests.support.records import node, row_event

pytestmark = pytest.mark.spark
CASES = [(name, format) for name in RECORDINGS for format in ("delta", "iceberg")]
FEW = [("postgres/shop-flat-plain", "delta"), ("postgres/shop-names-none", "iceberg")]


def started(spark, name: str, format: str, folder: Path, tag: str = "") -> Run:
    """A run over a recording that has not begun."""
    plain = name.rpartition("/")[2].replace("-", "_").replace(".", "_")
    store = SqlStore.open(f"sqlite:///{folder / f'{plain}{tag}.db'}", create=True)
    return Run(spark, store.__enter__(), format, f"{plain}_{format}{tag}", recorded(name)[1])


@pytest.mark.parametrize(("name", "format"), CASES if PROOF else FEW)
def test_a_recording_that_is_replayed_ends_in_the_state_of_its_events(
    spark, tmp_path: Path, name: str, format: str, figure
) -> None:
    run = started(spark, name, format, tmp_path)
    with run.store:
        records, _ = recorded(name)
        for number, batch in enumerate(batches(records, 2)):
            run.mirror()(frame(spark, batch), number)
        run.mirror()(frame(spark, batch), number)
        found = compared(CAPTURES / name, run.store, run.lake(), {row[:3] for row in run.withheld()})
        assert unknown(name, found.differences) == []
        assert all(reason for *_, reason in run.withheld())
        assert [view.name for view in spark.catalog.listTables() if view.isTemporary] == []
        counts = f"{found.tables} tables, {found.rows} rows, {found.cells} cells"
        figure(f"rows of {name} in {format} tables on Spark", counts)


def test_a_truncate_stops_its_table_until_the_policy_lets_it_through(spark, tmp_path: Path) -> None:
    run = started(spark, "postgres/shop-json", "iceberg", tmp_path, "_emptied")
    with run.store:
        mirror = {level: run.mirror() for level in ("block", "quarantine", "auto") if run.ruled(level)}
        mirror["block"](frame(spark, [FIRST]), 0)
        mirror["block"](frame(spark, [EMPTIED, THEN]), 1)
        # a batch of later rows alone finds what stopped it in quarantine
        mirror["block"](frame(spark, [LATER]), 2)
        assert [(t.quarantined, "TRUNCATE" in str(t.blocked)) for r in run.reports[1:] for t in r.tables] == [
            (2, True),
            (1, True),
        ]
        assert living(run) == [1]
        mirror["quarantine"](frame(spark, []), 3)
        assert living(run) == [1, 2, 3]
        assert [reason.partition(" by ")[0] for *_, reason in run.withheld()] == [
            "the source table was emptied (TRUNCATE): truncate = quarantine, from a rule"
        ]
        # the very batch before which it is let through may hold a row from before it, of another partition
        mirror["auto"](frame(spark, [replace(told(0, row={"id": 9, "n": 9}), partition=1)]), 4)
        assert living(run) == [2, 3]
        assert run.withheld() == []
        (lake,) = run.lake()
        assert lake.live.properties[STORE_PROPERTY] == run.store.id


@on_iceberg
def test_documents_are_written_as_variants(spark, tmp_path: Path, format: str) -> None:
    store = SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True).__enter__()
    run = Run(spark, store, format, f"variants_{format}", NO_REGISTRY)
    run.policy = Policy(projections=(ProjectionRule((("json", "variant"),)),))
    with store:
        run.mirror()(frame(spark, [document(0, 1, '{"a": [1, 2.50, null]}', ['"x"', None])]), 0)
        told = [
            document(1, 1, '{"b": 1e2}', None, "u"),
            document(2, 2, '{"a": 1, "a": 2}', []),
            document(3, 3, None, ["[7]", None]),
        ]
        run.mirror()(frame(spark, told), 1)
        (table,) = store.tables()
        name = TARGETS.get(format).table_name(run.target().address(table))
        query = f"SELECT id, to_json(d), transform(l, e -> to_json(e)) FROM {name} ORDER BY id"
        found = [tuple(row) for row in spark.sql(query).collect()]
        assert found == [(1, '{"b":100.0}', None), (3, None, ["[7]", None])]
        (reason,) = [reason for *_, reason in run.withheld()]
        assert "a key that comes twice" in reason


def document(offset: int, id: int, text: str | None, more: list[str | None] | None, op: str = "c") -> Record:
    """A row with a document and a list of documents."""
    json = node("string", "io.debezium.data.Json", optional=True)
    listed = node("array", optional=True, items=json)
    fields = {"id": node("int32"), "d": json, "l": listed}
    return row_event(fields, op, {"id": id, "d": text, "l": more}, offset=offset)


@on_iceberg
def test_rows_from_before_a_members_rename_are_written_under_its_new_name(
    spark, tmp_path: Path, format: str
) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        run = Run(spark, store, format, f"members_{format}", NO_REGISTRY)
        run.mirror()(frame(spark, [nested(0, 100, 1, "qty", 5)]), 0)
        run.mirror()(frame(spark, [nested(1, 101, 2, "qty", 6), nested(2, 102, 3, "quantity", 7)]), 1)
        assert ["rename" in reason for *_, reason in run.withheld()] == [True, True]
        run.decisions = quantities(store)
        run.mirror()(frame(spark, []), 2)
        assert run.withheld() == []
        (lake,) = run.lake()
        found = {row["id"]: (row["s"], *row["l"]) for row in lake.rows}
        wanted = {id: {"quantity": quantity, "kept": 1} for id, quantity in ((1, 5), (2, 6), (3, 7))}
        assert found == {id: (image, image, image) for id, image in wanted.items()}


def living(run: Run) -> list[int]:
    """The keys of the rows that readers see in the only table."""
    (lake,) = run.lake()
    return sorted(row["id"] for row in lake.rows if not row[DELETED])


class Crowded(Run):
    """Settings that send tables of one name to one, whatever their schemas are."""

    def target(self) -> TargetSetting:
        return TargetSetting("lake", "iceberg", ("*",), table=f"ice.{self.name}.{{table}}")


def test_what_waits_of_one_table_is_not_let_go_for_another(spark, tmp_path: Path) -> None:
    with SqlStore.open(f"sqlite:///{tmp_path / 'crowded.db'}", create=True) as store:
        run = Crowded(spark, store, "iceberg", "crowded", NO_REGISTRY)
        mirror = run.mirror()
        for number in range(3):
            row = {"id": number, "n": number}
            other = replace(told(number, "c", row, schema="audit"), topic="srv.audit.t")
            mirror(frame(spark, [told(number, "c", row), other]), number)
        stopped = [t for report in run.reports for t in report.tables if t.blocked]
        assert {t.quarantined for t in stopped} == {1}
        assert len({t.source_table for t in stopped}) == 1
        assert len(run.withheld()) == len(stopped) == 3
        one = TargetSetting("lake", "iceberg", ("*",), table="ice.crowded.one")
        with pytest.raises(BadConfiguration, match="leads several tables"):
            LakeSink(store, [one], run.quarantine())


def documents(records: list[Record]) -> list[Record]:
    return [record for record in records if record.topic.endswith("shop.documents")]


def test_executors_decode_as_this_process_does(spark, tmp_path: Path) -> None:
    records = documents(recorded("postgres/shop-json")[0])
    tables = []
    for small in (0, 10_000):
        run = started(spark, "postgres/shop-json", "iceberg", tmp_path, f"_{small}")
        with run.store:
            mirror = run.mirror(small)
            mirror(frame(spark, records), 0)
            (lake,) = run.lake()
            tables.append(sorted(lake.rows, key=repr))
            (report,) = run.reports[0].tables
            assert (report.records, report.quarantined, report.blocked) == (len(records), 0, None)
            altered = replace(records[0], value=(records[0].value or b"") + b" ")
            with pytest.raises(UsageError, match="differs from the known record"):
                mirror(frame(spark, [altered, *records[1:]]), 1)
    assert tables[0] == tables[1]


@on_iceberg
def test_a_change_that_comes_late_stops_the_table_until_the_rows_it_retells_are_gone(
    spark, tmp_path: Path, format: str
) -> None:
    run = started(spark, "postgres/shop-json", format, tmp_path, "_late")
    first, changes, (early, later) = exchanged(told=True)
    with run.store:
        mirror = run.mirror()
        for number, batch in enumerate((first, [early], changes, [later])):
            mirror(frame(spark, batch), number)
        # no row need come for it to be said
        (quiet,), (table,) = (report.tables for report in run.reports[-2:])
        assert (quiet.records, quiet.blocked) == (0, table.blocked)
        assert table.plan is None
        assert (table.quarantined, table.steps) == (1, ())
        assert LATE in str(table.blocked)
        statement = str(table.blocked).partition("Delete them (")[2].partition(") and read")[0]
        spark.sql(statement)
        assert living(run) == [1]
        run.mirror()(frame(spark, [early]), 4)
        assert run.withheld() == []
        (lake,) = run.lake()
        assert {r["id"]: (r["a"], r["b"]) for r in lake.rows} == {
            1: ("b", "a"),
            2: ("was b", "was a"),
            3: ("was b", "was a"),
        }


@on_iceberg
def test_a_batch_is_read_again_for_a_table_of_which_more_was_told_meanwhile(
    spark, tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`schemaman ingest --follow` beside the job reads a change while the job decodes the rows before it."""
    run = started(spark, "postgres/shop-json", format, tmp_path, "_meanwhile")
    first, changes, (early, _) = TOLD_MEANWHILE["a column renamed"]
    waiting = [changes]

    def meanwhile(*told: Any) -> DecodedBatch:
        found = decode_batch(*told)
        if waiting:
            record_batch(batch_of(waiting.pop()), Registry(run.store, lambda: 0), "main", NO_REGISTRY)
        return found

    with run.store:
        mirror = run.mirror()
        mirror(frame(spark, first), 0)
        monkeypatch.setattr(asking, "decode_batch", meanwhile)
        mirror(frame(spark, [early]), 1)
        assert waiting == []
        assert run.withheld() == []
        (lake,) = run.lake()
        assert {r["id"]: r["c"] for r in lake.rows} == {1: "one", 2: "two"}
        (table,) = run.reports[-1].tables
        assert (table.rows, table.blocked) == (1, None)


@pytest.mark.parametrize("small", [10_000, 0] if PROOF else [10_000])
def test_records_that_nobody_could_read_find_their_table_later(spark, tmp_path: Path, small: int) -> None:
    run = started(spark, "postgres/shop-json", "iceberg", tmp_path, f"_added_{small}")
    first, early, changes, later = added(told=True)
    with run.store:
        mirror = run.mirror(small)
        mirror(frame(spark, first), 0)
        mirror(frame(spark, early), 1)
        assert [(offset, table) for _, _, offset, table, _ in sorted(run.withheld())] == [(2, ""), (3, "")]
        mirror(frame(spark, []), 2)
        assert [t.source_table for t in run.reports[-1].tables] == []
        # a job that follows other tables leaves them where they are
        LakeSink(run.store, [], run.quarantine())(frame(spark, changes), 0)
        assert [(offset, table) for _, _, offset, table, _ in sorted(run.withheld())] == [(2, ""), (3, "")]
        mirror(frame(spark, changes), 3)
        assert run.withheld() == []
        assert [t.replayed for t in run.reports[-1].tables] == [2]
        assert living(run) == [1, 3]
        mirror(frame(spark, later), 4)
        assert living(run) == [1, 3, 4]


@pytest.mark.parametrize(("format", "small"), [("iceberg", 1), *([("delta", 10_000)] if PROOF else [])])
def test_a_delete_without_a_place_stands_behind_what_the_lake_has_of_its_partition(
    spark, tmp_path: Path, format: str, small: int
) -> None:
    """The history was ahead of the rows, and the job was started again: in another process."""

    def of(offset: int, id: int, n: int, lsn: int | None = None) -> Record:
        at = lsn or 100 + offset
        return told(offset, row={"id": id, "n": n, "t": "x"}, lsn=at, sequence=f'["{at}","{at}"]')

    run = started(spark, "postgres/shop-json", format, tmp_path, "_ahead")
    unsent = {"id": 7, "n": 1, "t": "__debezium_unavailable_value"}
    # one of them has no row to keep its value from, and waits
    rows = [of(0, 1, 1), of(1, 2, 1), told(2, "u", unsent), of(3, 1, 2)]
    later = [bare(4, 1), bare(5, 2), of(6, 2, 3), of(7, 3, 4)]
    with run.store:
        record_batch(batch_of([*rows, *later]), Registry(run.store, lambda: 0), "main", NO_REGISTRY)
        run.mirror()(frame(spark, rows), 0)
        run.mirror(small)(frame(spark, later), 1)
        assert living(run) == [2, 3]
        assert [offset for _, _, offset, _, _ in run.withheld()] == [2]
        # what the connector delivers again behind such a delete comes behind it
        run.mirror()(frame(spark, [bare(8, 2)]), 2)
        assert living(run) == [3]
        run.mirror()(frame(spark, [of(9, 2, 3, 106), of(10, 3, 4, 107)]), 3)
        assert living(run) == [2, 3]
