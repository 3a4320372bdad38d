"""The forms in which a live connector writes: its settings, how a test reads it, and options of `ingest`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro

from schemaman.debezium.records import Record
from tests.live.connect import AVRO_CONVERTER
from tests.live.schema_registry import Registered

Envelope = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """`settings` of the connector; `envelope` of a record that has a value; `options` for `schemaman ingest`.

    A test reads records with eyes of its own: `envelope` uses nothing of schemaman.
    """

    settings: Mapping[str, str]
    envelope: Callable[[Record], Envelope]
    options: Callable[[Path], list[str]]


def json_with_schemas(registered: Registered | None = None) -> Form:
    """What the worker does by itself: each record carries its Connect schema; nothing is registered."""
    return Form({}, lambda record: json.loads(record.value or b"")["payload"], lambda folder: [])


def json_without_schemas(registered: Registered) -> Form:
    """Nothing but values: types and nullability can only be inferred."""
    converter = "org.apache.kafka.connect.json.JsonConverter"
    sides = ("key.converter", "value.converter")
    settings = dict.fromkeys(sides, converter) | {f"{s}.schemas.enable": "false" for s in sides}
    return Form(settings, lambda record: json.loads(record.value or b""), lambda folder: [])


def flattened(registered: Registered) -> Form:
    """JSON with schemas, rows flattened by ExtractNewRecordState, with what places them added."""
    told = ("schema", "table", "txId", "lsn", "ts_ms", "snapshot", "db", "name", "connector", "version")
    settings = {
        "transforms": "flat",
        "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.flat.add.fields": ",".join(["op", "ts_ms", *(f"source.{name}" for name in told)]),
        "transforms.flat.delete.tombstone.handling.mode": "rewrite",
    }

    def envelope(record: Record) -> Envelope:
        row = json.loads(record.value or b"")["payload"]
        return {"source": {name: row[f"__source_{name}"] for name in told}}

    return Form(settings, envelope, lambda folder: [])


def avro_with_ids(registered: Registered) -> Form:
    """Avro as Apicurio's converter frames it: a zero byte and a global id of eight bytes; by an export."""

    def envelope(record: Record) -> Envelope:
        value = record.value or b""
        return decoded(value[9:], registered.text(int.from_bytes(value[1:9], "big")))

    def options(folder: Path) -> list[str]:
        form = "apicurio-global-8"
        return ["--registry", _exported(registered, folder), "--format-key", form, "--format-value", form]

    return Form(_apicurio(registered, headers=False), envelope, options)


def avro_with_headers(registered: Registered) -> Form:
    """Avro whose global id lies in a header, so that the form proves itself; the live registry is asked."""

    def envelope(record: Record) -> Envelope:
        id = dict(record.headers)["apicurio.value.globalId"] or b""
        return decoded(record.value or b"", registered.text(int.from_bytes(id, "big")))

    settings = _apicurio(registered, headers=True)
    return Form(settings, envelope, lambda folder: ["--registry", registered.url])


def _apicurio(registered: Registered, *, headers: bool) -> dict[str, str]:
    """Source: Apicurio Registry documentation, "Configuring Kafka serializers/deserializers"."""
    settings = {
        "apicurio.registry.url": registered.url,
        "apicurio.registry.auto-register": "true",
        "apicurio.registry.headers.enabled": str(headers).lower(),
    }
    each = {
        f"{side}.converter.{name}": value for side in ("key", "value") for name, value in settings.items()
    }
    return each | {
        "key.converter": AVRO_CONVERTER,
        "value.converter": AVRO_CONVERTER,
        "schema.name.adjustment.mode": "avro",
        "field.name.adjustment.mode": "avro",
    }


def _exported(registered: Registered, folder: Path) -> str:
    path = folder / "registry.json"
    registered.export(path)
    return str(path)


def decoded(body: bytes, text: str | None) -> Envelope:
    """The value that Avro's bytes hold, by the text of its schema."""
    found = fastavro.schemaless_reader(io.BytesIO(body), fastavro.parse_schema(json.loads(text or "")))
    assert isinstance(found, dict)
    return found
