"""Reads the unread records of Kafka topics, up to the end offset at the start of the reading.

Law: nothing is committed, no group is joined; partition after partition, each in the order of its offsets.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from schemaman.debezium.records import Record
from schemaman.errors import BadConfiguration, BadReference, EngineUnavailable, UnreadableInput, UsageError
from schemaman.plugins import install_hint
from schemaman.settings import is_secret
from schemaman.store.offsets import Partition, Ranges, find_missing

SCHEME = "kafka://"
_TOPIC = re.compile(r"[A-Za-z0-9._*-]{1,249}")
"""Source: Kafka, org.apache.kafka.common.internals.Topic: legal characters and greatest length."""

_LAST_PORT = 65_535
_OWN_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas")
"""What brokers and registries write for themselves; a pattern does not mean them.
Source: org.apache.kafka.common.internals.Topic; Confluent Schema Registry `kafkastore.topic`."""

_CONNECT_SECONDS = 15.0
"""Seconds to wait for a broker's first answer."""

_SILENCE_SECONDS = 60.0
"""Seconds without a record or an end before a broker counts as gone."""

_POLL = 0.1
_BATCH = 1_000
"""Messages that are waited for at once; no more than are to come, so that an end costs no wait."""

_WORTH_SEEKING = 10_000
"""Known records that are passed over by asking the broker for another offset; fewer are read along."""

_FIXED_OPTIONS = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
}
"""What reading exactly depends on. Retention may take the first offset away before it is fetched."""

_DEFAULTS = {
    "group.id": "schemaman",
    "client.id": "schemaman",
    "log_level": 0,
    "max.poll.interval.ms": 86_400_000,
    "queued.max.messages.kbytes": 32_768,
    "fetch.wait.max.ms": 100,
    "fetch.queue.backoff.ms": 10,
}
"""The group is never joined, but librdkafka wants a name. Its own pause of a second whenever the queue is
full would make reading ten times slower. Source: librdkafka CONFIGURATION.md."""

_FATAL = ("_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED", "TOPIC_AUTHORIZATION_FAILED",
          "CLUSTER_AUTHORIZATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "_UNKNOWN_TOPIC",
          "UNKNOWN_TOPIC_OR_PART", "_FATAL")  # fmt: skip
"""Errors that do not go away by waiting."""


