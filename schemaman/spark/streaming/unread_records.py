"""Records that could not be read: which of them may have a value that a later record of the row lacks.

Law: a record of an unknown row counts for every row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schemaman.sink.upsert import TopicOffset

_Offsets = Mapping[bytes | None, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class UnreadRecords:
    """The offsets of such records by topic and partition, then by the bytes of their key.

    Offsets go up. `is_crowded`: there are too many to keep their keys; only the first of a partition is here.
    `is_lost`: their bytes are not kept, so they can never be read from here.
    """

    offsets: Mapping[tuple[str, int], _Offsets] = field(default_factory=dict)
    is_crowded: bool = False
    is_lost: bool = False

    def find_before(self, record: TopicOffset, key: bytes | None) -> int | None:
        """The offset of the last one before a record that may be of the same row; None if there is none."""
        topic, partition, offset = record
        by_key = self.offsets.get((topic, partition), {})
        mine = by_key.values() if key is None else (by_key.get(key, ()), by_key.get(None, ()))
        found = [offsets[at - 1] for offsets in mine if (at := bisect_left(offsets, offset))]
        # Without known keys, it may be the last one.
        return offset - 1 if found and self.is_crowded else max(found, default=None)


NO_UNREAD = UnreadRecords()


def make_unread_records(
    records: Iterable[tuple[str, int, int, bytes | None]], *, crowded: bool = False, lost: bool = False
) -> UnreadRecords:
    """Made of topic, partition, offset and key of each record; without a key it may be of any row."""
    found: dict[tuple[str, int], dict[bytes | None, list[int]]] = {}
    for topic, partition, offset, key in records:
        found.setdefault((topic, partition), {}).setdefault(key, []).append(offset)
    sorted_ = {here: {k: tuple(sorted(o)) for k, o in keys.items()} for here, keys in found.items()}
    return UnreadRecords(sorted_, crowded, lost)


def format_span(partition: int, first: int, last: int) -> str:
    """Format two offsets of a partition, like the end of an order of rows (`rows.order`)."""
    return f"{partition:06d}.{first:020d}/{partition:06d}.{last:020d}"


def is_in_span(order: str, span: str) -> bool:
    """Whether the record of an order is between two offsets, with the same result as the statement."""
    first, last = span.split("/")
    return first <= order.rpartition("/")[2] <= last
