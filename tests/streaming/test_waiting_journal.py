"""What waits after a batch is in the journal, and leaves it once it is written."""

from __future__ import annotations

from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.settings import TargetSetting
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.spark.streaming.batch_report import BatchReport, TableReport
from schemaman.spark.streaming.quarantine import UNKNOWN_TABLE, Quarantine, QuarantinedTable
from schemaman.spark.streaming.row_staging import OTHER_ROW
from schemaman.spark.streaming.sink_table import SinkTable
from schemaman.spark.streaming.waiting_journal import WaitingJournal
from schemaman.store.memory import MemoryStore

ORDERS = TableId("srv", "app", "", "orders")
TABLE = SinkTable(ORDERS, TargetSetting("lake", "delta", ("*",), path="/lake/{table}"), "/lake/orders")
WRITTEN = TableReport(str(ORDERS), "/lake/orders", 3, 3)
BLOCKED = TableReport(str(ORDERS), "/lake/orders", 3, blocked="another key")
HELD = QuarantinedTable("/lake/orders", "{}", 3, 0, 0, 7, 1_000, "no earlier row")
UNREAD = QuarantinedTable(UNKNOWN_TABLE, "", 2, 0, oldest_ms=500)


def test_lines_are_written_when_something_changes() -> None:
    store = MemoryStore(lambda: 9)
    registry = Registry(store, lambda: 9)

    def begin() -> WaitingJournal:
        return WaitingJournal(registry, StoreJournal(store), Quarantine("ice.q.quarantine", "iceberg"))

    journal = begin()

    def write(report: TableReport, *held: QuarantinedTable) -> int:
        before = store.end()
        journal.write_lines(BatchReport(0, (report,)), [TABLE], held)
        return store.end() - before

    assert write(WRITTEN) == 0
    assert write(BLOCKED, HELD, UNREAD) == 3
    assert write(BLOCKED, HELD, UNREAD) == 0
    told = {(w.waiting.state, w.waiting.target): w for w in registry.digest_after(0, 0).waiting}
    assert told.keys() == {
        ("blocked", "delta:/lake/orders"), ("quarantine", "delta:/lake/orders"),
        ("quarantine", "iceberg:ice.q.quarantine"),
    }  # fmt: skip
    records = told["quarantine", "delta:/lake/orders"]
    assert (records.waiting.records, records.since_ms, records.waiting.reason) == (3, 1_000, "no earlier row")
    assert told["quarantine", "iceberg:ice.q.quarantine"].waiting.command == "schemaman rejects"
    assert "--table /lake/orders" in told["blocked", "delta:/lake/orders"].waiting.command
    uncertain = QuarantinedTable("/lake/orders", "{}", 1, 1, 0, 8, 1_000, OTHER_ROW)
    assert write(BLOCKED, uncertain, UNREAD) == 1
    (found,) = (w.waiting for w in registry.digest_after(0, 0).waiting if w.waiting.records == 1)
    assert found.command == "schemaman decide confirm srv.app.orders key"
    journal = begin()  # another process finds what waits, and what no longer does
    assert write(WRITTEN, UNREAD) == 2
    assert [w.waiting.records for w in registry.digest_after(0, 0).waiting] == [2]
    assert write(WRITTEN) == 1
    assert registry.digest_after(0, 0).waiting == ()
