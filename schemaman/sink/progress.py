"""The read progress of each partition, which orders records that have no position of their own.

Law: a read beside the stream comes after all records that its partition had streamed before, and before all
that it streams later. Earlier reads never change the position of a streamed record, except in two cases:

- a transaction that was open at a snapshot and is not in it, if its record has no commit
  (PostgreSQL: the first transaction; Oracle: if the release or the flattened row leaves it out);
- a record that is delivered again after a delete without a position: only the offsets order the two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise, takewhile
from operator import le, lt
from types import MappingProxyType
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
    format_orders_at,
    format_position,
    parse_offset,
    parse_order,
    read_stream_position,
)
from schemaman.sink.version_lookup import PositionBounds

TablePartition = tuple[TableId, str, int]
"""A table, a topic and a partition."""

ReadOrders = Mapping[TablePartition, Sequence[str]]
"""The orders of the records read in a table, a topic and a partition, by their offsets."""
NO_ORDERS: ReadOrders = MappingProxyType({})
"""Where no earlier record is known."""

GreatestOrders = Mapping[TablePartition, str]
"""The greatest order read in a table, a topic and a partition."""

Spans = Mapping[TablePartition, Sequence[tuple[int, int]]]
"""Spans of records by their first and last offsets; the records between are unknown."""

QueriedOffsets = frozenset[tuple[str, int, int]]
"""Topics, partitions and offsets."""

UNKNOWN_POSITION, POSSIBLE_EARLIER_DELETE = "its position is uncertain", "a delete may come before it"
"""Why an order may be uncertain: an unknown position in its partition, or an earlier delete."""


_NO_ORDERS: tuple[Sequence[int], Sequence[str]] = ((), ())
"""The offsets and greatest orders of a partition whose earlier records are unknown."""


@dataclass(frozen=True, slots=True)
class OrderAmbiguity:
    """Where it is uncertain how far a partition had been read before a record.

    `spans` are spans of records with only their edges known. This process itself has read `read_partitions`
    since then. `has_gaps`: the records are a selection. `queried_offsets`: a query of the lake has given the
    newest rows before these; None if the lake was not queried.
    """

    spans: Spans = field(default_factory=dict)
    read_partitions: frozenset[TablePartition] = frozenset()
    has_gaps: bool = False
    queried_offsets: QueriedOffsets | None = None


class ReadProgress:
    """The greatest order of each table in each partition, and the orders that depend on it."""

    def __init__(
        self, reached: GreatestOrders, past: ReadOrders | None = None, ambiguity: OrderAmbiguity | None = None
    ) -> None:
        self.greatest_orders = dict(reached)
        self._ambiguity = ambiguity
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
        """Find the order of a change at its coordinates, whether it was redelivered, and its ambiguity.

        `read`: the row comes from the table, not from the log. The ambiguity is `UNKNOWN_POSITION`,
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
        elif not read and lacks_commit(coordinates.position, source):
            own = max(own, self._find_snapshot_before(partition, coordinates.offset))
        found = format_order_at(own, step, coordinates.partition, coordinates.offset)
        if found > before:
            self.greatest_orders[partition] = found
        if step == UNPOSITIONED and before and self._ambiguity is not None and self._ambiguity.has_gaps:
            # the record was quarantined, and later ones may be written: its order stays before theirs
            found = format_order_at(own, parse_order(before)[1], coordinates.partition, coordinates.offset)
        return found, found < before, ambiguity

    def order_run(
        self, partition: TablePartition, offsets: Sequence[int], positions: Sequence[str | None]
    ) -> list[str]:
        """Find the orders of streamed changes of a table that follow each other in a partition.

        Each change has its offset, and its position with its commit (`lacks_commit`) as text, None without
        one. Returns the orders of the first changes whose positions are beyond all that were read before
        them: these are not redelivered, and in a whole batch their orders are certain. `order_change` gives
        the same. Nothing is remembered of the others.
        """
        found: list[str] = []
        if self._ambiguity is not None and self._ambiguity.has_gaps:
            return found
        known, greatest = self._read_orders.get(partition, _NO_ORDERS)
        reached = self._find_greatest_before(partition, offsets[0])
        start, index = 0, bisect_left(known, offsets[0])
        if not all(map(le, offsets, offsets[1:])):
            return found  # the records come again
        while start < len(offsets) and reached:
            # up to the next record whose order is known already
            end = len(offsets) if index == len(known) else bisect_right(offsets, known[index])
            orders = format_orders_at(positions[start:end], STREAM, partition[2], offsets[start:end])
            last = parse_order(reached)[0]
            size = _count_rising([last, *positions[start:end]], [reached, *orders])
            found += orders[:size]
            reached = orders[size - 1] if size else reached
            if size < len(orders):
                break
            if end < len(offsets):
                reached, index = max(reached, greatest[index]), index + 1
            start = end
        if found:
            self.greatest_orders[partition] = reached
            if self._ambiguity is not None:
                self._certain_offsets.setdefault(partition, parse_offset(found[-1]))
        return found

    def _find_ambiguity(
        self,
        ambiguity: OrderAmbiguity,
        partition: TablePartition,
        coordinates: Coordinates,
        step: int,
        before: str,
    ) -> str:
        """Find why the order of a record is uncertain, or return an empty text; later orders are certain."""
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
        """Whether any record of a table was read in a partition."""
        partition = (table, coordinates.topic, coordinates.partition)
        return partition in self.greatest_orders or bool(
            self._find_greatest_before(partition, coordinates.offset)
        )

    def find_bounds(self, table: TableId, coordinates: Coordinates) -> PositionBounds:
        """Find the positions before and after a record without one, as far as its partition is known."""
        partition = (table, coordinates.topic, coordinates.partition)
        before, (offsets, greatest) = (
            self._find_greatest_before(partition, coordinates.offset),
            self._read_orders.get(partition, _NO_ORDERS),
        )
        index = bisect_right(offsets, coordinates.offset)
        ends = parse_order(greatest[index])[0] if index < len(offsets) else None
        return parse_order(before)[0] if before else "", ends

    def _find_greatest_before(self, partition: TablePartition, offset: int) -> str:
        """Find the greatest known order before an offset."""
        reached, known = self.greatest_orders.get(partition, ""), self._read_orders.get(partition)
        if known is None:
            return reached
        offsets, greatest = known
        index = bisect_left(offsets, offset)
        return max(reached, greatest[index - 1]) if index else reached

    def _find_snapshot_before(self, partition: TablePartition, offset: int) -> str:
        """Find the greatest known position of a snapshot read before an offset."""
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
            # a delete with only its key has the last position of its partition
            return last, UNPOSITIONED
        else:
            own, step = format_position(position), SNAPSHOT if read else STREAM
            if not read and position.kind == "lsn" and position.commit is None and last_step == SNAPSHOT:
                return max(own, last), STREAM
        return (last, UNPOSITIONED) if last_step == UNPOSITIONED and own <= last else (own, step)


