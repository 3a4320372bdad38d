"""A table of PostgreSQL or MySQL that lives at random, and the records that a connector makes of its life.

What the source knows is kept beside them, by the identity of its columns: the values of each row now, and the
last value of each column that has left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

from schemaman.debezium.records import Record
from tests.support.records import change, event, image, node, record, struct

PLACEHOLDER = "__debezium_unavailable_value"
NAMES = ("a", "b", "c", "e")
TYPES = ("INT", "TEXT", "TEXT")
_NODES = {"INT": node("int32", optional=True), "BIGINT": node("int64", optional=True),
          "TEXT": node("string", optional=True)}  # fmt: skip
_DECLARED = {"INT": ("INT", 4, None), "BIGINT": ("BIGINT", -5, None), "TEXT": ("VARCHAR", 12, 50)}
"""Name, JDBC type and length of a column in a schema-change record of MySQL."""
Connector = Literal["postgresql", "mysql"]
Values = Mapping[int, object]
"""Of a row, by the ids of the source's columns."""


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column with the identity that only the source knows."""

    id: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Told:
    """A record, and of which row it is; none of a schema change or a TRUNCATE."""

    record: Record
    kind: Literal["schema change", "row", "tombstone", "truncate", "read"]
    row: int | None = None


@dataclass(slots=True)
class SimulatedSource:
    """Table `t` with the key `id`, and the records of its life in the order of the source's log."""

    random: Random
    connector: Connector
    partitions: int = 1
    log: list[Told] = field(default_factory=list)
    columns: tuple[SourceColumn, ...] = ()
    rows: dict[int, dict[int, object]] = field(default_factory=dict)
    """What each row holds, and what it held last in columns that have left."""
    structures: list[tuple[int, tuple[SourceColumn, ...]]] = field(default_factory=list)
    """From each place in the log on, the columns."""
    _place: int = 100
    _commit: int = 0
    _numbers: int = 0

    @property
    def topic(self) -> str:
        """Where its rows go."""
        return f"srv.{'public' if self.connector == 'postgresql' else 'shop'}.t"

    def live(self, steps: int) -> None:
        """Be created, change at random, and show the last structure in every partition."""
        columns = [self._column(name) for name in self.random.sample(NAMES, self.random.randint(1, 3))]
        self._structure("CREATE TABLE t (id INT PRIMARY KEY)", tuple(columns))
        weighed: dict[Callable[[], None], float] = {
            self._write: 20, self._add: 1.5, self._drop: 1, self._widen: 0.5, self._truncate: 0.3,
            self._read: 0.8,
        }  # fmt: skip
        if self.connector == "mysql":
            weighed |= {self._rename: 1, self._exchange: 0.5}
        for step in self.random.choices([*weighed], [*weighed.values()], k=steps):
            self._next()
            step()
        self.show()

    def show(self) -> None:
        """Write a row in every partition, of the last structure."""
        for partition in range(self.partitions):
            free = (i for i in range(100, 200) if i not in self.rows)
            self._insert(next(i for i in free if i % self.partitions == partition))

    def column_at(self, place: int, name: str) -> int | None:
        """The identity of the column of this name at a place in the log."""
        structure = [columns for since, columns in self.structures if since <= place][-1]
        return next((c.id for c in structure if c.name == name), None)

    def _next(self) -> int:
        self._place += 10
        return self._place

    def _column(self, name: str) -> SourceColumn:
        self._numbers += 1
        return SourceColumn(self._numbers, name, self.random.choice(TYPES))

    def _value(self, column: SourceColumn) -> object:
        self._numbers += 1
        if self.random.random() < 0.15:
            return None
        return f"v{self._numbers}" if column.type == "TEXT" else self._numbers

    def _write(self) -> None:
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self._next()
            free = sorted({*range(1, 7)} - self.rows.keys())
            kind = self.random.choice(("insert", "insert", "update", "update", "update", "delete"))
            if free and (kind == "insert" or not self.rows):
                self._insert(self.random.choice(free))
            elif kind == "delete":
                self._delete(self.random.choice([*self.rows]))
            else:
                self._update(self.random.choice([*self.rows]))
        self._commit = self._place = self._place + 1

    def _insert(self, id: int) -> None:
        self._next()
        self.rows[id] = {c.id: self._value(c) for c in self.columns}
        self._tell("c", id, self.rows[id], None)

    def _update(self, id: int) -> None:
        before = dict(self.rows[id])
        changed = {c.id: self._value(c) for c in self.columns if self.random.random() < 0.5}
        self.rows[id] |= {c.id: before.get(c.id) for c in self.columns} | changed
        sent = dict(self.rows[id])
        if self.connector == "postgresql":
            same = [c for c in self.columns if c.type == "TEXT" and sent[c.id] == before.get(c.id)]
            sent |= {c.id: PLACEHOLDER for c in same if sent[c.id] is not None and self.random.random() < 0.4}
        self._tell("u", id, sent, before if self.connector == "mysql" else None)

    def _delete(self, id: int) -> None:
        gone = self.rows.pop(id)
        made = self._tell("d", id, None, gone if self.connector == "mysql" else {})
        if self.random.random() < 0.7:
            self.log.append(Told(replace(made, value=None), "tombstone", id))

    def _read(self) -> None:
        """An incremental snapshot of some rows, which has no place of its own."""
        for id in [i for i in self.rows if self.random.random() < 0.6]:
            self._tell(
                "r", id, self.rows[id], None, {"snapshot": "incremental", "lsn": None, "sequence": None}
            )

    def _truncate(self) -> None:
        self.rows.clear()
        value = event(self._value_node(), "t")
        value["payload"]["source"] |= self._source()
        value["payload"] |= {"before": None, "after": None}
        at = self.random.randrange(self.partitions)
        self.log.append(Told(replace(record(value, None, self.topic), partition=at), "truncate"))
        self._commit = self._place = self._place + 1

    def _add(self) -> None:
        free = [name for name in NAMES if name not in {c.name for c in self.columns}]
        if free:
            column, at = self._column(self.random.choice(free)), len(self.columns)
            if self.connector == "mysql":
                at = self.random.randint(0, at)
            behind = self.columns[at - 1].name if at else "id"
            text = f"ALTER TABLE t ADD {column.name} {_DECLARED[column.type][0]} AFTER {behind}"
            self._structure(text, (*self.columns[:at], column, *self.columns[at:]))

    def _drop(self) -> None:
        if len(self.columns) > 1:
            gone = self.random.choice(self.columns)
            self._structure(f"ALTER TABLE t DROP {gone.name}", tuple(c for c in self.columns if c != gone))

    def _widen(self) -> None:
        for column in [c for c in self.columns if c.type == "INT"][:1]:
            self._changed(
                f"ALTER TABLE t MODIFY {column.name} BIGINT", {column: replace(column, type="BIGINT")}
            )

    def _rename(self) -> None:
        column = self.random.choice(self.columns)
        free = [name for name in NAMES if name not in {c.name for c in self.columns}]
        if free:
            new = replace(column, name=self.random.choice(free))
            self._changed(f"ALTER TABLE t RENAME COLUMN {column.name} TO {new.name}", {column: new})

    def _exchange(self) -> None:
        if len(self.columns) > 1:
            one, other = self.random.sample(self.columns, 2)
            text = f"RENAME COLUMN {one.name} TO {other.name}, RENAME COLUMN {other.name} TO {one.name}"
            renamed = {one: replace(one, name=other.name), other: replace(other, name=one.name)}
            self._changed(f"ALTER TABLE t {text}", renamed)

    def _changed(self, text: str, new: Mapping[SourceColumn, SourceColumn]) -> None:
        self._structure(text, tuple(new.get(c, c) for c in self.columns))

    def _structure(self, text: str, columns: tuple[SourceColumn, ...]) -> None:
        """Have other columns; PostgreSQL tells it by the next row alone."""
        self.columns = columns
        self._next()
        self.structures.append((self._place, columns))
        if self.connector == "postgresql":
            free = next(id for id in range(10, 100) if id not in self.rows)
            self._insert(free)
            return
        told: list[Mapping[str, Any]] = [
            {"name": "id", "typeName": "INT", "jdbcType": 4, "position": 1, "optional": False}
        ]
        for position, column in enumerate(columns, 2):
            type, jdbc, length = _DECLARED[column.type]
            told.append({"name": column.name, "typeName": type, "jdbcType": jdbc, "length": length,
                         "position": position, "optional": True})  # fmt: skip
        kind = text.split(" ", 1)[0]
        entry = {"type": kind, "id": '"shop"."t"', "table": image(*told, key=("id",))}
        made = record(change(entry, ddl=text, **self._source()), {"databaseName": "shop"}, "srv")
        self.log.append(Told(made, "schema change"))

    def _value_node(self) -> Mapping[str, Any]:
        named = {c.name: _NODES[c.type] for c in self.columns}
        return struct(f"{self.topic}.Value", id=node("int32"), **named)

    def _tell(
        self, op: str, id: int, after: Values | None, before: Values | None,
        beside: Mapping[str, object] | None = None,
    ) -> Record:  # fmt: skip
        def told(values: Values | None) -> dict[str, object] | None:
            named = {c.name: (values or {}).get(c.id) for c in self.columns}
            return None if values is None else {"id": id} | named

        value = event(self._value_node(), op)
        value["payload"]["source"] |= self._source() | dict(beside or {})
        value["payload"] |= {"before": told(before), "after": told(after), "ts_ms": 1005 + self._place}
        key = {"schema": struct(f"{self.topic}.Key", id=node("int32")), "payload": {"id": id}}
        made = replace(record(value, key, self.topic), partition=id % self.partitions)
        self.log.append(Told(made, "read" if op == "r" else "row", id))
        return made

    def _source(self) -> dict[str, Any]:
        at = {"connector": self.connector, "db": "shop", "table": "t", "ts_ms": 1000 + self._place}
        if self.connector == "mysql":
            return {
                **at,
                "schema": None,
                "file": "binlog.000003",
                "pos": self._place,
                "row": 0,
                "server_id": 1,
            }
        sequence = json.dumps([str(self._commit) if self._commit else None, str(self._place)])
        return {**at, "schema": "public", "lsn": self._place, "sequence": sequence}


