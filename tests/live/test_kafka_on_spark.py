"""Kafka on executors: ranges of offsets in tasks give the log of one local reading."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

import schemaman as sm
from schemaman.debezium.payload import SchemaLookup
from schemaman.errors import CouldNotDo, UnreadableInput
from schemaman.ingest.ingest import Summary, ingest
from schemaman.io import kafka
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.spark import ingest as pipeline
from schemaman.store.log import LogEntry
from schemaman.store.memory import MemoryStore
from tests.live.broker import settled_in
from tests.live.process import free_port
from tests.live.secured import Secured
from tests.live.test_kafka import create, send
from tests.live.test_outage import RUN, of_orders
from tests.spark.killing_schemas import KillingSchemas
from tests.support.certificates import self_signed
from tests.support.checkout import PROOF
from tests.support.recordings import recorded, registry

pytestmark = pytest.mark.spark


class Reader:
    """A registry of its own, read from a broker by one of the engines."""

    def __init__(self, source: kafka.Topics, options: dict[str, str] | None = None) -> None:
        self.source, self.options = source, options or {}
        self.store = MemoryStore(lambda: 0)
        self.registry = Registry(self.store, lambda: 0)

    def read_here(self) -> Summary:
        records = kafka.read_records(self.source, self.options, self.registry.offsets("main"))
        return ingest(records, self.registry, "main", NO_REGISTRY)

    def read_there(self, spark: Any, schemas: SchemaLookup = NO_REGISTRY) -> Summary:
        destination = pipeline.Destination(self.registry, "main", schemas)
        return pipeline.ingest_topics(spark, self.source, self.options, destination)

    @property
    def log(self) -> list[LogEntry]:
        return list(self.store.read())


def send_shop(broker: str, prefix: str) -> None:
    """A recording in two partitions a topic, and a transaction that is given up before its last records."""
    records = recorded("postgres/shop-json")
    for topic in sorted({r.topic for r in records}):
        create(broker, prefix + topic, 2)
        send(broker, [_move(r, prefix) for r in records if r.topic == topic])


def _move(record: sm.Record, prefix: str) -> sm.Record:
    return sm.Record(
        prefix + record.topic, hash(record.key) % 2, 0, record.timestamp_ms, record.key, record.value
    )


def test_ranges_of_offsets_give_the_log_of_one_reading(
    spark: Any, broker: str, secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "choose_task_offsets", lambda *_: 40)
    send_shop(broker, "split.")
    aborted = Producer({"bootstrap.servers": broker, "transactional.id": "gives-up"})
    aborted.init_transactions(30)
    aborted.begin_transaction()
    aborted.produce("split.shopdb.shop.orders", b"never", b"k", 0)
    aborted.flush(30)
    aborted.abort_transaction(30)
    here = Reader(kafka.find_topics(f"kafka://{broker}/split.*"))
    there = Reader(kafka.find_topics(f"kafka://{secured.address}/split.*"), secured.options())
    summary = here.read_here()
    assert summary.observations > 20
    assert there.read_there(spark) == summary
    assert there.log == here.log
    assert there.read_there(spark).new == 0
    later = [_move(r, "split.") for r in recorded("postgres/shop-json") if r.topic.endswith(".orders")]
    send(broker, later[:30])
    create(broker, "split.new", 1)
    assert there.read_there(spark).new == here.read_here().new == 30
    assert there.registry.tables() == here.registry.tables()


def test_the_data_source_reads_topics(spark: Any, broker: str, tmp_path: Path) -> None:
    send_shop(broker, "frame.")
    spark.dataSource.register(sm.spark.RecordDataSource)
    frame = spark.read.format("schemaman").option("maxPartitionOffsets", "100")
    records = frame.load(f"kafka://{broker}/frame.*")
    with sm.open(tmp_path / "s.db", create=True) as registry:
        assert registry.ingest(records).new == len(recorded("postgres/shop-json"))


@pytest.mark.parametrize("lookup", range(150, 2150, 200) if PROOF else [700])
def test_a_broker_that_is_killed_amid_tasks_and_restarted(spark: Any, tmp_path: Path, lookup: int) -> None:
    broker = settled_in(tmp_path, Secured(f"127.0.0.1:{free_port()}", self_signed(tmp_path)))
    slowly = {"queued.max.messages.kbytes": "1", "fetch.message.max.bytes": "1000"}
    there = Reader(kafka.find_topics(f"kafka://{broker.address}/orders"), slowly)
    here, records = Registry(MemoryStore(lambda: 0), lambda: 0), of_orders("orders")
    ingest(records, here, "main", registry(RUN))
    with ThreadPoolExecutor(1) as pool:
        with broker.up() as server:
            create(broker.address, "orders")
            send(broker.address, records)
            killing = KillingSchemas(registry(RUN), tmp_path / "armed", lookup, pid=server.pid)
            reading = pool.submit(there.read_there, spark, killing)
            while killing.armed.exists() and not reading.done():
                time.sleep(0.02)
            server.stop(signal.SIGKILL)
        assert not killing.armed.exists()
        with broker.up():
            try:
                reading.result()
            except (CouldNotDo, UnreadableInput):
                assert there.registry.offsets("main") == {}
                there.read_there(spark, registry(RUN))
    assert (there.registry.tables(), there.registry.offsets("main")) == (here.tables(), here.offsets("main"))