def _count_rising(positions: Sequence[str | None], orders: Sequence[str]) -> int:
    """Count the positions behind the first one that rise, each with a rising order; None rises never."""
    try:
        if all(map(lt, positions, positions[1:])) and all(map(lt, orders, orders[1:])):  # type: ignore[arg-type]
            return len(orders) - 1
    except TypeError:  # one is None
        pass
    steps = zip(pairwise(positions), pairwise(orders), strict=True)
    return sum(1 for _ in takewhile(_is_rising, steps))


def _is_rising(step: tuple[tuple[str | None, str | None], tuple[str, str]]) -> bool:
    (before, position), (reached, order) = step
    return before is not None and position is not None and before < position and reached < order


def lacks_commit(position: Position, source: Mapping[str, Any]) -> bool:
    """Whether a record has a position but no commit: a later snapshot may lack the record.

    PostgreSQL: the first transaction after a snapshot. Oracle: a transaction that comes after a snapshot
    and has a smaller position was open at the snapshot, since the connector skips committed transactions.

    Source: Debezium PostgresSchemaFactory, `sequence`: the lsn of the last commit, null before the first one;
    XstreamStreamingChangeEventSource, which begins with the snapshot's number, in order of commits.
    """
    kind, commit = position.kind, position.commit
    return commit is None and (kind == "scn" or (kind == "lsn" and "sequence" in source))


def _parse_snapshot_position(order: str) -> str:
    """Return the position of an order if it is that of a snapshot read, else an empty text."""
    position, step = parse_order(order)
    return position if step == SNAPSHOT else ""


def collect_orders(observations: Iterable[Observation]) -> ReadOrders:
    """Collect the orders at the edges of each run in a history, since positions never decrease in a run."""
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
    """Collect the spans of rows, by offsets, for which a history has only the edges."""
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
