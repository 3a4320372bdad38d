"""Row changes: the change of one row that one record of a Debezium stream describes."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from schemaman.debezium.observation import Reject, Skipped
from schemaman.debezium.records import Position
from schemaman.model.schema import TableId, TableSchema
from schemaman.sink.values.values import Value

Op = Literal["c", "u", "d", "r", "t"]
Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class RecordOffset:
    """The coordinates of a record: stream, topic, partition and offset; no two records have the same."""

    stream: str
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row was created, updated, deleted or read, or its table was truncated (`t`: no key, no row).

    Column names are the source's own. `key` is the key of the record; None for a null key.

    `after` has each column of the structure but two kinds: the `unavailable` ones, whose values the connector
    left out since they did not change, and those that no event carries. Both keep the values of the lake.

    `before` is the old row as the log has it. Without REPLICA IDENTITY FULL, PostgreSQL's has made-up values
    outside of the key. `unread_reasons` gives for each column that could not be read the reason.

    `order` is the source's order of the changes of one table, compared as plain text (`row_order`). `ts_ms`
    is the time of the change at the source in epoch milliseconds; None if unknown. `deleted`: the row was
    deleted. `schema` is the structure of the values: that of the history's version `version` (its ordinal,
    with ids of columns), or without a history (None) that of the record itself. `position` is the source's
    own. `redelivered`: later records of its partition were read before it, so it was most likely delivered
    before. `ambiguity`: what is uncertain about its order (`progress`); mostly empty. `is_flattened`: its
    record has no place for the row before a change.
    """

    record: RecordOffset
    table: TableId
    op: Op
    key: Row | None
    before: Row | None
    after: Row | None
    unavailable: frozenset[str]
    order: str
    ts_ms: int | None
    deleted: bool
    schema: TableSchema
    version: int | None
    position: Position
    redelivered: bool = False
    ambiguity: str = ""
    unread_reasons: Mapping[str, str] = field(default_factory=dict)
    is_flattened: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the table and its structure as bytes that are made and read once for many changes."""
        record, position = self.record, self.position
        return _restore_change, (
            _pack_structure(self.table, self.schema),
            (record.stream, record.topic, record.partition, record.offset),
            (position.kind, position.value, position.commit),
            (self.op, self.key, self.before, self.after, self.unavailable, self.order, self.ts_ms),
            (
                self.deleted,
                self.version,
                self.redelivered,
                self.ambiguity,
                self.unread_reasons,
                self.is_flattened,
            ),
        )


_MOST_PACKED = 256
_packed: dict[tuple[int, int], tuple[TableId, TableSchema, bytes]] = {}
"""Pickled structures by the identities of their objects, which the entries keep alive."""


def _pack_structure(table: TableId, schema: TableSchema) -> bytes:
    known = _packed.get((id(table), id(schema)))
    if known is None:
        if len(_packed) >= _MOST_PACKED:
            _packed.clear()
        known = _packed[id(table), id(schema)] = (table, schema, pickle.dumps((table, schema)))
    return known[2]


@lru_cache(_MOST_PACKED)
def _unpack_structure(packed: bytes) -> tuple[TableId, TableSchema]:
    table, schema = pickle.loads(packed)
    return table, schema


def _restore_change(
    packed: bytes,
    record: tuple[str, str, int, int],
    position: tuple[Any, ...],
    change: tuple[Any, ...],
    more: tuple[Any, ...],
) -> RowChange:
    table, schema = _unpack_structure(packed)
    op, key, before, after, unavailable, order, ts_ms = change
    deleted, version, *rest = more
    return RowChange(
        RecordOffset(*record), table, op, key, before, after, unavailable, order, ts_ms, deleted, schema,
        version, Position(*position), *rest,
    )  # fmt: skip


RowOutcome = RowChange | Reject | Skipped
"""A record is the change of a row, or it could not be read, or it concerns no row (`Skipped.kind`)."""
