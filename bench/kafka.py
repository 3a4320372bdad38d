"""Measures `schemaman ingest kafka://…` beside a bare consumer: `python -m bench.kafka [MB]`.

A broker on loopback is filled once, in one partition. Then a bare confluent-kafka consumer and `schemaman
ingest` read the topic in turn, each in its own process. CPU seconds are those of the process, without the
broker. A time counts only with a correct result. The first repetition is dropped.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka import Producer

from bench import made_events
from bench.processes import run_process
from tests.live.broker import broker_in
from tests.live.process import free_port
from tests.live.secured import Secured
from tests.support.certificates import self_signed

MEGABYTES = 200
REPETITIONS = int(os.environ.get("BENCH_REPETITIONS", "2"))

_IMPORTS = "import confluent_kafka"
_BARE = """
import sys
from confluent_kafka import Consumer, TopicPartition
broker, topic, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = Consumer({"bootstrap.servers": broker, "group.id": "bare", "enable.auto.commit": False,
    "isolation.level": "read_committed", "queued.max.messages.kbytes": 32768, "fetch.queue.backoff.ms": 10})
consumer.assign([TopicPartition(topic, 0, 0)])
count, offset = 0, -1
while offset < last:
    for message in consumer.consume(min(1000, last - offset), 0.1):
        if message.error() is None:
            offset = message.offset()
            message.value(), message.key()
            count += 1
consumer.close()
print(count)
"""
"""What a user would write who needs each record once."""


def main(megabytes: int) -> None:
    """Print the seconds of each variant and their ratios, then one line of JSON for `bench.compare`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with broker_in(folder, Secured(f"127.0.0.1:{free_port()}", self_signed(folder))) as broker:
            records = _fill(broker, megabytes * 1_000_000)
            spent = _measure(broker, records, folder)
    bare, ingest = spent["bare consumer"], spent["ingest"]
    empty, start = spent["import confluent_kafka"], spent["ingest again"]
    for what, (cpu, wall) in spent.items():
        print(f"  {what:24} {cpu:7.2f} CPU s  {wall:7.2f} s  {cpu / records * 1e6:7.2f} µs CPU a record")
    ratios = {
        f"bare consumer / ingest, {unit}": (bare[i] - empty[i]) / (ingest[i] - start[i])
        for i, unit in enumerate(("CPU", "time"))
    }
    print(f"{records} records; without what each costs with nothing to read: {ratios}")
    print(json.dumps({"megabytes": megabytes, "python": platform.python_version(), "ratios": ratios}))


def _fill(broker: str, size: int) -> int:
    """Write events of about `size` bytes to one partition; return their number."""
    (sample,) = made_events.events(1)
    events = made_events.events(size // len((sample.key or b"") + (sample.value or b"")))
    producer = Producer({"bootstrap.servers": broker, "enable.idempotence": True, "linger.ms": 20})
    for event in events:
        producer.produce(event.topic, event.value, event.key, 0)
        producer.poll(0)
        while len(producer) > 50_000:
            producer.poll(0.1)
    if producer.flush(60):
        raise SystemExit("the broker did not take all records")
    return len(events)


def _measure(broker: str, records: int, folder: Path) -> dict[str, tuple[float, float]]:
    """Measure the median CPU seconds and wall seconds of each variant."""
    spent: dict[str, list[tuple[float, float]]] = {}
    source = f"kafka://{broker}/{made_events.TOPIC}"
    for repetition in range(REPETITIONS + 1):
        store = folder / f"store-{repetition}.db"
        ingest = ("-m", "schemaman_cli.main", "ingest", source, "--store", str(store), "--format", "json")
        variants: list[tuple[str, Sequence[str], Callable[[str], bool]]] = [
            ("import confluent_kafka", ("-c", _IMPORTS), lambda out: not out),
            (
                "bare consumer",
                ("-c", _BARE, broker, made_events.TOPIC, str(records - 1)),
                lambda out: int(out) == records,
            ),
            ("ingest", ingest, lambda out: json.loads(out)["records"]["new"] == records),
            ("ingest again", ingest, lambda out: json.loads(out)["records"]["new"] == 0),
        ]
        for name, command, is_correct in variants:
            began = time.monotonic()
            done = run_process(*command)
            wall = time.monotonic() - began
            if not is_correct(done.output):
                raise SystemExit(f"wrong result of {name}: {done.output[:500]}")
            if repetition:
                spent.setdefault(name, []).append((done.cpu, wall))
    return {
        name: (statistics.median(cpu for cpu, _ in each), statistics.median(wall for _, wall in each))
        for name, each in spent.items()
    }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES)
