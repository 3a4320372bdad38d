"""Every record of the topics of one connector, read from the broker as it arrives."""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka import Consumer, Message, TopicPartition

from schemaman.debezium.records import Record
from tests.live.forms import Form
from tests.truth.recording import Fact, Place

_QUIET = 0.02


class Topics:
    """The topics whose names begin with `prefix` and a dot, and the one of schema changes.

    They are found anew at each reading.
    """

    def __init__(self, broker: str, prefix: str, form: Form) -> None:
        self.source = f"kafka://{broker}/{prefix}.*"
        self.records: list[Record] = []
        self._prefix = prefix
        self._form = form
        self._assigned: set[tuple[str, int]] = set()
        self._consumer = Consumer(
            {"bootstrap.servers": broker, "group.id": f"reader of {prefix}", "enable.auto.commit": False}
        )

    def read(self) -> None:
        """Take what has arrived since."""
        for place in self._places():
            if place not in self._assigned:
                self._assigned.add(place)
                self._consumer.incremental_assign([TopicPartition(*place, 0)])
        while found := self._consumer.consume(500, _QUIET if self._assigned else 0):
            self.records += [_record(message) for message in found]

    def close(self) -> None:
        self._consumer.close()

    def facts(self) -> dict[Place, Fact]:
        """Every record with a source block, by its place, in the order of arrival."""
        found = {}
        for record in self.records:
            source = self._form.envelope(record).get("source") if record.value is not None else None
            if source is not None:
                place = (record.topic, record.partition, record.offset)
                found[place] = Fact(place, source, source.get("snapshot") not in (None, "false"))
        return found

    def transactions(self) -> set[int]:
        """The transactions whose streamed records have arrived."""
        return {int(f.source["txId"]) for f in self.facts().values() if not f.snapshot}

    def gtids(self) -> set[str]:
        """The transactions whose records have arrived, as MariaDB numbers them."""
        return {str(f.source.get("gtid")) for f in self.facts().values() if not f.snapshot}

    def _places(self) -> Iterator[tuple[str, int]]:
        for name, topic in self._consumer.list_topics(timeout=10).topics.items():
            if name == self._prefix or name.startswith(f"{self._prefix}."):
                yield from ((name, partition) for partition in topic.partitions)


def _record(message: Message) -> Record:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert message.error() is None, message.error()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    told = message.headers() or ()
    headers = tuple(
        (name, _bytes(value)) for name, value in (told.items() if isinstance(told, dict) else told)
    )
    key, value = _bytes(message.key()), _bytes(message.value())
    return Record(topic, partition, offset, message.timestamp()[1], key, value, headers)


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
