"""A small PostgreSQL and a connector that lags behind it, crashes and reads tables, with the truth beside.

What is modelled of Debezium: a change carries the columns and types of its own place in the log. Key and
nullability are read from the catalogue when the connector meets a structure anew, by the name that the log
tells; of a key only those columns are left that the structure has. Transactions come whole, in the order of
their commits; after a crash some come again, under the catalogue of that time.
Source: Debezium PgOutputMessageDecoder.handleRelationMessage; `source.sequence` is the place of the last
commit before and that of the change.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.cases.connector import INT, LONG, NOON, TEXT, Connector, decimal, time
from tests.support.records import Node, node

TYPES: tuple[Node, ...] = (INT, LONG, TEXT, node("boolean"), node("float"), node("int16"))
"""Types that no setting of a connector exchanges."""

EXCHANGED: tuple[Node, ...] = (INT, LONG, TEXT, decimal(8, 2), decimal(10, 3), time("Date", "int32"))
"""Types that a setting may have exchanged as well: two truths fit the same records, whoever reads them."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column; its number is never given again."""

    number: int
    name: str
    type: int
    nullable: bool


@dataclass(frozen=True, slots=True)
class Structure:
    """A table at one moment; each one is a new relation to the connector, `made` tells them apart."""

    oid: int
    name: str
    columns: tuple[Attribute, ...]
    key: tuple[str, ...]
    made: int

    @property
    def shape(self) -> Shape:
        """Names and types, in order."""
        return tuple((c.name, c.type) for c in self.columns)

    @property
    def facts(self) -> frozenset[tuple[str, object]]:
        """Key and nullability, as a history names them."""
        return frozenset({("key", self.key), *((f"nullable:{c.name}", c.nullable) for c in self.columns)})


