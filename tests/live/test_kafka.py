"""Kafka as a source: what comes out of a broker is what was put in, once, up to the end that was seen."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from schemaman.debezium.records import Record
from schemaman.errors import BadConfiguration, UnreadableInput, UsageError
from schemaman.ingest.ingest import ingest
from schemaman.ingest.line_batches import RowBatch, parse_items
from schemaman.io import files, kafka, schema_registry
from schemaman.registry import Registry
from schemaman.store.memory import MemoryStore
from schemaman_cli.main import main
from tests.live.process import free_port
from tests.live.secured import PASSWORD, Secured
from tests.support.checkout import CAPTURES

_NUMBERS = itertools.count(1)


@pytest.fixture
def topic() -> str:
    """A topic of its own for each test."""
    return f"kafka.{next(_NUMBERS)}"


def create(broker: str, topic: str, partitions: int = 1, **settings: str) -> None:
    new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
    admin = AdminClient({"bootstrap.servers": broker})
    for made in admin.create_topics([new]).values():
        made.result(30)


def send(broker: str, records: Iterable[Record]) -> None:
    # Without it a batch that is sent again, as no leader was known yet, comes behind the next one.
    ordered = {"enable.idempotence": True, "acks": "all"}
    producer = Producer({"bootstrap.servers": broker, "log_level": 0, "linger.ms": 0, **ordered})
    for r in records:
        headers: list[tuple[str, str | bytes | None]] | None = [*r.headers] or None
        producer.produce(r.topic, r.value, r.key, r.partition, timestamp=r.timestamp_ms or 0, headers=headers)
        producer.poll(0)
    assert producer.flush(30) == 0


def read(broker: str, topics: str, known: Any = None, **options: str) -> list[Record]:
    source = kafka.find_topics(f"kafka://{broker}/{topics}")
    return list(kafka.read_records(source, options, known or {}))


def read_batches(broker: str, topics: str) -> list[Record | RowBatch]:
    return list(kafka.read_batches(kafka.find_topics(f"kafka://{broker}/{topics}"), {}, {}))


def some(topic: str, count: int, partition: int = 0, first: int = 0) -> list[Record]:
    return [Record(topic, partition, first + n, 1_000 + n, b"k%d" % n, b"v%d" % n) for n in range(count)]


def test_everything_that_a_record_has_comes_back(broker: str, topic: str) -> None:
    create(broker, topic)
    sent = [
        Record(topic, 0, 0, 1_700_000_000_000, b"\0k", b'{"a": 1}', (("h", b"\xff"), ("h", None), ("", b""))),
        Record(topic, 0, 1, 1_700_000_000_001, None, b""),
        Record(topic, 0, 2, 1_700_000_000_002, b"", None),
    ]
    send(broker, sent)
    assert read(broker, topic) == sent
    batches = read_batches(broker, topic)
    assert list(parse_items(batches)) == sent
    assert batches[0] == sent[0]
    assert [len(batch.rows) for batch in batches if isinstance(batch, RowBatch)] in ([2], [1, 1])


def test_a_partition_and_a_topic_that_are_new_are_read_by_the_same_pattern(broker: str, topic: str) -> None:
    create(broker, f"{topic}.a")
    send(broker, some(f"{topic}.a", 3))
    assert len(read(broker, f"{topic}.*")) == 3
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_partitions([NewPartitions(f"{topic}.a", 2)])[f"{topic}.a"].result(30)
    create(broker, f"{topic}.b")
    later = [*some(f"{topic}.a", 2, 1), *some(f"{topic}.b", 2)]
    send(broker, later)
    known = {(f"{topic}.a", 0): ((0, 2),)}
    assert read(broker, f"{topic}.*", known) == [*some(f"{topic}.a", 3)[2:], *later]


def test_offsets_that_retention_has_deleted_are_a_hole(broker: str, topic: str) -> None:
    create(broker, topic)
    sent = some(topic, 10)
    send(broker, sent)
    admin = AdminClient({"bootstrap.servers": broker})
    for deleted in admin.delete_records([TopicPartition(topic, 0, 6)]).values():
        deleted.result(30)
    assert read(broker, topic) == sent[6:]
    assert read(broker, topic, {(topic, 0): ((0, 3),)}) == sent[6:]


def test_offsets_that_compaction_has_removed_are_holes(broker: str, topic: str) -> None:
    settings = {"cleanup.policy": "compact", "segment.ms": "50", "min.cleanable.dirty.ratio": "0.01"}
    create(broker, topic, 1, **settings)
    sent = [replace(r, key=b"k%d" % (r.offset % 3)) for r in some(topic, 9)]
    # a segment ends before a record that is so much younger; only then is it compacted
    last = replace(some(topic, 1, 0, 9)[0], timestamp_ms=1_000_000)
    send(broker, sent)
    send(broker, [last])
    kept, end = [*sent[6:], last], time.monotonic() + 30
    while (found := read(broker, topic)) != kept and time.monotonic() < end:
        time.sleep(0.2)
    assert found == kept
    assert list(parse_items(read_batches(broker, topic))) == kept
    assert read(broker, topic, {(topic, 0): ((0, 3),)}) == kept
    assert read(broker, topic, {(topic, 0): ((0, 3), (6, 9))}) == []


def test_partitions_come_one_after_the_other_and_no_more_than_was_there(broker: str, topic: str) -> None:
    create(broker, topic, 3)
    sent = [r for p in (0, 2) for r in some(topic, 1_200, p)]
    send(broker, sorted(sent, key=lambda r: r.offset))
    reading = kafka.read_records(kafka.find_topics(f"kafka://{broker}/{topic}"), {}, {})
    found = [next(reading)]
    send(broker, some(topic, 10, 1) + some(topic, 10, 0))
    assert [*found, *reading] == sent


def test_names_and_patterns_of_topics(broker: str, topic: str) -> None:
    for name in ("a", "b", "other"):
        create(broker, f"{topic}.{name}")
        send(broker, some(f"{topic}.{name}", 1))

    def topics(text: str) -> list[str]:
        return [r.topic for r in read(broker, text)]

    assert topics(f"{topic}.b,{topic}.a") == [f"{topic}.b", f"{topic}.a"]
    assert topics(f"{topic}.?".replace("?", "*")) == [f"{topic}.a", f"{topic}.b", f"{topic}.other"]
    assert topics(f"{topic}.other,{topic}.*") == [f"{topic}.other", f"{topic}.a", f"{topic}.b"]
    with pytest.raises(UnreadableInput, match=f"there is no topic '{topic}.c'") as fault:
        read(broker, f"{topic}.c")
    assert f"{topic}.b" in (fault.value.hint or "")
    with pytest.raises(UnreadableInput, match="there is no topic"):
        read(broker, "nothing.*")


def test_aborted_transactions_are_not_read_and_open_ones_not_yet(broker: str, topic: str) -> None:
    create(broker, topic)
    producer = Producer({"bootstrap.servers": broker, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    for value, end in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(30) == 0
        end(30)
    assert [(r.offset, r.value) for r in read(broker, topic)] == [(0, b"kept")]
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(30) == 0
    assert [r.value for r in read(broker, topic)] == [b"kept"]
    producer.commit_transaction(30)
    assert [(r.offset, r.value) for r in read(broker, topic)] == [(0, b"kept"), (4, b"open")]


def test_what_is_known_is_passed_over_but_for_its_last_record(
    broker: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(broker, topic)
    sent = some(topic, 20)
    send(broker, sent)
    assert read(broker, topic, {(topic, 0): ((0, 9),)}) == sent[9:]
    assert read(broker, topic, {(topic, 0): ((0, 19),)}) == sent[19:]
    assert read(broker, topic, {(topic, 0): ((0, 4), (9, 19))}) == sent[4:9]
    assert read(broker, topic, {(topic, 0): ((5, 9),)}) == sent
    monkeypatch.setattr(kafka, "_WORTH_SEEKING", 3)
    assert read(broker, topic, {(topic, 0): ((0, 4), (9, 17))}) == sent[4:9] + sent[17:]
    with pytest.raises(UsageError, match=r"ends at offset 20, but offset 20 was already read"):
        read(broker, topic, {(topic, 0): ((0, 20),)})


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_CONNECT_SECONDS", 2.0)
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(
        UnreadableInput, match=rf"kafka://{address}/t: no broker has answered for 2 s: .*refused"
    ):
        read(address, "t")


def test_options_that_cannot_be(broker: str) -> None:
    with pytest.raises(BadConfiguration, match="No such configuration property"):
        read(broker, "t", **{"no.such": "thing"})
    with pytest.raises(BadConfiguration, match="is set by schemaman"):
        read(broker, "t", **{"isolation.level": "read_uncommitted"})


def test_tls_and_a_password(broker: str, secured: Secured, topic: str) -> None:
    create(broker, topic)
    sent = some(topic, 3)
    send(broker, sent)
    assert read(secured.address, topic, **secured.options()) == sent


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sasl.password": "wrong-one"}, "[Aa]uthentication failed"),
        ({"ssl.ca.location": ""}, "certificate verify failed"),
        ({"security.protocol": "PLAINTEXT"}, "no broker has answered for 2 s"),
    ],
)
def test_a_broker_that_does_not_let_in(
    broker: str, secured: Secured, change: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "_CONNECT_SECONDS", 2.0)
    options = {name: value for name, value in (secured.options() | change).items() if value}
    if options["security.protocol"] == "PLAINTEXT":
        options = {"security.protocol": "PLAINTEXT"}
    with pytest.raises(UnreadableInput, match=message) as fault:
        read(secured.address, "t", **options)
    told = fault.value.message + (fault.value.hint or "")
    assert "security.protocol" in told
    assert not {"wrong-one", PASSWORD} & {word.strip(":,.") for word in told.split()}


def recording(name: str, topic: str) -> list[Record]:
    """A recording under topics of its own, its offsets as a broker will give them."""
    ends: Counter[tuple[str, int]] = Counter()
    found = []
    for record in files.read_records(files.find_file(str(CAPTURES / name))):
        assert isinstance(record, Record)
        place = (record.topic, record.partition)
        found.append(replace(record, topic=f"{topic}.{record.topic}", offset=ends[place]))
        ends[place] += 1
    return found


@pytest.mark.parametrize("name", ["mariadb/bookshop-mysql-2.5.4-avro", "db2/shop-3.4.1-json"])
def test_a_recording_through_a_broker_gives_the_history_of_its_file(
    broker: str, topic: str, name: str
) -> None:
    records, beside = recording(name, topic), CAPTURES / name / "registry.json"
    schemas = schema_registry.load_export(str(beside)) if beside.exists() else schema_registry.NO_REGISTRY
    for each in sorted({r.topic for r in records}):
        create(broker, each, 1 + max(r.partition for r in records if r.topic == each))
    live, file = (Registry(MemoryStore(lambda: 0), lambda: 0) for _ in range(2))
    new = []
    for part in (records[: len(records) // 2], records[len(records) // 2 :], []):
        send(broker, part)
        source = kafka.find_topics(f"kafka://{broker}/{topic}.*")
        found = kafka.read_batches(source, {}, live.offsets("main"))
        new.append(ingest(found, live, "main", schemas).new)
    ingest(records, file, "main", schemas)
    assert new == [len(records) // 2, len(records) - len(records) // 2, 0]
    assert live.tables() == file.tables()
    assert live.offsets("main") == file.offsets("main")


def test_the_command_reads_topics_and_does_not_show_secrets(
    broker: str,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    create(broker, topic)
    records = [r for r in recording("db2/shop-3.4.1-json", topic) if r.topic.endswith("ORDERS")]
    send(broker, [replace(r, topic=topic) for r in records])
    Path("client.properties").write_text("# for the broker\nclient.id = me\nsasl.password=hush\n")
    command = [
        "ingest",
        f"kafka://{broker}/{topic}",
        "--format",
        "json",
        "--kafka-config",
        "client.properties",
    ]
    assert main([*command, "--kafka-config", "fetch.min.bytes=1"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == {"read": 5, "known": 0, "new": 5, "rejected": 0}
    assert main([*command, "--kafka-config", "sasl.password=hush"]) == 2
    assert "sasl.password is a secret" in capsys.readouterr().err
    assert main(["ingest", f"kafka://{broker}/{topic}.no"]) == 3
    Path("schemaman.toml").write_text('[kafka_config]\n"sasl.password" = "hush"\n"fetch.min.bytes" = 1\n')
    capsys.readouterr()
    assert main(["config", "show"]) == 0
    shown = capsys.readouterr().out
    assert "sasl.password=***" in shown
    assert "hush" not in shown
