"""A broker that goes, a reader who is interrupted, amid records: whole chunks stay, the rest comes later."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from schemaman.api import local_reading
from schemaman.debezium.records import Record
from schemaman.ingest.chunks import read_chunks
from schemaman.ingest.ingest import ingest
from schemaman.ingest.line_batches import RowBatch
from schemaman.io import kafka
from schemaman.io.kafka_rows import split_into_batches
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from schemaman.store.offsets import Ranges, list_spans
from schemaman.store.sql.store import SqlStore
from schemaman_cli.main import main
from tests.live.broker import settled_in
from tests.live.process import free_port
from tests.live.secured import Secured
from tests.live.test_kafka import create, send
from tests.support.certificates import self_signed
from tests.support.checkout import CAPTURES
from tests.support.recordings import recorded, registry

RUN = "postgres/shop-avro"
SIZE = 500
AMID = 2 * SIZE + SIZE // 2
"""A record inside of the third chunk."""

Amid = Callable[[Callable[[], object]], None]


def of_orders(topic: str) -> list[Record]:
    """Ten chunks of records of one table, the same again and again."""
    found = [r for r in recorded(RUN) if r.topic.endswith(".orders") and r.value is not None]
    told = islice(cycle(found), 10 * SIZE)
    return [replace(r, topic=topic, partition=0, offset=n) for n, r in enumerate(told)]


def undisturbed(records: list[Record]) -> tuple[object, ...]:
    """What a reading of all of them at once remembers."""
    desk = Registry(MemoryStore(lambda: 0), lambda: 0)
    ingest(records, desk, "main", registry(RUN), size=SIZE)
    return (desk.tables(), desk.offsets("main"))


def remembered() -> tuple[object, ...]:
    """What the store in the working folder remembers."""
    with SqlStore.open("schemaman.db") as store:
        assert store.check() == ()
        desk = Registry(store, lambda: 0)
        return (desk.tables(), desk.offsets("main"))


def kept() -> Ranges:
    """The offsets that the store in the working folder has of its one partition."""
    with SqlStore.open("schemaman.db") as store:
        assert store.check() == ()
        return tuple(sorted(span for covered in store.read_ranges("main") for span in list_spans(covered)))


@pytest.fixture
def amid(monkeypatch: pytest.MonkeyPatch) -> Amid:
    """Has something happen, once, when a certain record has come."""

    def amid(happening: Callable[[], object]) -> None:
        split, left = split_into_batches, [happening]

        def split_around(messages: Sequence[Any]) -> Iterator[Record | RowBatch]:
            before = [message for message in messages if message.offset() < AMID]
            if left and len(before) < len(messages):
                yield from split(before)
                left.pop()()
                yield from split(messages[len(before) :])
            else:
                yield from split(messages)

        monkeypatch.setattr(kafka, "split_into_batches", split_around)

    return amid


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Reading in small chunks into a store of its own, with next to nothing fetched ahead."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local_reading, "read_chunks", partial(read_chunks, size=SIZE))
    Path("slowly").write_text("queued.max.messages.kbytes=1\nfetch.message.max.bytes=1000\n")
    return ["--registry", str(CAPTURES / RUN / "registry.json"), "--kafka-config", "slowly"]


def test_a_broker_that_dies_amid_records(
    tmp_path: Path,
    options: list[str],
    amid: Amid,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(kafka, "_SILENCE_SECONDS", 10.0)
    broker = settled_in(tmp_path, Secured(f"127.0.0.1:{free_port()}", self_signed(tmp_path)))
    words, records = ["ingest", f"kafka://{broker.address}/orders", *options], of_orders("orders")
    with broker.up() as server:
        create(broker.address, "orders")
        send(broker.address, records)
        amid(lambda: server.stop(signal.SIGKILL))
        began = time.monotonic()
        assert main(words) == 3
        assert time.monotonic() - began < 60
    said = capsys.readouterr().err
    assert "no broker has answered for 10 s" in said
    assert "hint: " in said
    ((first, last),) = kept()
    assert first == 0
    assert 2 * SIZE <= last + 1 < len(records)
    assert (last + 1) % SIZE == 0
    with broker.up():
        assert main(words) == 0
    assert remembered() == undisturbed(records)


def test_a_reader_who_is_interrupted_amid_records(
    broker: str, options: list[str], amid: Amid, capsys: pytest.CaptureFixture[str]
) -> None:
    records = of_orders("interrupted")
    create(broker, "interrupted")
    send(broker, records)
    words = ["ingest", f"kafka://{broker}/interrupted", *options]
    amid(lambda: signal.raise_signal(signal.SIGINT))
    assert main(words) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert kept() == ((0, 2 * SIZE - 1),)
    assert main(words) == 0
    assert remembered() == undisturbed(records)
