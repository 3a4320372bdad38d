"""`python -m bench.kafka_spark [MB]` reads a topic with Spark's own Kafka source and with schemaman.

A broker on loopback is filled with a topic of one partition and one of four. Spark's source sums checksums of
all values, which is the least that makes it read them. `ingest_topics` reads with confluent-kafka in Python
workers; `ingest_frame` takes the frame of Spark's source. The session start does not count. CPU seconds are
those of the session and its workers, without the broker. A time counts only with a correct result. The least
of all rounds counts, so that the first round is the warm-up. The jars are those of the live tests.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import functions as F

from bench import made_events
from bench.processes import list_tree, read_cpu, read_tree_cpu
from schemaman.io.kafka import Topics
from schemaman.io.schema_registry import NO_REGISTRY
from schemaman.registry import Registry
from schemaman.spark.frame_ingest import ingest_frame
from schemaman.spark.ingest import Destination, ingest_topics
from schemaman.spark.session import start_session
from schemaman.store.memory import MemoryStore
from tests.live.broker import broker_in
from tests.live.jars import jars
from tests.live.process import free_port
from tests.live.secured import Secured
from tests.support.certificates import self_signed

MEGABYTES = 200
PARTITIONS = (1, 4)
_ROUNDS = int(os.environ.get("BENCH_REPETITIONS", "3"))
_SOURCE = "Spark's source, sum(crc32)"


def main(megabytes: int) -> None:
    """Print the seconds of each variant and their ratios, then one line of JSON for `bench.compare`."""
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with broker_in(folder, Secured(f"127.0.0.1:{free_port()}", self_signed(folder))) as broker:
            servers = [pid for pid in list_tree() if pid != os.getpid()]
            settings = {"spark.jars": ",".join(map(str, jars("spark-kafka")))}
            spark = start_session(warehouse=folder / "lake", settings=settings)
            for partitions in PARTITIONS:
                topic = f"events-{partitions}"
                records = _fill(broker, topic, partitions, megabytes * 1_000_000)
                spent = _measure(_list_variants(spark, broker, topic, records), servers, partitions)
                floor = spent.pop(_SOURCE)
                for variant, one in spent.items():
                    for unit, ours, theirs in zip(("CPU", "time"), one, floor, strict=True):
                        ratios[f"{partitions} partitions: Spark's source / {variant}, {unit}"] = theirs / ours
            spark.stop()
    for what, ratio in ratios.items():
        print(f"  {what:70} {ratio:5.2f}")
    print(json.dumps({"megabytes": megabytes, "spark": pyspark.__version__, "ratios": ratios}))


def _fill(broker: str, topic: str, partitions: int, size: int) -> int:
    """Write events of about `size` bytes, alike in each partition; return their number."""
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
    (sample,) = made_events.events(1)
    each = size // len((sample.key or b"") + (sample.value or b"")) // partitions
    events = made_events.events(each)
    producer = Producer({"bootstrap.servers": broker, "enable.idempotence": True, "linger.ms": 20})
    for partition in range(partitions):
        for event in events:
            producer.produce(topic, event.value, event.key, partition)
            while len(producer) > 50_000:
                producer.poll(0.1)
    if producer.flush(60):
        raise SystemExit("the broker did not take all records")
    return each * partitions


def _list_variants(spark: Any, broker: str, topic: str, records: int) -> dict[str, Callable[[], int]]:
    """List the variants; each returns the number of records that it has read."""

    def open_frame() -> Any:
        source = spark.read.format("kafka").option("kafka.bootstrap.servers", broker)
        return source.option("subscribe", topic).option("includeHeaders", "true").load()

    def read_checksums() -> int:
        return int(open_frame().agg(F.sum(F.crc32("value")), F.count("value")).collect()[0][1])

    def make_destination() -> Destination:
        return Destination(Registry(MemoryStore(lambda: 0), lambda: 0), "main", NO_REGISTRY)

    def read_topics() -> int:
        return ingest_topics(spark, Topics(broker, (topic,)), {}, make_destination()).new

    def read_frame() -> int:
        return ingest_frame(open_frame(), make_destination()).new

    variants = {_SOURCE: read_checksums, "ingest_topics": read_topics, "ingest_frame": read_frame}
    return {name: _require(run, records) for name, run in variants.items()}


def _require(run: Callable[[], int], records: int) -> Callable[[], int]:
    def run_and_check() -> int:
        found = run()
        if found != records:
            raise SystemExit(f"wrong result: {found} instead of {records}")
        return found

    return run_and_check


def _measure(
    variants: dict[str, Callable[[], int]], servers: list[int], partitions: int
) -> dict[str, tuple[float, float]]:
    """Measure the least CPU seconds and the least wall seconds of each variant."""
    spent: dict[str, list[tuple[float, float]]] = {}
    for _ in range(_ROUNDS):
        for name, run in variants.items():
            cpu, began = read_tree_cpu() - read_cpu(servers), time.monotonic()
            run()
            wall = time.monotonic() - began
            spent.setdefault(name, []).append((read_tree_cpu() - read_cpu(servers) - cpu, wall))
            print(
                f"  {partitions} partitions: {name:30} {spent[name][-1][0]:7.2f} CPU s {wall:7.2f} s",
                flush=True,
            )
    return {name: (min(c for c, _ in each), min(w for _, w in each)) for name, each in spent.items()}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES)
