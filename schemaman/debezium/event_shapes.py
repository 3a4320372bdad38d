"""Change events in other shapes than that of Debezium's envelope, and their restoration to it.

Writers of other systems, transformations and dumps leave out the source block, wrap values, or put a record
into a text. Law: restoration adds no fact. Parts of the source that no record states come from the names of
topic and schemas, and `RestoredEvent` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from schemaman.debezium.avro_json import is_avro_json, unwrap_unions
from schemaman.debezium.cloud_event import wrap_schema
from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.flattened_fields import Additions, KeyNames
from schemaman.debezium.raw_record import JsonObject, parse_json
from schemaman.debezium.table_identity import identify_parts
from schemaman.errors import UnreadableInput

HISTORY_RECORD = "historyRecord"
"""The field that holds a record of the schema history as text. Source: Flink CDC SchemaChangeValue."""

_OPS = frozenset("crudt")
_IMAGES = ("before", "after")
_ENVELOPE_FIELDS = frozenset(
    {"before", "after", "op", "source", "transaction", "ts_ms", "ts_us", "ts_ns", "updateDescription",
     "patch", "filter", "key", "sourceSchema"}
)  # fmt: skip
"""The fields of envelopes. Source: Debezium Envelope; CockroachDB's enriched changefeeds have `key`, too."""

_SCHEMA_REFERENCE = frozenset({"schemaId", "payload"})
"""The fields of a record whose schema is in a registry, and no Avro schema.

Source: Apicurio ExtJsonConverter, PrettyFormatStrategy.
"""

_SOURCE_NAMES = {
    "name": ("name", "cluster"),
    "db": ("db", "keyspace", "database_name", "keyspace_name"),
    "schema": ("schema", "schema_name"),
    "table": ("table", "collection", "table_name"),
}
"""The names of the parts of a table's identity in source blocks.

Source: Debezium's connectors; Debezium's Cassandra connector (`cluster`, `keyspace`); ScyllaDB's connector
(`keyspace_name`, `table_name`); CockroachDB's enriched changefeeds (`database_name`, `schema_name`).
"""

_CELLS = (frozenset({"value", "set"}), frozenset({"value", "set", "deletion_ts"}), frozenset({"value"}))
"""The members of a cell around the value of a column.

Source: YugabyteDB's connector (`value`, `set`), Debezium's Cassandra connector (and `deletion_ts`),
ScyllaDB's connector (`value`).
"""


@dataclass(frozen=True, slots=True)
class RestoredEvent:
    """A payload in the shape of Debezium's envelope, or that of a schema change.

    `weak`: the identity of its table comes from names alone. `avro_json`: it had Avro's JSON encoding.
    `cells`: its row had a cell around each value. `declares`: it is a schema change, which has no schema.
    """

    payload: JsonObject
    weak: bool = False
    avro_json: bool = False
    cells: bool = False
    declares: bool = False

    def restore_schema(self, schema: Mapping[str, object] | None) -> Mapping[str, object] | None:
        """Restore the Connect schema that belongs to the payload."""
        if schema is None or self.declares:
            return None
        restored = _unwrap_row_schemas(schema) if self.cells else schema
        fields = schema.get("fields")
        named = {f.get("field") for f in fields if isinstance(f, dict)} if isinstance(fields, list) else set()
        return (
            restored if {"source", "op"} <= named else wrap_schema(_drop_fields(restored, ("source", "op")))
        )


def restore_event(
    payload: object,
    topic: str,
    schema_name: str | None,
    read_key_names: Callable[[], KeyNames],
) -> RestoredEvent | None:
    """Restore a change event of another shape; None for Debezium's own shape and for any other payload.

    `schema_name` is the name of the value's schema, None without a schema. `read_key_names` is called if the
    record does not name its table.

    Raises:
        UnreadableInput: the text of a history record is no JSON object.
    """
    if not isinstance(payload, dict):
        return None
    if schema_name is None and payload.keys() == _SCHEMA_REFERENCE and isinstance(payload["payload"], dict):
        inner = payload["payload"]
        return restore_event(inner, topic, None, read_key_names) or RestoredEvent(inner)
    if isinstance(payload.get(HISTORY_RECORD), str):
        return _restore_schema_change(payload)
    avro_json = schema_name is None and is_avro_json(payload)
    if avro_json:
        payload = unwrap_unions(payload)
    event = _restore_envelope(payload, named=(schema_name or "").endswith(".Envelope"))
    if event is None:
        return RestoredEvent(payload, avro_json=True) if avro_json else None
    source, weak = _complete_source(event["source"], topic, schema_name or "", read_key_names)
    cells = not is_known_connector(source.get("connector")) and _has_cells(event)
    if not avro_json and not cells and event is payload and source is payload["source"]:
        return None
    event = {**event, "source": source}
    return RestoredEvent(_unwrap_rows(event) if cells else event, weak, avro_json, cells)


def is_known_connector(name: object) -> bool:
    """Return whether a source block's connector is one that schemaman knows."""
    return isinstance(name, str) and name in CONNECTORS


def names_table(source: Mapping[str, object]) -> bool:
    """Return whether a source block has the parts of a table's identity under Debezium's names."""
    named = isinstance(source.get("table"), str) or isinstance(source.get("collection"), str)
    return named and isinstance(source.get("name"), str)


