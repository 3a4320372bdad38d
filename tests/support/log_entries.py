"""A shop whose tables change: entries for the log, and the fold with a small dialect of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from schemaman.debezium.connector import Connector
from schemaman.debezium.observation import Observation
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.epochs import UNDECIDED, Verdicts
from schemaman.history.fold import fold as history
from schemaman.history.versions import TableHistory
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer, Type, Unknown
from schemaman.store.log import CoveredRange, Entry, ObservationEntry

ORDERS = TableId("shop", "app", "public", "orders")
ITEMS = TableId("shop", "app", "public", "items")
DEV_ORDERS = replace(ORDERS, stream="dev")


class PostgresLike(Connector):
    """What the fold has to know of a connector."""

    name = "postgresql"
    append_only = True
    late_facts = False
    order: tuple[str, ...] = ()

    def declared_type(self, column: object) -> Type:
        return Unknown(str(column))

    def position(self, source: Mapping[str, object]) -> Position:
        return Position("lsn", str(source["lsn"]))


def fold(
    observations: Iterable[Observation], table: TableId, verdicts: Verdicts = UNDECIDED
) -> TableHistory | None:
    """The true fold, told that every connector is like PostgreSQL."""
    return history.fold(observations, table, lambda _: PostgresLike(), verdicts)


def schema(*names: str) -> TableSchema:
    """A table of integers; the first column is its key."""
    columns = tuple(Column(n, Integer(32), nullable=n != names[0], emitted_name=n) for n in names)
    return TableSchema(columns, names[:1])


def mark(offset: int, *, topic: str = "shop.public.orders", partition: int = 0) -> Coordinates:
    """The record at an offset; its log position and its times follow from that."""
    lsn, time = str(1000 + offset), 1_700_000_000_000 + offset * 1000
    return Coordinates(topic, partition, offset, Position("lsn", lsn, lsn), time, time + 5, time + 9)


def said(
    structure: TableSchema | None, first: int, last: int | None = None, table: TableId = ORDERS
) -> Observation:
    """Records `first` to `last` of a table's topic have this structure."""
    topic = f"{table.server}.{table.schema}.{table.table}"
    last = first if last is None else last
    marks = mark(first, topic=topic), mark(last, topic=topic)
    return Observation(
        table, "emitted", "image", "postgresql", "3.4.1", *marks, last - first + 1, False, structure
    )


def renamed(old: TableId, new: TableId, structure: TableSchema, at: int) -> Observation:
    """A table has another name from a record on."""
    return replace(said(structure, at, table=new), evidence="declared", action="rename", previous=old)


def covered(first: int, last: int, table: TableId = ORDERS, **more: Any) -> CoveredRange:
    """The records of a table's topic that were read; each record's hash is made of its offset."""
    topic = f"{table.server}.{table.schema}.{table.table}"
    made = CoveredRange(table.stream, topic, 0, first, last, f"h{first}", f"h{last}")
    return replace(made, **more)


def batch(number: int) -> tuple[Entry, ...]:
    """What the append of that number says: of two tables, of which one gains a column now and then."""
    columns = ("id", *(f"c{n}" for n in range(number // 5)))
    return (
        ObservationEntry(said(schema(*columns[:12]), number)),
        ObservationEntry(said(schema("id", "price"), number, table=ITEMS)),
        covered(number, number),
        covered(number, number, ITEMS),
    )
