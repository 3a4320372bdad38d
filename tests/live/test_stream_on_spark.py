"""Topics as a stream of Spark: each record is recorded once, wherever the query ends."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemaman.errors import UsageError
from schemaman.ingest.ingest import Summary, ingest
from schemaman.io import kafka
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.spark.ingest import Destination
from schemaman.spark.topic_batches import ingest_stream
from schemaman.store.memory import MemoryStore
from schemaman_cli.main import main
from tests.live.test_following import orders
from tests.live.test_kafka import create, send

pytestmark = pytest.mark.spark


def stream(
    spark: Any, address: str, registry: Registry, checkpoint: Path, pause: float | None = None
) -> Generator[Summary, None, None]:
    destination = Destination(registry, "main", NO_REGISTRY)
    return ingest_stream(spark, kafka.find_topics(address), {}, destination, checkpoint, pause=pause)


def test_a_stream_goes_on_from_its_checkpoint(spark: Any, broker: str, tmp_path: Path) -> None:
    topic, address = "stream.orders", f"kafka://{broker}/stream.*"
    create(broker, topic)
    records = orders(topic)
    here, there = (Registry(MemoryStore(lambda: 0), lambda: 0) for _ in range(2))
    send(broker, records[:5])
    ingest(records[:3], there, "main", NO_REGISTRY)
    assert sum(done.new for done in stream(spark, address, there, tmp_path)) == 2
    send(broker, records[5:9])
    with closing(stream(spark, address, there, tmp_path, 0.1)) as ended_before_the_batch_is_done:
        assert next(ended_before_the_batch_is_done).new == 4
    create(broker, "stream.late")
    send(broker, [*records[9:], *orders("stream.late")[:2]])
    assert sum(done.new for done in stream(spark, address, there, tmp_path)) == len(records) - 7
    ingest(records, here, "main", NO_REGISTRY)
    ingest(orders("stream.late")[:2], here, "main", NO_REGISTRY)
    assert (there.tables(), there.offsets("main")) == (here.tables(), here.offsets("main"))
    with pytest.raises(UsageError, match="belongs to another store"):
        next(stream(spark, address, here, tmp_path))


def test_the_command_reads_once_with_a_checkpoint(
    spark: Any,
    broker: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    create(broker, "once")
    send(broker, orders("once"))
    words = ["ingest", f"kafka://{broker}/once", "--engine", "spark", "--checkpoints", "points", "--once"]
    for new in (len(orders("once")), 0):
        assert main([*words, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["records"]["new"] == new
    assert main([*words, "--follow"]) == 2
    assert main([*words[:4], "--once"]) == 2
