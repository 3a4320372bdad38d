"""Row changes: the change of one row that one record of a Debezium stream describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
    before. `ambiguity`: what is uncertain about its order (`progress`); mostly empty.
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


RowOutcome = RowChange | Reject | Skipped
"""A record is the change of a row, or it could not be read, or it concerns no row (`Skipped.kind`)."""
