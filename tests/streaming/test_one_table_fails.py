"""What is wrong with one table stops it alone: the other tables of a batch go on, and so does the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Record
from schemaman.errors import StatementConflict, StoreUnavailable
from schemaman.migration.plan import Plan
from schemaman.migration.target import LakeTable
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.spark.streaming.micro_batch import record_batch
from schemaman.spark.streaming.migration_context import MigrationContext
from schemaman.spark.streaming.sink_table import Blocked, Ready
from schemaman.spark.streaming.table_migration import migrate_table
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_policy import alive, mirror, told
from tests.support.memory_lake import MemoryTable
from tests.support.memory_sink import MemorySink, batch_of
from tests.support.records import event, node, record, struct


def flattened(offset: int, row: dict[str, Any], table: str = "t") -> Record:
    """A row as ExtractNewRecordState leaves it where nobody asks for more: it tells no place in the log."""
    topic = f"srv.public.{table}"
    fields = {name: node("int32", optional=name != "id") for name in row}
    value = {"schema": struct(f"{topic}.Value", **fields), "payload": row}
    key = {"schema": struct(f"{topic}.Key", id=node("int32")), "payload": {"id": row["id"]}}
    return replace(record(value, key, topic), offset=offset)


def test_a_table_whose_records_tell_no_place_goes_on_when_its_structure_changes(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([flattened(0, {"id": 1, "n": 1})])
    lake.take([flattened(1, {"id": 2, "n": 2, "m": 3})])
    assert alive(lake) == [{"id": 1, "n": 1, "m": None}, {"id": 2, "n": 2, "m": 3}]
    assert lake.withheld() == {}


def test_half_a_character_in_a_foreign_message_stops_no_table(store: SqlStore) -> None:
    lake = mirror(store)
    foreign = replace(record({"\ud83d": 1}, topic="srv.public.t"), offset=1)
    lake.take([flattened(0, {"id": 1, "n": 1}), foreign, flattened(2, {"id": 2, "n": 2})])
    assert alive(lake) == [{"id": 1, "n": 1}, {"id": 2, "n": 2}]
    assert list(lake.withheld()) == [("srv.public.t", 0, 1)]


def of_sql_server(offset: int, commit: str) -> Record:
    told = event(struct("srv.dbo.t.Value", id=node("int32")), "c")
    told["payload"]["source"] |= {"connector": "sqlserver", "schema": "dbo", "event_serial_no": 1}
    told["payload"]["source"] |= {"commit_lsn": commit, "change_lsn": commit}
    told["payload"]["after"] = {"id": offset}
    key = {"schema": struct("srv.dbo.t.Key", id=node("int32")), "payload": {"id": offset}}
    return replace(record(told, key, "srv.dbo.t"), offset=offset)


def test_half_a_character_in_a_place_rejects_its_record_alone(store: SqlStore) -> None:
    lake = mirror(store)
    commits = ("00000025:00000d98:0001", "\ud83d", "00000025:00000d98:0002")
    lake.take([of_sql_server(offset, commit) for offset, commit in enumerate(commits)])
    assert alive(lake) == [{"id": 0}, {"id": 2}]
    (reason,) = lake.withheld().values()
    assert "a position that cannot be read" in reason


def test_of_the_row_before_nothing_is_asked_but_its_key(store: SqlStore) -> None:
    """An update to a value that cannot be had, one away from it, and the delete of such a row."""
    fields = {"id": node("int32"), "n": node("int64", optional=True)}
    key = {"schema": struct("srv.public.t.Key", id=fields["id"]), "payload": {"id": 1}}

    def event_of(offset: int, op: str, before: int | None, after: int | None) -> Record:
        place = {"connector": "mysql", "file": "binlog.1", "pos": offset, "row": 0}
        value = event(struct("srv.public.t.Value", **fields), op)
        value["payload"]["source"] |= place
        old, new = (None if n is None else {"id": 1, "n": n} for n in (before, after))
        value["payload"] |= {"before": old, "after": new}
        return replace(record(value, key), offset=offset)

    lake = mirror(store)
    lake.take([event_of(0, "c", None, 4)])
    lake.take([event_of(1, "u", 4, -1), event_of(2, "u", -1, 5)])
    assert alive(lake) == [{"id": 1, "n": 5}]
    lake.take([event_of(3, "u", 5, -2), event_of(4, "d", -2, None)])
    assert alive(lake) == []
    assert [offset for _, _, offset in lake.withheld()] == [1, 3]


BESIDE = {"lsn": None, "sequence": None, "snapshot": "incremental"}


@pytest.mark.parametrize("streamed_before", [True, False])
def test_a_structure_that_rows_read_beside_the_stream_show_first_stops_nothing(
    store: SqlStore, streamed_before: bool
) -> None:
    lake = mirror(store)
    if streamed_before:
        lake.take([told(0, row={"id": 1, "n": 1})])
    lake.take([told(1, "r", {"id": 1, "n": 1, "m": 2}, **BESIDE)])
    lake.take([told(2, row={"id": 2, "n": 1, "m": 2})])
    lake.take([told(3, row={"id": 3, "n": 1, "m": 2, "o": 5})])
    lake.take([told(4, row={"id": 4, "n": 1, "m": 2, "o": 5})])
    assert [row["id"] for row in alive(lake)] == [1, 2, 3, 4]
    assert lake.withheld() == {}


def breaking(error: Exception, table: str) -> Any:
    """Somebody's own code that asks for approvals, and breaks over one table."""

    def approve(plan: Plan) -> bool:
        if plan.source.table.endswith(table):
            raise error
        return True

    return approve


