"""How far each partition has been read; it orders records that have no position of their own.

Law: a read beside the stream comes after all that its own partition had streamed before it, and before all
that it streams later. Earlier reads never change the position of a streamed record, but for two cases:

- a transaction that was open at a snapshot, which the snapshot did not see, where no commit is given
  (PostgreSQL: the first transaction; Oracle: where the release or the flattened row leaves it out);
- a record that is delivered again after a delete without a position: the offsets alone order the two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.model.schema import TableId
from schemaman.sink.row_order import (
    INCREMENTAL,
    NO_POSITION_TEXT,
    POSITION_LIMIT,
    SNAPSHOT,
    STREAM,
    UNPOSITIONED,
    format_order,
    format_order_at,
    format_position,
    parse_offset,
    parse_order,
    read_stream_position,
)
from schemaman.sink.version_lookup import PositionBounds

TablePartition = tuple[TableId, str, int]
"""A table, a topic and a partition."""

ReadOrders = Mapping[TablePartition, Sequence[str]]
"""For a table, a topic and a partition the orders of records that were read there, by their offsets."""

GreatestOrders = Mapping[TablePartition, str]
"""For a table, a topic and a partition the greatest order that was read there."""

Spans = Mapping[TablePartition, Sequence[tuple[int, int]]]
"""Spans of records by their first and last offsets; nothing is known of the records between."""

QueriedOffsets = frozenset[tuple[str, int, int]]
"""Topics, partitions and offsets."""

UNKNOWN_POSITION, POSSIBLE_EARLIER_DELETE = "its position is uncertain", "a delete may come before it"
"""Why an order may be uncertain: the position of its partition, or a redelivery before it."""


@dataclass(frozen=True, slots=True)
class OrderAmbiguity:
    """Where it is uncertain how far a partition had been read before a record.

    `spans` are spans of records of which only the edges are known. This process itself has read
    `read_partitions` since. `has_gaps`: the records are a selection. `queried_offsets`: the lake has answered
    how far its rows go before these; None if it has not been queried.
    """

    spans: Spans = field(default_factory=dict)
    read_partitions: frozenset[TablePartition] = frozenset()
    has_gaps: bool = False
    queried_offsets: QueriedOffsets | None = None


class ReadProgress:
    """The greatest order of each table in each partition, and the orders that depend on it."""

    def __init__(
        self, reached: GreatestOrders, past: ReadOrders | None = None, doubts: OrderAmbiguity | None = None
    ) -> None:
        self.greatest_orders = dict(reached)
        self._ambiguity = doubts
        self._certain_offsets: dict[TablePartition, int] = {}
        known = (past or {}).items()
        self._read_orders = {
            partition: ([parse_offset(o) for o in os], list(accumulate(os, max))) for partition, os in known
        }
        self._read_snapshot_positions = {
            partition: list(accumulate(map(_parse_snapshot_position, os), max)) for partition, os in known
        }
        self._snapshot_positions: dict[TablePartition, str] = {}

    def order_change(
        self, table: TableId, coordinates: Coordinates, source: Mapping[str, Any], *, read: bool
    ) -> tuple[str, bool, str]:
        """The order of a change at its coordinates, whether it was redelivered, and an ambiguity.

        `read`: from the table, not from the log. The ambiguity is `UNKNOWN_POSITION`,
        `POSSIBLE_EARLIER_DELETE`, or empty.
        """
        partition = (table, coordinates.topic, coordinates.partition)
        before = self._find_greatest_before(partition, coordinates.offset)
        own, step = self._find_own_position(coordinates, source, read, before)
        ambiguity = (
            ""
            if self._ambiguity is None
            else self._find_ambiguity(self._ambiguity, partition, coordinates, step, before)
        )
        if read and step == SNAPSHOT:
            self._snapshot_positions[partition] = max(own, self._snapshot_positions.get(partition, ""))
        elif not read and _lacks_commit(coordinates, source):
            own = max(own, self._find_snapshot_before(partition, coordinates.offset))
        found = format_order_at(own, step, coordinates.partition, coordinates.offset)
        if found > before:
            self.greatest_orders[partition] = found
        if step == UNPOSITIONED and before and self._ambiguity is not None and self._ambiguity.has_gaps:
            # the record was quarantined, and later ones may be written: it keeps an order before them
            found = format_order_at(own, parse_order(before)[1], coordinates.partition, coordinates.offset)
        return found, found < before, ambiguity

    def _find_ambiguity(
        self,
        ambiguity: OrderAmbiguity,
        partition: TablePartition,
        coordinates: Coordinates,
        step: int,
        before: str,
    ) -> str:
        """Why a record's order is uncertain, or an empty text; later orders are certain again."""
        offset = coordinates.offset
        if not ambiguity.has_gaps and (
            partition in ambiguity.read_partitions or partition in self._certain_offsets
        ):
            return ""
        if ambiguity.has_gaps and self._certain_offsets.get(partition) == offset - 1:
            self._certain_offsets[partition] = offset
            return ""
        last = parse_order(before)[0] if before else NO_POSITION_TEXT
        was_queried = (
            ambiguity.queried_offsets is not None
            and (coordinates.topic, coordinates.partition, offset) in ambiguity.queried_offsets
        )
        inside = any(first < offset <= end for first, end in ambiguity.spans.get(partition, ()))
        is_unknown = coordinates.position.kind == "none" or step == INCREMENTAL
        reason = ""
        if last != NO_POSITION_TEXT and not was_queried:
            if is_unknown:
                reason = UNKNOWN_POSITION if inside else ""
            elif format_position(coordinates.position) <= last:
                reason = POSSIBLE_EARLIER_DELETE
        is_certain = was_queried or not inside or (bool(reason) and ambiguity.queried_offsets is None)
        if is_certain or (not ambiguity.has_gaps and not is_unknown):
            self._certain_offsets[partition] = offset
        return reason

    def has_read(self, table: TableId, coordinates: Coordinates) -> bool:
        """Whether anything was read of a table in a partition."""
        partition = (table, coordinates.topic, coordinates.partition)
        return partition in self.greatest_orders or bool(
            self._find_greatest_before(partition, coordinates.offset)
        )

    def find_bounds(self, table: TableId, coordinates: Coordinates) -> PositionBounds:
        """The positions before and after a record without one, as far as its partition is known."""
        partition = (table, coordinates.topic, coordinates.partition)
        before, (offsets, greatest) = (
            self._find_greatest_before(partition, coordinates.offset),
            self._read_orders.get(partition, ((), ())),
        )
        index = bisect_right(offsets, coordinates.offset)
        ends = parse_order(greatest[index])[0] if index < len(offsets) else None
        return parse_order(before)[0] if before else "", ends

    def _find_greatest_before(self, partition: TablePartition, offset: int) -> str:
        """The greatest known order before an offset."""
        reached, known = self.greatest_orders.get(partition, ""), self._read_orders.get(partition)
        if known is None:
            return reached
        offsets, greatest = known
        index = bisect_left(offsets, offset)
        return max(reached, greatest[index - 1]) if index else reached

    def _find_snapshot_before(self, partition: TablePartition, offset: int) -> str:
        """The greatest known position of a read of the table itself before an offset."""
        read, known = self._snapshot_positions.get(partition, ""), self._read_orders.get(partition)
        index = 0 if known is None else bisect_left(known[0], offset)
        return max(read, self._read_snapshot_positions[partition][index - 1]) if index else read

    def _find_own_position(
        self, coordinates: Coordinates, source: Mapping[str, Any], read: bool, before: str
    ) -> tuple[str, int]:
        position = coordinates.position
        last, last_step = parse_order(before) if before else (NO_POSITION_TEXT, SNAPSHOT)
        if read and (position.kind == "none" or source.get("snapshot") == "incremental"):
            stream_position = read_stream_position(source)
            own, step = (
                max(NO_POSITION_TEXT if stream_position is None else format_position(stream_position), last),
                INCREMENTAL,
            )
        elif position.kind == "none":
            # a delete with its key alone has the last position of its partition
            return last, UNPOSITIONED
        else:
            own, step = format_position(position), SNAPSHOT if read else STREAM
            if not read and position.kind == "lsn" and position.commit is None and last_step == SNAPSHOT:
                return max(own, last), STREAM
        return (last, UNPOSITIONED) if last_step == UNPOSITIONED and own <= last else (own, step)