def delivered(log: Sequence[Told], random: Random, crashes: int) -> list[Told]:
    """The records as they arrive, with offsets: behind each crash the connector tells a stretch again.

    A snapshot beside the stream goes on where it was.
    """
    told = list(log)
    for _ in range(crashes):
        end = random.randint(1, len(told))
        begin = random.randint(max(0, end - 8), end - 1)
        while begin and told[begin].kind == "tombstone":
            begin -= 1
        again = [each for each in told[begin:end] if each.kind != "read"]
        told = [*told[:end], *again, *told[end:]]
    return placed(told)


def placed(told: Sequence[Told]) -> list[Told]:
    """The records with their offsets, in the order in which they arrive."""
    offsets: dict[tuple[str, int], int] = {}
    found: list[Told] = []
    for each in told:
        at = each.record.topic, each.record.partition
        found.append(replace(each, record=replace(each.record, offset=offsets.get(at, 0))))
        offsets[at] = offsets.get(at, 0) + 1
    return found


def batches(told: Sequence[Told], random: Random, *, lag: bool) -> Iterator[list[Record]]:
    """The records in batches; with `lag` each partition is read at its own pace."""
    queues: dict[tuple[str, int] | None, list[Record]] = {}
    for each in told:
        record = each.record
        queues.setdefault((record.topic, record.partition) if lag else None, []).append(record)
    while queues:
        batch: list[Record] = []
        for at in [q for q in queues if not lag or random.random() < 0.7]:
            size = random.choice((1, 1, 2, 3, 6, 20, 200))
            batch += queues[at][:size]
            queues[at] = queues[at][size:]
        queues = {at: rest for at, rest in queues.items() if rest}
        if batch:
            yield batch
