"""The order of the changes of one table as text that compares plainly, in Python and in SQL alike.

Law: of two changes of one table, the one that the source made later has the greater text; a change that was
delivered twice has the same position, and its second delivery the greater text.

The text is `<position>/<step>/<partition>.<offset>`, all padded with zeros. `<position>` is the position in
the source's log; PostgreSQL orders by the transaction's commit, then by the record in it. `<step>` orders
changes of one position: `0` a snapshot, `1` the stream, which continues from it, `2` a read beside the stream
(an incremental snapshot), which shows all that the stream has done so far, `3` a record without a position.
Partition and offset break the remaining ties.

What cannot be ordered: without positions (flattened records that carry none) only offsets decide, so changes
of different partitions have no order; after a failover the positions of two MySQL servers do not compare.
Before release 1.5 PostgreSQL's connector gives no commit: transactions that overlap are ordered by their
records, which is right for each row, as a row that one transaction writes is locked for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemaman.debezium.connector import find_connector
from schemaman.debezium.records import Position, PositionKind, Rank

NO_POSITION_TEXT = "-"
"""The text of an unknown position; it sorts before digits, and so before all positions."""

SNAPSHOT, STREAM, INCREMENTAL, UNPOSITIONED = 0, 1, 2, 3
"""The steps of an order; see the module."""

POSITION_LIMIT = 10**19
"""Positions have 64 bits; a greater, damaged one would come after all others forever."""


def format_order(position: Position, step: int, partition: int, offset: int) -> str:
    """Format the order of a change at a position; the module describes `step`."""
    return format_order_at(format_position(position), step, partition, offset)


def format_order_at(position_text: str, step: int, partition: int, offset: int) -> str:
    """Format the order of a change at a position as text; without a position, only offsets decide."""
    return f"{position_text}/{0 if position_text == NO_POSITION_TEXT else step}/{partition:06d}.{offset:020d}"


def format_orders_at(
    positions: Sequence[str | None], step: int, partition: int, offsets: Sequence[int]
) -> list[str]:
    """Format the orders of changes of a partition, each with a position, as `format_order_at` does."""
    middle = f"/{step}/{partition:06d}."
    return [
        f"{position or ''}{middle}{offset:020d}" for position, offset in zip(positions, offsets, strict=True)
    ]


def parse_order(order: str) -> tuple[str, int]:
    """Parse the position and the step of an order."""
    position_text, step, _ = order.rsplit("/", 2)
    return position_text, int(step)


def is_surely_before(order: str, end: str) -> bool:
    """Whether a change came before another one of its table, by positions of the source's log alone.

    Without a position, offsets decide, which are none of the source: then nothing is sure.
    """
    (position_text, step), (other, _) = parse_order(order), parse_order(end)
    return NO_POSITION_TEXT not in (position_text, other) and step != UNPOSITIONED and order < end


def is_same_position(order: str, other: str) -> bool:
    """Whether two changes are at one known position, as two deliveries of one change of a row."""
    at = order.rpartition("/")[0]
    return at == other.rpartition("/")[0] and not at.startswith(f"{NO_POSITION_TEXT}/")


def parse_offset(order: str) -> int:
    """Parse the offset of an order's record."""
    return int(order.rpartition(".")[2])


def format_position(position: Position) -> str:
    """Format a position as text that compares in the source's order."""
    return format_rank(position.kind, position.rank)


def format_rank(kind: PositionKind, rank: Rank) -> str:
    """Format the rank of a position of a kind as `format_position` does."""
    match kind:
        case "none":
            return NO_POSITION_TEXT
        case "binlog":
            # the number identifies a file: its name may change while the numbers continue
            _, index, at, row = rank
            return f"{index:012d}.{at:020d}.{row:010d}"
        case "lsn" | "scn" | "mongo":
            first, second = rank
            return f"{first:020d}.{second:020d}"
        case _:
            return "/".join(f"{part:010d}" if isinstance(part, int) else part for part in rank)


def format_ranks(kind: PositionKind, ranks: Sequence[tuple[int, int]]) -> list[str]:
    """Format ranks of two numbers as `format_rank` does."""
    match kind:
        case "lsn" | "scn" | "mongo":
            return [f"{first:020d}.{second:020d}" for first, second in ranks]
        case _:
            return [format_rank(kind, rank) for rank in ranks]


def read_stream_position(source: Mapping[str, object]) -> Position | None:
    """Read the position of the stream when a row was read beside it; None if the record lacks it."""
    return find_connector(source.get("connector")).stream_position(source)
