"""Kafka topics as a stream of the data source `schemaman`.

Source: Spark "Python Data Source API", `DataSourceStreamReader`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from schemaman.debezium.records import Record
from schemaman.errors import UnreadableInput, UsageError
from schemaman.ingest.line_batches import UnreadableItem, parse_items
from schemaman.io.kafka import SCHEME, Span, find_topics, list_spans
from schemaman.spark.record_source import TopicPart, read_part, split_spans
from schemaman.spark.task_rows import quicken_next_task
from schemaman.store.offsets import Partition

STARTING_OFFSETS = "startingOffsets"
"""The option with the offsets from which a new checkpoint begins, as Spark's Kafka source writes them."""

TASK_OFFSETS = 200_000

Offsets = dict[str, dict[str, int]]
"""The next offset of each partition of each topic, as Spark's Kafka source writes it."""


@dataclass(frozen=True, slots=True)
class StreamTask(InputPartition):
    """The range of offsets that one task reads."""

    part: TopicPart


class TopicStreamReader(DataSourceStreamReader):
    """Plans the micro-batches of topics. Each ends at the last committed record.

    Raises:
        UsageError: the path is no address of topics.
    """

    def __init__(self, path: str, starting: str, client: Mapping[str, str], most: int = TASK_OFFSETS) -> None:
        if not path.startswith(SCHEME):
            raise UsageError("only Kafka topics are a stream", hint="load('kafka://BROKERS/TOPIC')")
        self._source = find_topics(path)
        self._starting = starting
        self._client = dict(client)
        self._most = most

    def initialOffset(self) -> Offsets:
        """The offsets from which a query without a checkpoint begins; none means the first ones."""
        found: Offsets = json.loads(self._starting or "{}")
        return found

    def latestOffset(self) -> Offsets:
        """The offsets behind the last committed records. Raises as `kafka.read_records`."""
        return pack_offsets({(span.topic, span.partition): span.end for span in self._list_all()})

    def partitions(self, start: Offsets, end: Offsets) -> list[StreamTask]:
        """Plan the tasks of a micro-batch.

        Raises:
            UsageError: a topic ends before the start: it is another topic.
        """
        lows = {(span.topic, span.partition): span.start for span in self._list_all()}
        before, spans = _unpack_offsets(start), []
        for place, last in sorted(_unpack_offsets(end).items()):
            first = before.get(place, 0)
            if first > last:
                raise UsageError(
                    f"{place[0]}[{place[1]}] ends at offset {last}, but offset {first - 1} was already read",
                    hint="use another stream for a recreated topic or another cluster: --stream NAME",
                )
            spans.append(Span(*place, max(first, lows.get(place, last)), last))
        pairs = tuple(self._client.items())
        return [StreamTask(TopicPart(self._source, span, pairs)) for span in split_spans(spans, self._most)]

    def _list_all(self) -> list[Span]:
        return list_spans(self._source, self._client, {})

    def read(self, partition: Any) -> Iterator[tuple[object, ...]]:
        """Read the records of a task. Raises as `kafka.read_records`."""
        yield from map(build_row, parse_items(read_part(partition.part)))
        quicken_next_task()


def build_row(item: Record | UnreadableItem) -> tuple[object, ...]:
    """Build the row of a record. Raises `UnreadableInput` for a piece of a source that is none."""
    if isinstance(item, UnreadableItem):
        raise UnreadableInput(
            f"{item.source}, line {item.line}: {item.reason}", hint="option('rows', 'runs') lists such pieces"
        )
    moment = None if item.timestamp_ms is None else datetime.fromtimestamp(item.timestamp_ms / 1000, UTC)
    return (item.topic, item.partition, item.offset, moment, item.key, item.value, list(item.headers))


def pack_offsets(offsets: Mapping[Partition, int]) -> Offsets:
    """Writes the next offset of partitions as Spark's Kafka source does."""
    found: Offsets = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def _unpack_offsets(offsets: Offsets) -> dict[Partition, int]:
    return {
        (topic, int(partition)): offset
        for topic, of_topic in offsets.items()
        for partition, offset in of_topic.items()
    }