Shape = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A row that was written: its place in the log and the structure that it had there."""

    lsn: int
    structure: Structure


@dataclass(slots=True)
class Transaction:
    """Changes that were committed together."""

    id: int
    changes: list[Change] = field(default_factory=list)
    commit: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class Emitted:
    """What a record really was: the place of its change (0 if it was read), its structure, and when."""

    offset: tuple[str, int, int]
    lsn: int
    structure: Structure
    committed: int
    read: int


@dataclass(slots=True)
class World:
    """A database and its connector; `chance` decides what a step leaves open. Times are ticks."""

    chance: Random
    partitions: int = 2
    types: tuple[Node, ...] = TYPES
    now: int = 0
    lsn: int = 1000
    made: int = 0
    tables: dict[int, Structure] = field(default_factory=dict)
    past: list[tuple[int, dict[str, Structure]]] = field(default_factory=list)
    log: list[Transaction] = field(default_factory=list)
    open: Transaction | None = None
    done: int = 0
    last_commit: int = 0
    known: dict[int, tuple[int, Structure, Structure | None]] = field(default_factory=dict)
    connector: Connector = field(default_factory=lambda: Connector(lag_ms=0))
    emitted: list[Emitted] = field(default_factory=list)

    def step(self, word: str) -> None:
        """Something happens: one of `STEPS`."""
        self.now += self.chance.choice((1, 1, 1, 7))
        match word:
            case "row":
                self._row()
            case "begin":
                self.open = self.open or Transaction(self._next())
            case "commit":
                self._commit_open()
            case "ddl":
                self._ddl()
            case "read":
                self._read(self.chance.randint(1, 4))
            case "catch up":
                self._read(len(self.log))
            case "crash":
                self.done = max(0, self.done - self.chance.randint(0, 3))
                self.known.clear()
            case "incremental":
                self._read_table()
        self._keep()

    def start(self) -> None:
        """Two tables, and the snapshot of what is in them."""
        for name in ("t", "u"):
            self._create(name)
        self._keep()
        for structure in list(self.tables.values()):
            self._emit(structure, structure, 0, self.lsn, op="r", snapshot="true", txId=1)

    def finish(self) -> None:
        """All that was written is read."""
        self._commit_open()
        self.now += 5
        self._read(len(self.log))

    def true_between(self, name: str, first: int, last: int) -> set[tuple[str, object]]:
        """Every fact of a table of this name that was true at some moment between two, both included."""
        ends = [at for at, _ in self.past[1:]] + [self.now + 1]
        alive = (
            tables for (at, tables), end in zip(self.past, ends, strict=True) if at <= last and end >= first
        )
        return {fact for tables in alive if name in tables for fact in tables[name].facts}

    def _next(self) -> int:
        self.made += 1
        return self.made

    def _place(self) -> int:
        self.lsn += 8
        return self.lsn

    def _keep(self) -> None:
        tables = {s.name: s for s in self.tables.values()}
        if not self.past or self.past[-1][1] != tables:
            self.past.append((self.now, tables))

    def _create(self, name: str) -> None:
        columns = (
            Attribute(self._next(), "id", 0, False),
            Attribute(self._next(), f"c{self._next()}", 2, True),
        )
        oid = self._next()
        self.tables[oid] = Structure(oid, name, columns, ("id",), self._next())

    def _row(self) -> None:
        if not self.tables:
            return
        structure = self.chance.choice(list(self.tables.values()))
        if self.open is not None and self.chance.random() < 0.5:
            self.open.changes.append(Change(self._place(), structure))
            return
        alone = Transaction(self._next())
        rows = self.chance.choice((1, 1, 2, 3))
        alone.changes += (Change(self._place(), structure) for _ in range(rows))
        self._commit(alone)

    def _commit_open(self) -> None:
        if self.open is not None and self.open.changes:
            self._commit(self.open)
        self.open = None

    def _commit(self, transaction: Transaction) -> None:
        transaction.commit, transaction.at = self._place(), self.now
        self.log.append(transaction)

    def _ddl(self) -> None:
        """A change of a table that no open transaction has written to: those hold it."""
        held = {c.structure.oid for c in self.open.changes} if self.open else set()
        free = [s for s in self.tables.values() if s.oid not in held]
        if not free:
            return
        old = self.chance.choice(free)
        if self.chance.random() < 0.1:
            del self.tables[old.oid]
            self._create(old.name)
            return
        new = replace(self._altered(old), made=self._next())
        self.tables[old.oid] = new

    def _altered(self, old: Structure) -> Structure:
        chance, columns = self.chance, list(old.columns)
        at = chance.randrange(len(columns))
        column = columns[at]
        match chance.choice(("add", "add", "drop", "type", "null", "name", "key", "table")):
            case "add":
                fresh = Attribute(self._next(), f"c{self.made}", chance.randrange(6), chance.random() < 0.6)
                return replace(old, columns=(*columns, fresh))
            case "drop" if len(columns) > 1:
                del columns[at]
                key = () if column.name in old.key else old.key
                return replace(old, columns=tuple(columns), key=key)
            case "type":
                columns[at] = replace(column, type=chance.randrange(6))
            case "null" if column.name not in old.key:
                columns[at] = replace(column, nullable=not column.nullable)
            case "name":
                columns[at] = replace(column, name=f"c{self._next()}")
                key = tuple(columns[at].name if k == column.name else k for k in old.key)
                return replace(old, columns=tuple(columns), key=key)
            case "key":
                names = chance.sample([c.name for c in columns], chance.randint(0, min(2, len(columns))))
                told = [replace(c, nullable=c.nullable and c.name not in names) for c in columns]
                return replace(old, columns=tuple(told), key=tuple(names))
            case "table":
                taken = {s.name for s in self.tables.values()}
                return replace(old, name=chance.choice([n for n in ("t", "u", "v", "w") if n not in taken]))
        return replace(old, columns=tuple(columns))

    def _read(self, count: int) -> None:
        for transaction in self.log[self.done : self.done + count]:
            before = self.log[self.done - 1].commit if self.done else self.last_commit
            for change in transaction.changes:
                self._stream(change, transaction, before)
            self.done += 1
            self.now += self.chance.choice((0, 0, 1))

    def _stream(self, change: Change, transaction: Transaction, before: int) -> None:
        structure = change.structure
        known = self.known.get(structure.oid)
        if known is None or known[0] != structure.made:
            named = {s.name: s for s in self.tables.values()}
            known = self.known[structure.oid] = (structure.made, structure, named.get(structure.name))
        sequence = json.dumps([str(before) if before else None, str(change.lsn)])
        self._emit(
            structure, known[2], transaction.at, change.lsn, op="u", txId=transaction.id, sequence=sequence
        )

    def _read_table(self) -> None:
        if not self.tables:
            return
        structure = self.chance.choice(list(self.tables.values()))
        self._emit(
            structure, structure, self.now, None, op="r", snapshot="incremental", txId=None, sequence=None
        )

    def _emit(
        self,
        structure: Structure,
        catalogue: Structure | None,
        committed: int,
        lsn: int | None,
        *,
        op: str,
        **source: Any,
    ) -> None:
        found = {} if catalogue is None else {c.name: c.nullable for c in catalogue.columns}
        columns = {
            c.name: {**self.types[c.type], "optional": found.get(c.name, True)} for c in structure.columns
        }
        key = [] if catalogue is None else [k for k in catalogue.key if k in columns]
        self.connector.at = self.now - 8
        # a row keeps its partition by its key; without one it goes anywhere
        partition = (lsn or 0) // 8 if key else self.chance.randrange(self.partitions)
        sequence = source.pop("sequence", json.dumps([None, str(lsn)]))
        record = self.connector.row(
            columns,
            {k: {**columns[k], "optional": False} for k in key} or (),
            table=structure.name,
            op=op,
            partition=partition % self.partitions,
            ts_ms=NOON + (committed or self.now),
            lsn=lsn,
            sequence=sequence,
            **source,
        )
        place = (record.topic, record.partition, record.offset)
        streamed = 0 if op == "r" else lsn or 0
        self.emitted.append(Emitted(place, streamed, structure, committed, self.now))


STEPS = (
    "row",
    "row",
    "row",
    "row",
    "ddl",
    "ddl",
    "read",
    "read",
    "catch up",
    "begin",
    "commit",
    "crash",
    "incremental",
)


def world(seed: int, steps: Sequence[str], partitions: int = 2, types: tuple[Node, ...] = TYPES) -> World:
    """A world in which these things happened, one after the other, and were read in the end."""
    made = World(Random(seed), partitions, types)
    made.start()
    for word in steps:
        made.step(word)
    made.finish()
    return made