def _restore_schema_change(payload: JsonObject) -> RestoredEvent:
    """Restore a schema change that is a text in a field beside the source block."""
    try:
        change = parse_json(str(payload[HISTORY_RECORD]).encode(errors="surrogatepass"))
    except ValueError as fault:
        raise UnreadableInput(f"{HISTORY_RECORD}: {fault}") from None
    if not isinstance(change, dict):
        raise UnreadableInput(f"{HISTORY_RECORD}: no JSON object")
    facts = {name: change.get(name) for name in ("databaseName", "schemaName", "ddl")}
    found = {"tableChanges": change["tableChanges"]} if "tableChanges" in change else {}
    return RestoredEvent({"source": payload.get("source"), **facts, **found}, declares=True)


def _restore_envelope(payload: JsonObject, *, named: bool) -> dict[str, Any] | None:
    """Return an event with an operation and a source block, if the payload is an event of a row.

    `named`: its schema has the name of an envelope, so that it may have other members, too.
    """
    op, source = payload.get("op"), payload.get("source")
    if isinstance(source, dict):
        return payload if isinstance(op, str) and op in _OPS else _add_operation(payload)
    if source is not None or not (named or payload.keys() <= _ENVELOPE_FIELDS):
        return None
    if not isinstance(op, str):
        found = _add_operation(payload)
        return None if found is None else {**found, "source": {}}
    images = [payload.get(name) for name in _IMAGES]
    has_row = any(isinstance(image, dict) for image in images)
    sound = all(image is None or isinstance(image, dict) for image in images)
    if op not in _OPS or not sound or not any(name in payload for name in _IMAGES):
        return None
    return {**payload, "source": {}} if has_row or op in ("d", "t") else None


def _add_operation(payload: JsonObject) -> JsonObject | None:
    """Add the operation that the two images of a row show to an event without one."""
    if "op" in payload or not payload.keys() <= _ENVELOPE_FIELDS or not payload.keys() >= set(_IMAGES):
        return None
    before, after = (payload[name] for name in _IMAGES)
    if not all(image is None or isinstance(image, dict) for image in (before, after)):
        return None
    if before is None and after is None:
        return None
    return {**payload, "op": "d" if after is None else "c" if before is None else "u"}


def _complete_source(
    source: JsonObject, topic: str, schema_name: str, read_key_names: Callable[[], KeyNames]
) -> tuple[JsonObject, bool]:
    """Complete a source block, and return whether the identity of the table comes from names alone.

    A block stays as it is if it is damaged: a known connector always names its server, and names are texts.
    """
    stated = {name: source[name] for names in _SOURCE_NAMES.values() for name in names if name in source}
    named = isinstance(source.get("name"), str)
    if names_table(source) or (is_known_connector(source.get("connector")) and not named):
        return source, False
    if any(text is not None and not isinstance(text, str) for text in stated.values()):
        return source, False
    parts = {part: _find_text(source, names) for part, names in _SOURCE_NAMES.items()}
    if parts["table"]:
        return {**source, **parts}, False
    added = Additions(source={name: text for name, text in parts.items() if text})
    name = f"{schema_name.removesuffix('.Envelope')}.Value" if schema_name.endswith(".Envelope") else ""
    (server, database, schema, table), _ = identify_parts(topic, name, added, read_key_names())
    return {**source, "name": server, "db": database, "schema": schema, "table": table}, True


def _find_text(source: JsonObject, names: tuple[str, ...]) -> str:
    return next((text for name in names if isinstance(text := source.get(name), str) and text), "")


def _has_cells(event: Mapping[str, Any]) -> bool:
    """Return whether a row has a cell around a value, and nothing but cells and plain values."""
    rows = [row for row in map(event.get, _IMAGES) if isinstance(row, dict)]
    structs = [value for row in rows for value in row.values() if isinstance(value, dict)]
    return bool(structs) and all(value.keys() in _CELLS for value in structs)


def _unwrap_rows(event: Mapping[str, Any]) -> JsonObject:
    rows = {name: event[name] for name in _IMAGES if isinstance(event.get(name), dict)}
    return {**event, **{name: _unwrap_cells(row) for name, row in rows.items()}}


def _unwrap_cells(row: Mapping[str, object]) -> JsonObject:
    return {name: cell.get("value") if isinstance(cell, dict) else cell for name, cell in row.items()}


def _unwrap_row_schemas(schema: Mapping[str, object]) -> Mapping[str, object]:
    fields = schema.get("fields")
    nodes = fields if isinstance(fields, list) else []
    return {
        **schema,
        "fields": [
            unwrap_cell_schemas(node) if isinstance(node, dict) and node.get("field") in _IMAGES else node
            for node in nodes
        ],
    }


def _drop_fields(schema: Mapping[str, object], names: tuple[str, ...]) -> Mapping[str, object]:
    fields = schema.get("fields")
    nodes = fields if isinstance(fields, list) else []
    return {**schema, "fields": [n for n in nodes if not (isinstance(n, dict) and n.get("field") in names)]}


def unwrap_cell_schemas(struct: Mapping[str, object]) -> JsonObject:
    """Remove the cells from the schema of a row or of a key; each column has the schema of its value."""
    fields = struct.get("fields")
    nodes = fields if isinstance(fields, list) else []
    return {**struct, "fields": [_unwrap_cell_schema(node) for node in nodes]}


def _unwrap_cell_schema(node: object) -> object:
    if not isinstance(node, dict) or node.get("type") != "struct" or not isinstance(node.get("fields"), list):
        return node
    inner = {f.get("field"): f for f in node["fields"] if isinstance(f, dict)}
    return {**inner["value"], "field": node.get("field")} if frozenset(inner) in _CELLS else node
