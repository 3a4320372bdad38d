"""How far each table was read in each partition before a batch; it orders records without a position.

It also keeps the last record of each partition, since a delete and its tombstone may come in two batches.

Law: an earlier batch in memory and its facts in the history give a record the same order; no later record
influences it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter

from schemaman.debezium.observation import Observation
from schemaman.model.schema import TableId
from schemaman.sink.progress import OrderAmbiguity, ReadOrders, TablePartition, collect_orders, collect_spans
from schemaman.sink.reader import LastRecord
from schemaman.sink.row_order import parse_offset

_MAX_ORDERS, _KEPT_ORDERS = 128, 64
"""The number of kept orders for a table in a partition; every second one of the older orders is dropped."""

Reach = tuple[TableId, str, int, str, LastRecord]
"""A table, a topic, a partition, and the greatest order and the last record that a batch had there."""


class StreamProgress:
    """The progress of a stream: from the history for a new table, then from batch to batch."""

    def __init__(self, testimony: Callable[[TableId], Sequence[Observation]]) -> None:
        self._load_observations = testimony
        self._known: dict[TableId, dict[TablePartition, tuple[str, ...]]] = {}
        self._spans: dict[TablePartition, tuple[tuple[int, int], ...]] = {}
        self._read: set[TablePartition] = set()
        self.last: dict[tuple[str, int], LastRecord] = {}

    def find_orders(self, tables: Iterable[TableId]) -> ReadOrders:
        """The orders that were read of some tables."""
        found: dict[TablePartition, tuple[str, ...]] = {}
        for table in tables:
            if table not in self._known:
                observations = self._load_observations(table)
                self._known[table] = {
                    here: _thin_orders(orders) for here, orders in collect_orders(observations).items()
                }
                self._spans |= {
                    here: _join_spans(spans) for here, spans in collect_spans(observations).items()
                }
            found |= self._known[table]
        return found

    def find_ambiguity(self, tables: Collection[TableId], *, gaps: bool) -> OrderAmbiguity:
        """Where the order of records is uncertain; `gaps`: they are not a whole batch."""
        spans = {here: spans for here, spans in self._spans.items() if here[0] in tables}
        return OrderAmbiguity(spans, frozenset(here for here in self._read if here[0] in tables), gaps)

    def add_batch(self, reaches: Iterable[Reach]) -> None:
        """Add the orders and last records of a batch."""
        ended: dict[tuple[str, int], LastRecord] = {}
        for table, topic, partition, order, last in reaches:
            ended[topic, partition] = max(ended.get((topic, partition), last), last, key=itemgetter(0))
            here = (table, topic, partition)
            self._read.add(here)
            before = self.last.get((topic, partition), (-1, None))[0]
            self._spans[here] = _join_spans([*self._spans.get(here, ()), (before, last[0])])
            self._add_order(here, order)
        self.last |= ended

    def add_orders(self, reaches: Iterable[Reach]) -> None:
        """Add the orders of records of earlier batches that could only be read now."""
        for table, topic, partition, order, _ in reaches:
            self._add_order((table, topic, partition), order)

    def _add_order(self, here: TablePartition, order: str) -> None:
        known = self._known.setdefault(here[0], {})
        known[here] = _thin_orders(sorted({*known.get(here, ()), order}, key=parse_offset))


def _join_spans(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sort stretches by offset and limit their number: join those before the newest."""
    ordered = sorted(spans)
    if len(ordered) <= _MAX_ORDERS:
        return tuple(ordered)
    older = ordered[:-_KEPT_ORDERS]
    return ((older[0][0], max(end for _, end in older)), *ordered[-_KEPT_ORDERS:])


def _thin_orders(orders: Sequence[str]) -> tuple[str, ...]:
    """Select the increasing orders by offset, and limit their number."""
    kept: list[str] = []
    for order in orders:
        if not kept or order > kept[-1]:
            kept.append(order)
    while len(kept) > _MAX_ORDERS:
        kept = [kept[0], *kept[1:-_KEPT_ORDERS:2], *kept[-_KEPT_ORDERS:]]
    return tuple(kept)
