"""Row changes: what one record of a Debezium stream says of one row."""

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
    """Where a record lies: stream, topic, partition and offset; no two records have the same."""

    stream: str
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row was created, updated, deleted or read, or its table was truncated (`t`: no key, no row).

    Names of columns are the source's own. `key` is that of the record; None for a null key. `after` has each
    column of the structure but the `unavailable` ones, whose values the connector could not tell since they
    did not change, and those that no event carries: both keep what the lake has. `before` is what the log
    has of the old row, as far as it can be had where a key tells which row it was: without REPLICA IDENTITY
    FULL, PostgreSQL's has made-up values outside of the key; `unread_reasons` says of the others why they could not.

    `order`: compared as plain text, the source's order of the changes of one table (`rows.order`). `ts_ms` is
    the time of the change at the source, epoch milliseconds, None if untold. `deleted`: the row is gone.
    `schema` is the structure that the values are of: the history's version `version` (its ordinal, with ids
    of columns), or without a history (None) that of the record itself. `position` is the source's own.
    `redelivered`: its partition had been read further before, so that it was delivered before most likely. `ambiguity`:
    what of its order cannot be told for sure (`rows.horizon`), mostly nothing.
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
"""A record is a change of a row, or it was not understood, or it is of no row at all (`Skipped.kind`)."""