@dataclass(frozen=True, slots=True)
class Topics:
    """A Kafka SOURCE: the brokers to begin with, and topics by their names or by patterns with `*`."""

    brokers: str
    topics: tuple[str, ...]

    def __str__(self) -> str:
        return f"{SCHEME}{self.brokers}/{','.join(self.topics)}"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a partition to read: offsets from `start` up to, but without, `end`."""

    topic: str
    partition: int
    start: int
    end: int


def find_topics(source: str) -> Topics:
    """Finds the topics of `kafka://HOST:PORT[,HOST:PORT…]/TOPIC[,TOPIC…]` ; `*` matches any characters.

    Raises:
        BadReference: it has another form.
    """
    brokers, slash, rest = source.removeprefix(SCHEME).partition("/")
    if "@" in brokers:
        raise BadReference(
            "kafka://: a user and a password have no place in an address", hint="--kafka-config FILE"
        )
    if "?" in rest:
        raise BadReference(
            f"{SCHEME}{brokers}: an address has no options", hint="--kafka-config NAME=VALUE or FILE"
        )
    topics = tuple(topic.strip() for topic in rest.split(",") if topic.strip())
    if not brokers or not slash or not topics:
        raise BadReference(
            f"{source}: names no broker or no topic", hint="kafka://HOST:PORT/TOPIC[,TOPIC…|*]"
        )
    for broker in brokers.split(","):
        port = broker.rpartition(":")[2]
        if port.isdecimal() and ":" in broker and not 0 < int(port) <= _LAST_PORT:
            raise BadReference(f"{source}: {port} is no port", hint=f"1 to {_LAST_PORT}; Kafka's own is 9092")
    for topic in topics:
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise BadReference(
                f"{source}: {topic!r} cannot be the name of a topic",
                hint="letters, digits, dots, dashes and underscores; * for any of them",
            )
    return Topics(brokers, topics)


def read_records(
    source: Topics,
    options: Mapping[str, str],
    known: Mapping[Partition, Ranges],
    since_ms: int | None = None,
) -> Iterator[Record]:
    """Reads the records of the topics that were committed when the reading began.

    `since_ms`: only those from the first one of that time (epoch milliseconds) on, as the broker finds it.

    What is `known` is passed over where that pays, but for the last record before each piece that is read: it
    shows whether it is still the same topic. `options` are librdkafka's. Memory is bounded by what is fetched
    ahead.

    Raises:
        UnreadableInput: no broker answers, or it refuses; there is no such topic.
        BadConfiguration: an option that librdkafka does not know, or one that is not left to users.
        UsageError: a topic ends before what was read of it: it is another one.
        EngineUnavailable: confluent-kafka is not installed.
    """
    reader = _KafkaReader(source, options)
    try:
        spans = [
            span for place in reader.places() for span in reader.spans(*place, known.get(place, ()), since_ms)
        ]
        for span in spans:
            yield from reader.read(span)
    finally:
        reader.close()


def list_pieces(low: int, end: int, known: Ranges) -> Ranges:
    """What to read of the offsets from `low` up to, but without, `end`: as (start, end) pairs, in order.

    Each piece begins with the last known record before what is missing. Where nothing is missing, the last
    record is read again; few known records between two pieces are read along.
    """
    lacking = find_missing(low, end - 1, known) if low < end else ()
    if not lacking:
        return ((end - 1, end),) if low < end else ()
    found: list[tuple[int, int]] = []
    for first, last in lacking:
        start = max(low, first - 1)
        if found and start - found[-1][1] < _WORTH_SEEKING:
            found[-1] = (found[-1][0], last + 1)
        else:
            found.append((start, last + 1))
    return tuple(found)


def _match_topics(wanted: str, there: Mapping[str, object]) -> list[str]:
    if "*" not in wanted:
        return [wanted] if wanted in there else []
    return sorted(name for name in there if fnmatchcase(name, wanted) and name not in _OWN_TOPICS)


class _KafkaReader:
    """A consumer of librdkafka, and its last error."""

    def __init__(self, source: Topics, options: Mapping[str, str]) -> None:
        self._source = source
        self._kafka = _import_confluent_kafka()
        self._secrets = [value for name, value in options.items() if len(value) > 3 and is_secret(name)]
        self._trouble: Any = None
        for name in options:
            if name in _FIXED_OPTIONS:
                raise BadConfiguration(
                    f"the option {name} of Kafka is not left to users", hint="leave it out"
                )
        settings = {**_DEFAULTS, **options, **_FIXED_OPTIONS, "bootstrap.servers": source.brokers}
        try:
            self._consumer = self._kafka.Consumer({**settings, "error_cb": self._troubled})
        except (self._kafka.KafkaException, ValueError, TypeError) as error:
            raise BadConfiguration(
                f"an option of Kafka: {self._told(error)}", hint="--kafka-config"
            ) from None

    def places(self) -> list[Partition]:
        """Lists the partitions of the source's topics, in order."""
        there: Mapping[str, Any] = self._asked(
            lambda: self._consumer.list_topics(timeout=1.0), _CONNECT_SECONDS
        ).topics
        found: dict[str, None] = {}
        for wanted in self._source.topics:
            names = _match_topics(wanted, there)
            if not names:
                near = get_close_matches(wanted, there, 3)
                hint = f"the nearest: {', '.join(near)}" if near else "or this user may not see it"
                raise UnreadableInput(f"{self._source}: there is no topic {wanted!r}", hint=hint)
            found.update(dict.fromkeys(names))
        for name in found:
            if there[name].error is not None:
                raise UnreadableInput(f"{self._source}: topic {name}: {self._told(there[name].error)}")
        return [(name, partition) for name in found for partition in sorted(there[name].partitions)]

    def spans(self, topic: str, partition: int, known: Ranges, since_ms: int | None) -> list[Span]:
        """Lists the pieces of a partition to read."""
        place = self._kafka.TopicPartition(topic, partition)
        low, end = self._asked(
            lambda: self._consumer.get_watermark_offsets(place, timeout=5.0), _CONNECT_SECONDS
        )
        if known and known[-1][1] >= end:
            raise UsageError(
                f"{topic}[{partition}] ends at offset {end}, but {known[-1][1]} has been read before",
                hint="a topic that was created again, or another cluster, is another stream: --stream NAME",
            )
        if since_ms is not None:
            low = max(low, self._first_since(topic, partition, since_ms, end))
        return [Span(topic, partition, *piece) for piece in list_pieces(low, end, known)]

    def _first_since(self, topic: str, partition: int, since_ms: int, end: int) -> int:
        """The offset of the first record of that time; the end if there is none yet."""
        asked = self._kafka.TopicPartition(topic, partition, since_ms)
        found = self._asked(lambda: self._consumer.offsets_for_times([asked], timeout=5.0), _CONNECT_SECONDS)[
            0
        ]
        return end if found.offset < 0 else found.offset

    def read(self, span: Span) -> Iterator[Record]:
        """The records of a piece. Transactions and compaction leave offsets without one."""
        place = (span.topic, span.partition)
        self._consumer.assign([self._kafka.TopicPartition(*place, span.start)])
        heard, following = time.monotonic(), span.start
        while following < span.end:
            messages = self._consumer.consume(min(_BATCH, span.end - following), _POLL)
            for message in messages:
                if self._is_end(message):
                    following = span.end if (message.topic(), message.partition()) == place else following
                elif message.error() is not None:
                    self._judge(message.error())
                elif (message.topic(), message.partition()) == place:
                    following = message.offset() + 1
                    if following <= span.end:
                        yield _read_message(message)
            if messages:
                heard, self._trouble = time.monotonic(), None
            elif self._trouble is not None and self._fatal(self._trouble):
                self._judge(self._trouble)
            elif time.monotonic() - heard > _SILENCE_SECONDS:
                raise self._silent(_SILENCE_SECONDS)

    def _is_end(self, message: Any) -> bool:
        error = message.error()
        return error is not None and error.code() == self._kafka.KafkaError._PARTITION_EOF

    def close(self) -> None:
        """Closes the connection to the brokers."""
        self._consumer.close()

    def _asked(self, question: Callable[[], Any], patience: float) -> Any:
        """Asks a broker until it answers, the error is fatal, or the time is over."""
        end = time.monotonic() + patience
        while True:
            try:
                return question()
            except self._kafka.KafkaException as error:
                self._consumer.poll(0)  # lets librdkafka tell why
                cause = self._trouble if self._trouble is not None else error.args[0]
                if self._fatal(cause):
                    self._judge(cause)
                if time.monotonic() > end:
                    self._trouble = cause
                    raise self._silent(patience) from None

    def _troubled(self, error: Any) -> None:
        if self._trouble is None or not self._fatal(self._trouble):
            self._trouble = error

    def _fatal(self, error: Any) -> bool:
        return error.name() in _FATAL or error.fatal()

    def _judge(self, error: Any) -> None:
        """Raises a fatal error; keeps any other error."""
        self._troubled(error)
        if self._fatal(error):
            gone = "UNKNOWN_TOPIC" in error.name()
            hint = "the topic is gone" if gone else "security.protocol, sasl.* and ssl.* in --kafka-config"
            raise UnreadableInput(f"{self._source}: {self._told(error)}", hint=hint)

    def _silent(self, seconds: float) -> UnreadableInput:
        why = "" if self._trouble is None else f": {self._told(self._trouble)}"
        return UnreadableInput(
            f"{self._source}: no broker has answered for {seconds:.0f} s{why}",
            hint="check the address, the network, and security.protocol in --kafka-config",
        )

    def _told(self, error: Any) -> str:
        """Returns librdkafka's error message without secrets."""
        inner = error.args[0] if getattr(error, "args", None) else error
        text = inner.str() if hasattr(inner, "str") else str(inner)
        for value in self._secrets:
            text = text.replace(value, "***")
        return text


def _read_message(message: Any) -> Record:
    kind, time_ms = message.timestamp()
    headers = tuple((name, value) for name, value in message.headers() or ())
    return Record(
        message.topic(),
        message.partition(),
        message.offset(),
        time_ms if kind else None,
        message.key(),
        message.value(),
        headers,
    )


def _import_confluent_kafka() -> Any:
    try:
        import confluent_kafka  # only for this kind of source
    except ImportError as error:
        raise EngineUnavailable(
            "confluent-kafka is needed to read from Kafka", hint=install_hint("kafka")
        ) from error
    return confluent_kafka
