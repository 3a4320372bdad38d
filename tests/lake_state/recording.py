"""A recording read with eyes of its own: JSON by `json`, Avro by `fastavro` and the schemas beside it."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet

from tests.lake_state.cells import Wire, avro_wire, connect_wire

Place = tuple[str, int, int]
"""Topic, partition, offset."""


@dataclass(frozen=True, slots=True)
class Event:
    """One data event as it travelled; raw values, and how each field is encoded where the record tells it.

    `arrival`: its number in the order of the recording. `wires` is None for records without schemas.
    """

    place: Place
    arrival: int
    op: str
    key: Mapping[str, Any] | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    source: Mapping[str, Any]
    read_ms: int = 0
    wires: Mapping[str, Wire] | None = None
    key_wires: Mapping[str, Wire] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the event speaks of, in its order."""
        if self.wires is not None:
            return tuple(self.wires)
        return tuple(self.after or self.before or {})

    @property
    def snapshot(self) -> bool:
        """Whether a table was read, and not its log."""
        return self.op == "r"


@dataclass(frozen=True, slots=True)
class Message:
    """A record before anybody asks what it is: decoded, not understood."""

    place: Place
    key: Any
    value: Any
    key_wire: Wire | None
    value_wire: Wire | None
    headers: Mapping[str, str]
    written_ms: int
    has_value: bool


def read(folder: Path) -> list[Event]:
    """Every data event of a recording, in the order of the recording."""
    settings = json.loads((folder / "meta.json").read_text("utf-8")).get("settings") or [{}]
    flat = any("ExtractNewRecordState" in str(value) for value in settings[0].values())
    extra = _added_fields(settings[0]) if flat else frozenset()
    events = []
    for arrival, message in enumerate(messages(folder)):
        event = _flat_event(message, arrival, extra) if flat else _event(message, arrival)
        if event is not None:
            events.append(event)
    return events


def messages(folder: Path) -> Iterator[Message]:
    """Every record of a recording, decoded."""
    lines = folder / "records.ndjson.gz"
    return _json_messages(lines) if lines.exists() else _avro_messages(folder)


def _json_messages(path: Path) -> Iterator[Message]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json_message(json.loads(line))


def json_message(record: Mapping[str, Any]) -> Message:
    """A record as `kcat -J` prints it."""
    key, key_wire = _json_part(record["key"])
    value, value_wire = _json_part(record["payload"])
    names = record.get("headers") or []
    headers = dict(zip(names[::2], names[1::2], strict=True))
    place = (record["topic"], record["partition"], record["offset"])
    return Message(
        place, key, value, key_wire, value_wire, headers, record.get("ts", 0), record["payload"] is not None
    )


def _json_part(text: str | None) -> tuple[Any, Wire | None]:
    if text is None:
        return None, None
    found = json.loads(text)
    if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
        return found["payload"], connect_wire(found["schema"]) if found["schema"] else None
    return found, None


def _avro_messages(folder: Path) -> Iterator[Message]:
    registered = {
        entry["id"]: json.loads(entry["schema"])
        for entry in json.loads((folder / "registry.json").read_text("utf-8"))
    }
    parsed: dict[int, tuple[Any, Wire]] = {}

    def part(data: bytes | None) -> tuple[Any, Wire | None]:
        if data is None:
            return None, None
        id = int.from_bytes(data[1:5], "big")
        if id not in parsed:
            plain = fastavro.parse_schema(_without_logical_types(registered[id]), {})
            parsed[id] = plain, avro_wire(registered[id], {})
        schema, wire = parsed[id]
        return fastavro.schemaless_reader(io.BytesIO(data[5:]), schema, None), wire

    for row in pyarrow.parquet.read_table(folder / "records.parquet").to_pylist():
        key, key_wire = part(row["key"])
        value, value_wire = part(row["value"])
        headers = {h["key"]: (h["value"] or b"").decode() for h in row.get("headers") or ()}
        place = (row["topic"], row["partition"], row["offset"])
        written = int(row["timestamp"].timestamp() * 1000)
        yield Message(place, key, value, key_wire, value_wire, headers, written, row["value"] is not None)


def _without_logical_types(schema: Any) -> Any:
    """The schema without what fastavro would interpret or refuse, as a scale above the precision."""
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        left_out = ("logicalType", "default", "connect.default")
        return {name: _without_logical_types(part) for name, part in schema.items() if name not in left_out}
    return schema


def _event(message: Message, arrival: int) -> Event | None:
    """A change event in its envelope; None for every other kind of record."""
    value = message.value
    if not isinstance(value, dict) or value.get("op") not in ("c", "u", "d", "r", "t"):
        return None
    wires = message.value_wire.inside["after"].inside if message.value_wire else None
    return Event(
        message.place,
        arrival,
        value["op"],
        message.key,
        value["before"],
        value["after"],
        value["source"],
        value.get("ts_ms") or message.written_ms,
        wires,
        message.key_wire.inside if message.key_wire else None,
        message.headers,
    )


def _added_fields(settings: Mapping[str, Any]) -> frozenset[str]:
    """The fields that flattening was told to add to every row.

    Source: Debezium documentation, "New Record State Extraction": `add.fields` and
    `delete.tombstone.handling.mode`.
    """
    added: set[str] = set()
    for name, value in settings.items():
        if name.endswith("add.fields"):
            added |= {"__" + part.strip().replace(".", "_") for part in str(value).split(",")}
        if name.endswith("handling.mode") and str(value).startswith("rewrite"):
            added.add("__deleted")
    return frozenset(added)


def _flat_event(message: Message, arrival: int, extra: frozenset[str]) -> Event | None:
    """A flattened record; None for the tombstone that follows a rewritten delete."""
    value = message.value
    told_by_header = message.headers.get("__op")
    if value is None and told_by_header != "d":
        return None
    row = {name: part for name, part in (value or {}).items() if name not in extra}
    aside = {name: part for name, part in (value or {}).items() if name in extra}
    source = {name.removeprefix("__source_"): part for name, part in aside.items()}
    source["table"] = aside.get("__table")
    deleted = value is None or str(aside.get("__deleted")) == "true"
    op = "d" if deleted else aside.get("__op") or told_by_header or "u"
    wires = message.value_wire.inside if message.value_wire and value else None
    key = {name: part for name, part in (message.key or {}).items() if not name.startswith("__dbz__")}
    return Event(
        message.place,
        arrival,
        op,
        key or None,
        None,
        None if deleted else row,
        source,
        aside.get("__source_ts_ms") or message.written_ms,
        {name: wire for name, wire in wires.items() if name not in extra} if wires else None,
        message.key_wire.inside if message.key_wire else None,
        message.headers,
    )
