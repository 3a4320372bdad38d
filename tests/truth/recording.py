"""A recording as it lies on disk, read with nothing of schemaman: the oracle has eyes of its own."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet

Place = tuple[str, int, int]
"""Topic, partition, offset."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What places one record in the truth: its source block, whether a table was read, and when.

    `change`: it declares a structure, and is no row.
    """

    place: Place
    source: dict[str, Any]
    snapshot: bool
    read_ms: int = 0
    change: bool = False


def facts(folder: Path) -> dict[Place, Fact]:
    """Every record of a run that has a source block, or fields that were taken from one, by its place."""
    found = {}
    for place, value, written_ms in _values(folder):
        if value and "__table" in value:
            flat = {n.removeprefix("__source_"): v for n, v in value.items() if n.startswith("__source_")}
            value = {"source": {**flat, "table": value["__table"]}}
        if value and isinstance(value.get("source"), dict):
            source = value["source"]
            snapshot = source.get("snapshot") not in (None, "false", False)
            read_ms = value.get("ts_ms") or written_ms
            found[place] = Fact(place, source, snapshot, read_ms, change="tableChanges" in value)
    return found


def _values(folder: Path) -> Iterator[tuple[Place, Any, int]]:
    lines = folder / "records.ndjson.gz"
    if lines.exists():
        with gzip.open(lines, "rt", encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                place = (record["topic"], record["partition"], record["offset"])
                value = json.loads(record["payload"]) if record["payload"] else None
                yield place, value["payload"] if value and "payload" in value else value, record["ts"]
        return
    schemas = _registry(folder / "registry.json")
    for row in pyarrow.parquet.read_table(folder / "records.parquet").to_pylist():
        place = (row["topic"], row["partition"], row["offset"])
        value = row["value"]
        if value is None:
            yield place, None, 0
            continue
        schema = schemas[int.from_bytes(value[1:5], "big")]
        yield (
            place,
            fastavro.schemaless_reader(io.BytesIO(value[5:]), schema),
            _milliseconds(row["timestamp"]),
        )


def _milliseconds(time: Any) -> int:
    return time if isinstance(time, int) else round(time.timestamp() * 1000)


def _registry(path: Path) -> dict[int, Any]:
    entries = json.loads(path.read_text())
    return {e["id"]: fastavro.parse_schema(_without_logical(json.loads(e["schema"]))) for e in entries}


def _without_logical(schema: Any) -> Any:
    """The schema without logical types: a recorded Decimal has a scale that fastavro refuses."""
    if isinstance(schema, dict):
        return {
            k: _without_logical(v)
            for k, v in schema.items()
            if k not in ("logicalType", "scale", "precision")
        }
    return [_without_logical(s) for s in schema] if isinstance(schema, list) else schema
