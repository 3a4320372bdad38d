"""Reads the unread records of Kafka topics, up to the end offsets at the start of the reading.

Laws: the reader commits no offsets and joins no group; it reads partition after partition, each in the order
of its offsets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from schemaman.debezium.records import Record
from schemaman.errors import BadConfiguration, EngineUnavailable, UnreadableInput, UsageError
from schemaman.ingest.line_batches import RowBatch
from schemaman.io.kafka_rows import make_record, split_into_batches
from schemaman.io.kafka_topics import SCHEME as SCHEME
from schemaman.io.kafka_topics import Topics as Topics
from schemaman.io.kafka_topics import find_topics as find_topics
from schemaman.plugins import install_hint
from schemaman.store.offsets import Partition, Ranges, find_missing
from schemaman.store.urls import is_secret

_OWN_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas")
"""Internal topics of brokers and registries; patterns do not match them.
Source: org.apache.kafka.common.internals.Topic; Confluent Schema Registry `kafkastore.topic`."""

_CONNECT_SECONDS = 15.0
"""Seconds to wait for a broker's first answer."""

_SILENCE_SECONDS = 60.0
"""Seconds without a record or an end of partition before a broker counts as unavailable."""

_POLL = 0.1
_BATCH = 200
"""The largest number of messages to wait for at once; near the end fewer, so that the end needs no wait.
So few fit into a cache of the processor: of 1,000 messages of 4 kB each costs 0.4 µs more, of 5,000 1.7 µs.
"""

_WORTH_SEEKING = 10_000
"""The number of known records from which the reader seeks past them; it reads and ignores fewer."""

_FIXED_OPTIONS = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
}
"""Options that exact reading depends on. `auto.offset.reset`: retention may delete the first offset before it
is fetched."""

_DEFAULTS = {
    "group.id": "schemaman",
    "client.id": "schemaman",
    "log_level": 0,
    "max.poll.interval.ms": 86_400_000,
    "queued.max.messages.kbytes": 32_768,
    "fetch.wait.max.ms": 100,
    "fetch.queue.backoff.ms": 10,
}
"""The reader never joins the group, but librdkafka requires a group name. librdkafka's default pause of one
second at a full queue would make reading ten times slower. Source: librdkafka CONFIGURATION.md."""

_FATAL = ("_AUTHENTICATION", "_SSL", "SASL_AUTHENTICATION_FAILED", "TOPIC_AUTHORIZATION_FAILED",
          "CLUSTER_AUTHORIZATION_FAILED", "UNSUPPORTED_SASL_MECHANISM", "_UNKNOWN_TOPIC",
          "UNKNOWN_TOPIC_OR_PART", "_FATAL")  # fmt: skip
"""Errors that remain however long the reader waits."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a partition to read: offsets from `start` to `end`, without `end`."""

    topic: str
    partition: int
    start: int
    end: int


def read_records(
    source: Topics,
    options: Mapping[str, str],
    known: Mapping[Partition, Ranges],
    since_ms: int | None = None,
    unread: dict[Partition, int] | None = None,
) -> Iterator[Record]:
    """Reads the records of the topics that were committed at the start of the reading.

    `since_ms`: only records from the first one of that time (epoch milliseconds) on, as the broker finds it.

    The reader seeks past long `known` ranges. It reads the last known record before each piece again: this
    shows whether the topic is still the same. The number of unread offsets of each partition goes into
    `unread` before the first record. `options` are librdkafka's. The fetch queue bounds the memory.

    Raises:
        UnreadableInput: no broker answers, the broker refuses, or there is no such topic.
        BadConfiguration: librdkafka does not know an option, or schemaman sets the option itself.
        UsageError: a topic ends before a known offset: it is another topic.
        EngineUnavailable: confluent-kafka is not installed.
    """
    for messages in _read_messages(source, options, known, since_ms, unread):
        yield from map(make_record, messages)


def read_batches(
    source: Topics,
    options: Mapping[str, str],
    known: Mapping[Partition, Ranges],
    since_ms: int | None = None,
    unread: dict[Partition, int] | None = None,
) -> Iterator[Record | RowBatch]:
    """Reads the same records as `read_records`: those without headers in batches of rows. Raises likewise."""
    for messages in _read_messages(source, options, known, since_ms, unread):
        yield from split_into_batches(messages)


def list_spans(
    source: Topics,
    options: Mapping[str, str],
    known: Mapping[Partition, Ranges],
    since_ms: int | None = None,
    unread: dict[Partition, int] | None = None,
) -> list[Span]:
    """Lists the ranges of offsets that `read_records` would read, for other processes. Raises likewise."""
    reader = _KafkaReader(source, options)
    try:
        return _list_all_spans(reader, known, since_ms, unread)
    finally:
        reader.close()


