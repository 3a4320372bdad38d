"""Lines and rows of a file that are read but no records yet: bytes may prove what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from schemaman.debezium.records import Record


@dataclass(frozen=True, slots=True)
class UnreadableItem:
    """A piece of a source that is no record: its line (from 1), the reason, and a hash of its bytes.

    `is_end`: the source ends early there, so that records behind it may be missing.
    """

    source: str
    line: int
    reason: str
    sha256: str
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Whole lines of a file without their line ends, in order; an empty line is no record.

    `number` is the number of the first line, from 1. `parse` parses a line with its number. `topic` is the
    topic of lines that are bare values of a `partition`, whose line 1 has the offset `first`; empty for lines
    that name their topic. `ends_section`: a section of the file ends behind the lines.
    """

    lines: Sequence[bytes]
    number: int
    parse: Callable[[int, bytes], Record | UnreadableItem]
    topic: str = ""
    partition: int = 0
    first: int = 0
    ends_section: bool = False


Row = tuple[str, int, int, int | None, bytes | None, bytes | None]
"""Topic, partition, offset, time, key and value of a record without headers."""


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows of a table of records without headers, in order; nothing of them is checked yet.

    `number` is the number of the first row, from 1. `check` checks a row with its number. A value of more
    than `limit` bytes is no record.
    """

    rows: Sequence[Row]
    number: int
    check: Callable[[int, Row], Record | UnreadableItem]
    limit: int


Item = Record | UnreadableItem | LineBatch | RowBatch
"""What sources consist of."""


def parse_lines(items: Iterable[Item]) -> Iterator[Record | UnreadableItem | RowBatch]:
    """Parses the lines among the items; rows stay in their batches."""
    for item in items:
        if isinstance(item, LineBatch):
            lines = enumerate(item.lines, item.number)
            yield from (item.parse(number, line) for number, line in lines if line.strip())
        else:
            yield item


def parse_items(items: Iterable[Item]) -> Iterator[Record | UnreadableItem]:
    """Parses the lines and checks the rows among the items."""
    for item in parse_lines(items):
        if isinstance(item, RowBatch):
            yield from (item.check(number, row) for number, row in enumerate(item.rows, item.number))
        else:
            yield item
