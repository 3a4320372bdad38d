"""Records column by column, for readers of many records that need an object for few of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from schemaman.debezium.records import Record

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """Records in order, those of a partition in the order of their offsets.

    `read_times` reads their times, which few records need.
    """

    topics: Sequence[str]
    partitions: Sequence[int]
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers]
    read_times: Callable[[], Sequence[int | None]]

    def __len__(self) -> int:
        return len(self.offsets)

    def make_record(self, index: int) -> Record:
        """Make the record at an index."""
        place = self.topics[index], self.partitions[index], self.offsets[index]
        body = self.keys[index], self.values[index], self.headers[index]
        return Record(*place, self.read_times()[index], *body)

    def slice(self, start: int, stop: int) -> RecordColumns:
        """Select the records from one index up to another."""
        part = slice(start, stop)
        place = self.topics[part], self.partitions[part], self.offsets[part]
        body = self.keys[part], self.values[part], self.headers[part]
        return RecordColumns(*place, *body, lambda: self.read_times()[part])

    def index_topics(self) -> Mapping[str, Sequence[int]]:
        """List the indices of the records of each topic."""
        if not self.topics or self.topics.count(self.topics[0]) == len(self.topics):
            return dict.fromkeys(self.topics[:1], range(len(self.topics)))
        found: dict[str, list[int]] = {}
        for index, topic in enumerate(self.topics):
            found.setdefault(topic, []).append(index)
        return found