def read_span(source: Topics, options: Mapping[str, str], span: Span) -> Iterator[Record | RowBatch]:
    """Reads the records of a range of offsets as `read_batches` does. Raises likewise."""
    reader = _KafkaReader(source, options)
    try:
        for messages in reader.read_messages(span):
            yield from split_into_batches(messages)
    finally:
        reader.close()


def read_sample(source: Topics, options: Mapping[str, str], most: int) -> Iterator[Record]:
    """Reads the first `most` offsets of each partition. Raises as `read_records`."""
    reader = _KafkaReader(source, options)
    try:
        for partition in reader.list_partitions():
            for span in reader.list_spans(*partition, (), None):
                yield from reader.read(replace(span, end=min(span.end, span.start + most)))
    finally:
        reader.close()


def list_pieces(low: int, end: int, known: Ranges) -> Ranges:
    """Lists the pieces to read of the offsets from `low` to `end`, without `end`, as (start, end) pairs.

    Each piece begins with the last known record before a missing range. If no range is missing, the last
    record is read again. Two pieces with few known records between them are joined.
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


def _read_messages(
    source: Topics,
    options: Mapping[str, str],
    known: Mapping[Partition, Ranges],
    since_ms: int | None,
    unread: dict[Partition, int] | None,
) -> Iterator[list[Any]]:
    reader = _KafkaReader(source, options)
    try:
        for span in _list_all_spans(reader, known, since_ms, unread):
            yield from reader.read_messages(span)
    finally:
        reader.close()


def _list_all_spans(
    reader: _KafkaReader,
    known: Mapping[Partition, Ranges],
    since_ms: int | None,
    unread: dict[Partition, int] | None,
) -> list[Span]:
    spans = [
        span
        for partition in reader.list_partitions()
        for span in reader.list_spans(*partition, known.get(partition, ()), since_ms)
    ]
    if unread is not None:
        unread |= reader.unread
    return spans


def _match_topics(wanted: str, existing: Mapping[str, object]) -> list[str]:
    if "*" not in wanted:
        return [wanted] if wanted in existing else []
    return sorted(name for name in existing if fnmatchcase(name, wanted) and name not in _OWN_TOPICS)


class _KafkaReader:
    """A consumer of librdkafka, and its last error."""

    def __init__(self, source: Topics, options: Mapping[str, str]) -> None:
        self._source = source
        self._kafka = _import_confluent_kafka()
        self._secrets = [value for name, value in options.items() if len(value) > 3 and is_secret(name)]
        self._last_error: Any = None
        self.unread: dict[Partition, int] = {}
        """The number of unread offsets of each partition whose pieces were listed."""
        for name in options:
            if name in _FIXED_OPTIONS:
                raise BadConfiguration(
                    f"the option {name} of Kafka is set by schemaman", hint="omit this option"
                )
        settings = {**_DEFAULTS, **options, **_FIXED_OPTIONS, "bootstrap.servers": source.brokers}
        try:
            self._consumer = self._kafka.Consumer({**settings, "error_cb": self._keep_error})
        except (self._kafka.KafkaException, ValueError, TypeError) as error:
            raise BadConfiguration(
                f"invalid option of Kafka: {self._format_error(error)}", hint="check --kafka-config"
            ) from None

    def list_partitions(self) -> list[Partition]:
        """Lists the partitions of the source's topics, in order."""
        existing: Mapping[str, Any] = self._ask(
            lambda: self._consumer.list_topics(timeout=1.0), _CONNECT_SECONDS
        ).topics
        found: dict[str, None] = {}
        for wanted in self._source.topics:
            names = _match_topics(wanted, existing)
            if not names:
                near = get_close_matches(wanted, existing, 3)
                hint = f"similar names: {', '.join(near)}" if near else "or this user has no access to it"
                raise UnreadableInput(f"{self._source}: there is no topic {wanted!r}", hint=hint)
            found.update(dict.fromkeys(names))
        for name in found:
            if existing[name].error is not None:
                message = self._format_error(existing[name].error)
                raise UnreadableInput(f"{self._source}: topic {name}: {message}")
        return [(name, partition) for name in found for partition in sorted(existing[name].partitions)]

    def list_spans(self, topic: str, partition: int, known: Ranges, since_ms: int | None) -> list[Span]:
        """Lists the pieces of a partition to read."""
        asked = self._kafka.TopicPartition(topic, partition)
        low, end = self._ask(
            lambda: self._consumer.get_watermark_offsets(asked, timeout=5.0), _CONNECT_SECONDS
        )
        if known and known[-1][1] >= end:
            raise UsageError(
                f"{topic}[{partition}] ends at offset {end}, but offset {known[-1][1]} was already read",
                hint="use another stream for a recreated topic or another cluster: --stream NAME",
            )
        if since_ms is not None:
            low = max(low, self._find_offset(topic, partition, since_ms, end))
        lacking = find_missing(low, end - 1, known) if low < end else ()
        self.unread[topic, partition] = sum(last - first + 1 for first, last in lacking)
        return [Span(topic, partition, *piece) for piece in list_pieces(low, end, known)]

    def _find_offset(self, topic: str, partition: int, since_ms: int, end: int) -> int:
        """Finds the offset of the first record of that time; the end if there is none yet."""
        asked = self._kafka.TopicPartition(topic, partition, since_ms)
        found = self._ask(lambda: self._consumer.offsets_for_times([asked], timeout=5.0), _CONNECT_SECONDS)[0]
        return end if found.offset < 0 else found.offset

    def read(self, span: Span) -> Iterator[Record]:
        """Reads the records of a piece."""
        for messages in self.read_messages(span):
            yield from map(make_record, messages)

    def read_messages(self, span: Span) -> Iterator[list[Any]]:
        """Reads the messages of a piece. Transactions and compaction leave offsets without a message."""
        partition = (span.topic, span.partition)
        self._consumer.assign([self._kafka.TopicPartition(*partition, span.start)])
        last_answer, following = time.monotonic(), span.start
        while following < span.end:
            messages = self._consumer.consume(min(_BATCH, span.end - following), _POLL)
            found, is_end = self._sort_out(messages, partition)
            if found:
                following = found[-1].offset() + 1
            if is_end:
                following = span.end
            if following > span.end:
                found = [message for message in found if message.offset() < span.end]
            if found:
                yield found
            if messages:
                last_answer, self._last_error = time.monotonic(), None
            elif self._last_error is not None and self._is_fatal(self._last_error):
                self._raise_fatal(self._last_error)
            elif time.monotonic() - last_answer > _SILENCE_SECONDS:
                raise self._make_silence_error(_SILENCE_SECONDS)

    def _sort_out(self, messages: list[Any], partition: Partition) -> tuple[list[Any], bool]:
        """Sorts out the records of a partition; returns whether its end has come, too.

        Raises fatal errors.
        """
        if not messages:
            return messages, False
        errors = list(map(type(messages[0]).error, messages))
        first = messages[0]
        # a partition that was assigned before can only come first; errors cannot be compared with None
        if not any(errors) and (first.topic(), first.partition()) == partition:
            return messages, False
        found, is_end = [], False
        for message, error in zip(messages, errors, strict=True):
            is_wanted = (message.topic(), message.partition()) == partition
            if error is None:
                found += [message] * is_wanted
            elif error.code() != self._kafka.KafkaError._PARTITION_EOF:
                self._raise_fatal(error)
            else:
                is_end = is_end or is_wanted
        return found, is_end

    def close(self) -> None:
        """Closes the connection to the brokers."""
        self._consumer.close()

    def _ask(self, question: Callable[[], Any], patience: float) -> Any:
        """Asks a broker until it answers, an error is fatal, or the time is over."""
        end = time.monotonic() + patience
        while True:
            try:
                return question()
            except self._kafka.KafkaException as error:
                self._consumer.poll(0)  # librdkafka calls `_keep_error` in here
                cause = self._last_error if self._last_error is not None else error.args[0]
                if self._is_fatal(cause):
                    self._raise_fatal(cause)
                if time.monotonic() > end:
                    self._last_error = cause
                    raise self._make_silence_error(patience) from None

    def _keep_error(self, error: Any) -> None:
        if self._last_error is None or not self._is_fatal(self._last_error):
            self._last_error = error

    def _is_fatal(self, error: Any) -> bool:
        return error.name() in _FATAL or error.fatal()

    def _raise_fatal(self, error: Any) -> None:
        """Raises a fatal error; keeps any other error."""
        self._keep_error(error)
        if self._is_fatal(error):
            gone = "UNKNOWN_TOPIC" in error.name()
            hint = (
                "the topic no longer exists"
                if gone
                else "check security.protocol, sasl.* and ssl.* in --kafka-config"
            )
            raise UnreadableInput(f"{self._source}: {self._format_error(error)}", hint=hint)

    def _make_silence_error(self, seconds: float) -> UnreadableInput:
        why = "" if self._last_error is None else f": {self._format_error(self._last_error)}"
        return UnreadableInput(
            f"{self._source}: no broker has answered for {seconds:.0f} s{why}",
            hint="check the address, the network, and security.protocol in --kafka-config",
        )

    def _format_error(self, error: Any) -> str:
        """Returns librdkafka's error message without secrets."""
        inner = error.args[0] if getattr(error, "args", None) else error
        text = inner.str() if hasattr(inner, "str") else str(inner)
        for value in self._secrets:
            text = text.replace(value, "***")
        return text


def _import_confluent_kafka() -> Any:
    try:
        import confluent_kafka  # loaded only for Kafka sources
    except ImportError as error:
        raise EngineUnavailable(
            "reading from Kafka needs confluent-kafka", hint=install_hint("kafka")
        ) from error
    return confluent_kafka