def _lacks_commit(coordinates: Coordinates, source: Mapping[str, Any]) -> bool:
    """Whether a record has a position and no commit: a snapshot after it may not show the record.

    PostgreSQL: the first transaction after a snapshot. Oracle: any transaction that comes after a snapshot
    and has a smaller position was open at the snapshot, since the connector skips what had been committed.

    Source: Debezium PostgresSchemaFactory, `sequence`: the lsn of the last commit, null before there was one;
    XstreamStreamingChangeEventSource, which begins with the snapshot's number, in order of commits.
    """
    kind, commit = coordinates.position.kind, coordinates.position.commit
    return commit is None and (kind == "scn" or (kind == "lsn" and "sequence" in source))


def _parse_snapshot_position(order: str) -> str:
    """The position of an order if it is a read of the table itself, else an empty text."""
    position, step = parse_order(order)
    return position if step == SNAPSHOT else ""


def collect_orders(observations: Iterable[Observation]) -> ReadOrders:
    """The orders of rows in a history: the edges of each run, as positions never go back in a run."""
    found: dict[TablePartition, set[str]] = {}
    for observation in observations:
        if observation.evidence not in ("emitted", "inferred"):
            continue
        step = SNAPSHOT if observation.snapshot else STREAM
        for coordinates in (observation.first, observation.last):
            if coordinates.position.kind != "none" and _is_valid_position(coordinates.position):
                partition = (observation.table, coordinates.topic, coordinates.partition)
                found.setdefault(partition, set()).add(
                    format_order(coordinates.position, step, coordinates.partition, coordinates.offset)
                )
    return {partition: sorted(orders, key=parse_offset) for partition, orders in found.items()}


def collect_spans(observations: Iterable[Observation]) -> Spans:
    """The spans of rows of which a history has the edges alone, by their offsets."""
    found: dict[TablePartition, list[tuple[int, int]]] = {}
    for observation in observations:
        if (
            observation.evidence in ("emitted", "inferred")
            and observation.first.offset < observation.last.offset
        ):
            partition = (observation.table, observation.first.topic, observation.first.partition)
            found.setdefault(partition, []).append((observation.first.offset, observation.last.offset))
    return found


def _is_valid_position(position: Position) -> bool:
    return all(part < POSITION_LIMIT for part in position.rank if isinstance(part, int))
