"""Records for tests: those of the recordings, and ones made by hand as a connector writes them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from schemaman.debezium.decode import decode
from schemaman.debezium.observation import Observation, Outcome, SchemaRun
from schemaman.debezium.payload import SchemaLookup
from schemaman.debezium.records import Coordinates, Record
from schemaman.model.schema import TableSchema

Node = Mapping[str, object]


def records(run: Path) -> Iterator[Record]:
    """The records of a recording, in order of arrival."""
    if (run / "records.parquet").exists():
        for row in parquet.read_table(run / "records.parquet").to_pylist():
            yield Record(row["topic"], row["partition"], row["offset"], None, row["key"], row["value"])
        return
    with gzip.open(run / "records.ndjson.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            key, value = (None if t is None else t.encode() for t in (row["key"], row["payload"]))
            pairs = row.get("headers") or []
            headers = tuple((n, v.encode()) for n, v in zip(pairs[::2], pairs[1::2], strict=True))
            yield Record(row["topic"], row["partition"], row["offset"], row["ts"], key, value, headers)


@cache
def registry(run: Path) -> SchemaLookup:
    """The registry that belongs to a recording; an empty one where it needs none."""
    path = run / "registry.json"
    entries = json.loads(path.read_text()) if path.exists() else []
    return {entry["id"]: entry["schema"] for entry in entries}.get


def alone(record: Record) -> SchemaRun:
    """A run of that one record."""
    mark = Coordinates(record.topic, record.partition, record.offset, timestamp_ms=record.timestamp_ms)
    return SchemaRun(shape="s", first=mark, last=mark, count=1, sample=record)


def outcomes(run: Path) -> list[tuple[Record, Outcome]]:
    """What every record of a recording says, each read by itself."""
    lookup = registry(run)
    return [(r, outcome) for r in records(run) for outcome in decode(alone(r), "main", lookup)]


def declared_images(run: Path) -> list[TableSchema]:
    """The structures that a recording declares."""
    found = [o for _, o in outcomes(run) if isinstance(o, Observation) and o.evidence == "declared"]
    return [o.schema for o in found if o.schema is not None]


def record(value: object, key: object = None, topic: str = "srv.public.t") -> Record:
    """A record of JSON values; bytes stay as they are."""
    return Record(topic, 0, 0, 1, _json(key), _json(value))


def struct(name: str | None, /, **fields: Node) -> Node:
    """A Connect struct of named nodes."""
    node: Node = {
        "type": "struct",
        "optional": False,
        "fields": [{**n, "field": f} for f, n in fields.items()],
    }
    return node if name is None else {**node, "name": name}


def node(type: str, name: str | None = None, *, optional: bool = False, **more: object) -> Node:
    """A Connect schema node."""
    found: Node = {"type": type, "optional": optional, **more}
    return found if name is None else {**found, "name": name}


SOURCE: Node = {
    "version": "3.4.1.Final",
    "connector": "postgresql",
    "name": "srv",
    "snapshot": "false",
    "db": "shop",
    "schema": "public",
    "table": "t",
}


def event(row: Node, op: str = "c", **source: object) -> dict[str, Any]:
    """A data event of a table whose row has that struct."""
    value = {**row, "optional": True}
    names = ("version", "connector", "name", "snapshot", "db", "schema", "table")
    block = struct("Source", **{n: node("string") for n in names})
    schema = struct("srv.public.t.Envelope", before=value, after=value, source=block, op=node("string"))
    payload = {"before": None, "after": None, "source": {**SOURCE, **source}, "op": op, "ts_ms": 5}
    return {"schema": schema, "payload": payload}


def row_event(
    fields: Mapping[str, Node],
    op: str,
    row: Mapping[str, Any] | None,
    *,
    offset: int = 0,
    lsn: int | None = None,
    partition: int = 0,
    table: str = "t",
    keyed: bool = True,
    **source: object,
) -> Record:
    """A change of a row of PostgreSQL whose key is `id`, at a position of its own."""
    at = 100 + offset if lsn is None else lsn
    topic = f"srv.public.{table}"
    place = {"lsn": at, "sequence": f'["{at}","{at}"]', "table": table, **source}
    value = event(struct(f"{topic}.Value", **fields), op, **place)
    value["payload"] |= {"before": row, "after": None} if op == "d" else {"after": row}
    key = None
    if keyed and row is not None:
        key = {"schema": struct(f"{topic}.Key", id=fields["id"]), "payload": {"id": row["id"]}}
    return replace(record(value, key, topic), partition=partition, offset=offset)


def without_schemas(record: Record) -> Record:
    """The record as the JSON converter writes it with `schemas.enable=false`."""
    key, value = (None if p is None else json.loads(p)["payload"] for p in (record.key, record.value))
    return replace(record, key=_json(key), value=_json(value))


def change(*entries: Node, ddl: str | None = None, database: str = "shop", **source: object) -> Node:
    """A schema-change record without its Connect schema, which says nothing that the payload does not."""
    block = {**SOURCE, "connector": "mysql", "schema": None, **source}
    return {"source": block, "ts_ms": 5, "databaseName": database, "schemaName": None, "ddl": ddl,
            "tableChanges": list(entries)}  # fmt: skip


def image(*columns: Node, key: tuple[str, ...] = (), comment: object = None) -> Node:
    """The structure of a table in a schema-change record."""
    return {"primaryKeyColumnNames": list(key), "columns": list(columns), "comment": comment}


def column(name: str, type_name: str = "INT", position: object = 1, **more: object) -> Node:
    """A column in a schema-change record."""
    told: Node = {"name": name, "jdbcType": 4, "typeName": type_name, "position": position, "optional": True}
    return {**told, **more}


def _json(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return json.dumps(value).encode()