def two_tables(lake: MemorySink) -> dict[str, list[int]]:
    lake.take([flattened(0, {"id": 1, "n": 1}), flattened(0, {"id": 1, "n": 1}, "u")])
    return {table.source.table: [row["id"] for row in table.rows] for table in lake.lake()}


def test_what_nobody_foresaw_of_one_table_stops_it_alone(store: SqlStore) -> None:
    lake = mirror(store)
    lake.approve = breaking(KeyError("an answer"), ".t")
    assert two_tables(lake) == {"u": [1]}
    assert lake.withheld() == {("srv.public.t", 0, 0): "it cannot be migrated: KeyError: 'an answer'"}
    lake.approve = lambda _: True
    lake.take([])
    assert lake.withheld() == {}
    assert {table.source.table: len(table.rows) for table in lake.lake()} == {"t": 1, "u": 1}


def test_a_store_that_fails_stops_no_table_but_the_batch(store: SqlStore) -> None:
    lake = mirror(store)
    lake.approve = breaking(StoreUnavailable("the connection was lost"), ".t")
    with pytest.raises(StoreUnavailable):
        two_tables(lake)
    assert lake.withheld() == {}


class Unreadable(SqlStore):
    """A store with observations that nobody foresaw."""

    def load(self, table: TableId) -> Sequence[Observation]:
        raise KeyError("a kind of observation")


def test_what_nobody_foresaw_of_a_table_that_gets_no_rows_is_told_of_it_alone(tmp_path: Path) -> None:
    with Unreadable.open(f"sqlite:///{tmp_path / 'store.db'}", create=True) as store:
        learnt = mirror(store).learnt
        records = [flattened(0, {"id": 1, "n": 1}), flattened(0, {"id": 1, "n": 1}, "u")]
        _, extents = record_batch(batch_of(records), Registry(store, lambda: 0), "main", lambda _: None)
        learnt.read_changes(extents)
        (followed,) = learnt.list_sink_tables(next(t for t in store.tables() if t.table == "u"))
        (report,) = learnt.report_stale_tables(lambda _: MemoryTable(""), {followed})
        assert report.source_table.endswith(".t")
        assert report.blocked == "it cannot be inspected: KeyError: 'a kind of observation'"


def test_a_table_that_another_job_makes_between_two_questions_is_tried_again(store: SqlStore) -> None:
    first = mirror(store)
    first.take([told(0, row={"id": 1, "n": 1})])
    (table,) = first.sources.values()
    lake, hidden = first.open_lake(), [True]

    class Before:
        """The lake of a job that asks for the table a moment before it is there."""

        def __getattr__(self, name: str) -> Any:
            return getattr(lake, name)

        def inspect(self, address: str, format: str) -> LakeTable | None:
            return None if hidden and hidden.pop() else lake.inspect(address, format)

    registry = Registry(store, lambda: 0)
    context = MigrationContext(
        store, registry, first.policy, lambda: 0, first.approve, lambda history: history, first.modes
    )
    opened, history = context.open_table(first._follower(table), Before()), registry.history(table)
    outcome = migrate_table(opened, history)
    assert isinstance(outcome, Blocked)
    assert outcome.is_locked
    assert isinstance(migrate_table(opened, history), Ready)


def test_a_table_to_which_another_job_commits_meanwhile_is_tried_again(store: SqlStore) -> None:
    """Each attempt to mark the table for a run comes after a commit of the other job."""
    first = mirror(store)
    first.take([told(0, row={"id": 1, "n": 1})])
    (table,) = first.sources.values()
    registry, lake, commits = Registry(store, lambda: 0), first.open_lake(), [True] * 3
    record_batch(batch_of([told(1, row={"id": 2, "n": 2, "x": 3})]), registry, "main", lambda _: None)

    class Busy:
        def __getattr__(self, name: str) -> Any:
            return getattr(lake, name)

        def run(self, statement: str) -> None:
            if commits and commits.pop():
                raise StatementConflict("DELTA_METADATA_CHANGED")
            lake.run(statement)

    context = MigrationContext(
        store, registry, first.policy, lambda: 0, first.approve, lambda history: history, first.modes
    )
    opened, history = context.open_table(first._follower(table), Busy()), registry.history(table)
    outcome = migrate_table(opened, history)
    assert isinstance(outcome, Blocked)
    assert outcome.is_locked
    assert isinstance(migrate_table(opened, history), Ready)
