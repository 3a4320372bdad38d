"""A small MySQL whose connector publishes schema changes, rows, and keeps a history of its own.

What is modelled of Debezium: every statement becomes a record of the schema-change topic with the image of
the table behind it, and an entry of the connector's own history; a row carries the structure of its own place
in the binlog. Source: Debezium HistorizedRelationalDatabaseSchema, ConnectTableChangeSerializer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from schemaman.debezium.records import Record
from tests.cases.connector import INT, LONG, NOON, TEXT, Connector, entry
from tests.support.records import Node, column, image

STEPS = ("row", "row", "row", "add", "add", "drop", "type", "name", "null", "again", "anew", "recreate")
WORDS = (("INT", INT), ("BIGINT", LONG), ("TEXT", TEXT))
DECLARED = ("INT", "BIGINT", "STRING")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column: its number stays when it gets another name."""

    number: int
    name: str
    type: int
    nullable: bool


State = tuple[Attribute, ...]


@dataclass(slots=True)
class Life:
    """What was true of a table: each structure, and where in the binlog it began; an empty one is none."""

    states: list[tuple[int, State]] = field(default_factory=list)
    shown: set[State] = field(default_factory=set)


@dataclass(slots=True)
class Database:
    """Tables that change, and the connector beside them; `chance` decides what a step leaves open."""

    chance: Random
    connector: Connector = field(default_factory=lambda: Connector("mysql"))
    internal: list[Record] = field(default_factory=list)
    tables: dict[str, State] = field(default_factory=dict)
    lives: dict[str, Life] = field(default_factory=dict)
    made: int = 0

    def step(self, word: str) -> None:
        """Something happens to one of the tables: one of `STEPS`."""
        table = self.chance.choice(("t", "u"))
        state = self.tables.get(table)
        if state is None:
            self._create(table)
        elif word == "row":
            self._row(table, state)
        elif word == "recreate":
            self._declare("DROP", table, (), f"DROP TABLE {table}")
            self._create(table)
        else:
            self._alter(word, table, state)

    def _fresh(self) -> Attribute:
        self.made += 1
        return Attribute(self.made, f"c{self.made}", self.chance.randrange(3), self.chance.random() < 0.5)

    def _create(self, table: str) -> None:
        self.made += 1
        key = Attribute(self.made, "id", 0, False)
        self._declare("CREATE", table, (key, self._fresh()), f"CREATE TABLE {table} (id INT PRIMARY KEY, …)")

    def _alter(self, word: str, table: str, state: State) -> None:
        at = self.chance.randrange(1, len(state)) if len(state) > 1 else 0
        column = state[at]
        others = list(state)
        ddl = f"ALTER TABLE {table} COMMENT ''"
        match word:
            case "add":
                others.append(self._fresh())
                ddl = f"ALTER TABLE {table} ADD COLUMN {others[-1].name} {WORDS[others[-1].type][0]}"
            case "drop" if at:
                del others[at]
                ddl = f"ALTER TABLE {table} DROP COLUMN {column.name}"
            case "type" | "null" if at:
                type = self.chance.randrange(3) if word == "type" else column.type
                nullable = column.nullable if word == "type" else not column.nullable
                others[at] = Attribute(column.number, column.name, type, nullable)
                ddl = f"ALTER TABLE {table} MODIFY COLUMN {column.name} {WORDS[type][0]}"
            case "anew" if at:
                type = self.chance.choice((column.type, self.chance.randrange(3)))
                others[at] = Attribute(self._fresh().number, column.name, type, column.nullable)
                added = f"ADD COLUMN {column.name} {WORDS[type][0]} AFTER {others[at - 1].name}"
                ddl = f"ALTER TABLE {table} DROP COLUMN {column.name}, {added}"
            case "name" if at:
                self.made += 1
                others[at] = Attribute(column.number, f"c{self.made}", column.type, column.nullable)
                ddl = f"ALTER TABLE {table} RENAME COLUMN {column.name} TO {others[at].name}"
        self._declare("ALTER", table, tuple(others), ddl)

    def _declare(self, kind: str, table: str, state: State, ddl: str) -> None:
        columns = [column(c.name, WORDS[c.type][0], n, optional=c.nullable) for n, c in enumerate(state, 1)]
        change = entry(kind, f'"shop"."{table}"', image(*columns, key=("id",)) if state else None)
        self.connector.change(change, ddl=ddl, table=table)
        at = self.connector.at
        kept = {
            "source": {"server": "srv"},
            "position": {"file": "binlog.000003", "pos": at, "server_id": 1},
            "ts_ms": NOON + at,
            "databaseName": "shop",
            "ddl": ddl,
            "tableChanges": [change],
        }
        offset = len(self.internal)
        body = json.dumps(kept).encode()
        self.internal.append(Record("schema-history.srv", 0, offset, NOON + at, None, body))
        self.tables.pop(table, None)
        if state:
            self.tables[table] = state
        self.lives.setdefault(table, Life()).states.append((at, state))

    def _row(self, table: str, state: State) -> None:
        columns: dict[str, Node] = {c.name: {**WORDS[c.type][1], "optional": c.nullable} for c in state}
        self.connector.row(columns, table=table)
        self.lives[table].shown.add(state)


def database(seed: int, steps: Sequence[str]) -> Database:
    """A database in which these things happened, one after the other."""
    made = Database(Random(seed))
    for word in steps:
        made.step(word)
    return made
