"""A made-up connector: it writes records as Debezium does, and what they teach can be asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from schemaman.debezium.observation import Note, Reject
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Record
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.ingest.ingest import ingest
from schemaman.model.ddl import format_type
from schemaman.model.diff import Change, diff
from schemaman.model.schema import TableSchema
from schemaman.model.types import without_labels
from schemaman.registry import Registry
from schemaman.store.log import NoteEntry, RejectEntry
from schemaman.store.memory import MemoryStore
from tests.support.records import Node, node, struct

NOON = 1_700_000_000_000

INT, LONG, TEXT, BYTES = (node(kind) for kind in ("int32", "int64", "string", "bytes"))
NOTE = node("string", optional=True)


def decimal(precision: int, scale: int, **more: Any) -> Node:
    """A node of Connect's Decimal. Source: Kafka Connect Decimal; Debezium adds the precision."""
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    named = "org.apache.kafka.connect.data.Decimal"
    return node("bytes", named, version=1, parameters=parameters, **more)


def time(name: str, kind: str = "int64") -> Node:
    """A node of one of Debezium's types of time."""
    return node(kind, f"io.debezium.time.{name}", version=1)


@dataclass
class Connector:
    """A connector that streams; its clock, log and offsets go on by themselves."""

    name: str = "postgresql"
    version: str = "3.4.1.Final"
    server: str = "srv"
    database: str = "shop"
    records: list[Record] = field(default_factory=list)
    at: int = 1000
    lag_ms: int = 5
    schemas: SchemaLookup = lambda id: None
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def table_schema(self) -> str:
        """The schema that its tables lie in; none where the database has no such level."""
        return "" if self.name in ("mysql", "mariadb", "mongodb", "vitess") else "public"

    def source(self, table: str, **more: object) -> dict[str, object]:
        """The source block of a record; the log goes on."""
        self.at += 8
        now = NOON + self.at
        block: dict[str, object] = {
            "version": self.version, "connector": self.name, "name": self.server, "ts_ms": now,
            "snapshot": "false", "db": self.database, "schema": self.table_schema or None, "table": table,
        }  # fmt: skip
        return {**block, **self.place(self.at), **more}

    def place(self, at: int) -> dict[str, object]:
        """The members of a source block that tell a place in the log."""
        lsn = f"00000000:{at:08x}:0000000000000001"
        match self.name:
            case "postgresql":
                return {"lsn": at, "txId": at // 8, "xmin": None, "sequence": json.dumps([str(at), str(at)])}
            case "mysql" | "mariadb":
                return {"file": "binlog.000003", "pos": at, "row": 0, "gtid": None, "server_id": 1}
            case "oracle":
                return {"scn": str(at), "commit_scn": str(at)}
            case "db2" | "informix":
                number = lsn if self.name == "db2" else str(at)
                return {"commit_lsn": number, "change_lsn": number}
            case "sqlserver":
                lsn = f"{at:08x}:00000001:0001"
                return {"commit_lsn": lsn, "change_lsn": lsn, "event_serial_no": 1}
            case "mongodb":
                return {"ord": 1, "collection": "t"}
            case _:
                return {}

    def row(
        self,
        columns: Mapping[str, Node],
        key: Sequence[str] | Mapping[str, Node] = ("id",),
        *,
        table: str = "t",
        op: str = "c",
        topic: str | None = None,
        partition: int = 0,
        named: str | None = None,
        values: Mapping[str, object] | None = None,
        **source: object,
    ) -> Record:
        """An event of a row of these columns; `source` are members of its source block."""
        block = self.source(table, **source)
        topic = topic or ".".join(p for p in (self.server, self.table_schema or self.database, table) if p)
        name = named or topic
        row = {**struct(f"{name}.Value", **columns), "optional": True}
        told: Mapping[str, Node] = {k: columns[k] for k in key} if not isinstance(key, Mapping) else key
        schema = struct(
            f"{name}.Envelope",
            before={**row, "field": "before"},
            after=row,
            source=struct(f"io.debezium.connector.{self.name}.Source", **dict.fromkeys(block, NOTE)),
            op=TEXT,
            ts_ms=LONG,
        )
        after = None if op in "dt" else {n: (values or {}).get(n, 1) for n in columns}
        payload = {"before": None, "after": after, "source": block, "op": op, "ts_ms": self.now}
        body = None if op == "t" or not told else {
            "schema": struct(f"{name}.Key", **told), "payload": dict.fromkeys(told, 1),
        }  # fmt: skip
        return self.write(topic, body, {"schema": schema, "payload": payload}, partition)

    def rows(self, columns: Mapping[str, Node], count: int = 3, **more: Any) -> None:
        """Several events of one shape."""
        for _ in range(count):
            self.row(columns, **more)

    def change(
        self,
        *entries: Node,
        ddl: str | None = None,
        table: str = "t",
        database: str | None = None,
        **source: object,
    ) -> Record:
        """A record of the schema-change topic. Source: Debezium ConnectTableChangeSerializer."""
        block = self.source(table, **source)
        database = self.database if database is None else database
        payload = {
            "source": block,
            "ts_ms": self.now,
            "databaseName": database,
            "schemaName": self.table_schema or None,
            "ddl": ddl,
            "tableChanges": list(entries),
        }
        return self.write(self.server, {"databaseName": database}, payload)

    def write(self, topic: str, key: object, value: object, partition: int = 0) -> Record:
        """A record behind the last one of its partition."""
        offset = self.offsets.get((topic, partition), -1) + 1
        self.offsets[topic, partition] = offset
        made = Record(topic, partition, offset, self.now, _bytes(key), _bytes(value))
        self.records.append(made)
        return made

    @property
    def now(self) -> int:
        """When the connector reads the record on which it works."""
        return NOON + self.at + self.lag_ms

    def told(self) -> Told:
        """What the records teach."""
        return told(self.records, self.schemas)


@dataclass(frozen=True, slots=True)
class Told:
    """Histories by the name of the table, and what was set aside or noted."""

    histories: Mapping[str, TableHistory]
    rejects: tuple[Reject, ...]
    notes: tuple[Note, ...]

    def __getitem__(self, table: str) -> TableHistory:
        """The history of a table."""
        return self.histories[table]


def told(records: Sequence[Record], schemas: SchemaLookup = lambda id: None) -> Told:
    """What records teach, through the whole reading wing."""
    return told_in_parts([records], schemas)


def told_in_parts(parts: Sequence[Sequence[Record]], schemas: SchemaLookup = lambda id: None) -> Told:
    """What records teach that are read in parts, one after the other; within a part, offsets order."""
    store = MemoryStore()
    registry = Registry(store, lambda: 0)
    for part in parts:
        ordered = sorted(part, key=lambda r: (r.topic, r.partition, r.offset))
        ingest(ordered, registry, "main", schemas)
    entries = [stamped.entry for stamped in store.read()]
    return Told(
        {h.table.table: h for h in registry.tables()},
        tuple(e.reject for e in entries if isinstance(e, RejectEntry)),
        tuple(e.note for e in entries if isinstance(e, NoteEntry)),
    )


def _bytes(data: object) -> bytes | None:
    return data if data is None or isinstance(data, bytes) else json.dumps(data).encode()


def entry(kind: str, id: str, table: Node | None) -> Node:
    """An entry of `tableChanges`."""
    return {"type": kind, "id": id, "table": table}


def shapes(history: TableHistory) -> list[str]:
    """The structures of the versions in words: `id INT!, note STRING KEY (id)`."""
    return [shape(v.schema) for v in history.versions]


def shape(schema: TableSchema) -> str:
    """One structure in words; `!` stands behind what is NOT NULL."""
    columns = (
        f"{c.name} {format_type(without_labels(c.type))}{'' if c.nullable else '!'}" for c in schema.columns
    )
    return f"{', '.join(columns)} KEY ({', '.join(schema.key)})"


def steps(history: TableHistory) -> list[tuple[Change, ...]]:
    """What changed from version to version."""
    pairs = pairwise(history.versions)
    return [diff(a.schema, b.revisions[0].schema) for a, b in pairs]


def revised(version: SchemaVersion) -> list[tuple[Change, ...]]:
    """What changed from revision to revision of a version."""
    schemas = [r.schema for r in version.revisions]
    return [diff(a, b) for a, b in pairwise(schemas)]


def kinds(changes: Sequence[Change]) -> list[str]:
    """The changes by what they are and of which column."""
    return [" ".join((type(c).__name__, *getattr(c, "path", ()))) for c in changes]


def later(record: Record, offset: int, partition: int | None = None) -> Record:
    """The same bytes at another offset: delivered again."""
    return replace(record, offset=offset, partition=record.partition if partition is None else partition)
