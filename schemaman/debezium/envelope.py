"""Data events: the table of an event, and the schema of its row."""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.connector import find_connector
from schemaman.debezium.converters.connect import read_columns, read_fields
from schemaman.debezium.document import (
    collect_document_kinds,
    collect_row_kinds,
    find_row,
    is_document_schema,
)
from schemaman.debezium.event_shapes import RestoredEvent
from schemaman.debezium.extract_schema import add_source_columns
from schemaman.debezium.inference import FieldCounter, FieldKind, infer_columns
from schemaman.debezium.json_fields import read_text
from schemaman.debezium.key import add_key, list_key_fields
from schemaman.debezium.observation import (
    CONNECTOR_UNKNOWN,
    MANY_SHAPES,
    TABLE_UNNAMED,
    WRAPPED_VALUES,
    InferredFields,
    Note,
    Observation,
    SchemaRun,
)
from schemaman.debezium.payload import Body, Node
from schemaman.debezium.source_block import Origin, read_origin
from schemaman.errors import UnreadableInput
from schemaman.model.schema import TableSchema


def observe_events(run: SchemaRun, stream: str, value: Body, key: Body | None) -> Observation:
    """Observe the table of a run of data events: an image of the row, or a truncation.

    Columns have the database's own names if the event has them, and their field names as `emitted_name`.
    Source: Debezium Envelope; `before` and `after` share one schema.

    Raises:
        UnreadableInput: the event has no schema, or is not of the known form.
    """
    origin = read_origin(value.payload)
    truncated = value.payload.get("op") == "t"
    row = None if truncated else _find_row(value)
    return Observation(
        table=origin.table_id(stream),
        evidence="emitted",
        action="truncate" if truncated else "image",
        connector=origin.connector,
        connector_version=origin.version,
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=origin.snapshot,
        schema=None if row is None else _read_schema(row, key, origin),
        schema_name=None if row is None else read_text(row, "name"),
        interrupted=run.interrupted,
        writer=origin.writer,
    )


def note_shape(
    observed: Observation, stated_connector: str, restored: RestoredEvent | None
) -> tuple[Note, ...]:
    """Note what the shape of a table's events does not show: positions, identity, or types."""
    found: list[tuple[str, str]] = []
    if not find_connector(observed.connector).is_known:
        what = f"the connector {stated_connector!r} is not known" if stated_connector else _NO_CONNECTOR
        weak = f"; {observed.table} is identified only by names of topic and schemas" if observed.weak else ""
        message = f"{what}: positions in its log are not read, and records are ordered by offset{weak}"
        found.append((CONNECTOR_UNKNOWN, message))
    elif observed.weak:
        message = f"the source block names no table: {observed.table} is identified only by names of topic"
        found.append((TABLE_UNNAMED, f"{message} and schemas"))
    if restored is not None and restored.avro_json:
        found.append((WRAPPED_VALUES, _AVRO_JSON))
    if restored is not None and restored.cells:
        found.append((WRAPPED_VALUES, _CELLS))
    first = observed.first
    place = (observed.table.stream, first.topic, first.partition, first.offset)
    return tuple(Note(*place, kind, text, observed.table, observed.count) for kind, text in found)


_NO_CONNECTOR = "the records name no connector"
_AVRO_JSON = (
    "the records are Avro in its JSON encoding, which has no schema: types are inferred. Dump the bytes "
    "instead (kcat without -s, and --registry) for exact types and for writing rows"
)
_CELLS = (
    "each value is wrapped in a cell, so that NOT NULL of columns is not visible; the columns have the types "
    "of the values in the cells"
)


def _find_row(value: Body) -> Node:
    """Find the Connect schema of the row."""
    rows = {f["field"]: f for f in read_fields(value.schema or {}) if f["field"] in ("before", "after")}
    row = rows.get("after", rows.get("before"))
    if row is None or row.get("type") != "struct":
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    return row


def _read_schema(row: Node, key: Body | None, origin: Origin) -> TableSchema:
    named = ((column, origin.read_name(column.name)) for column in read_columns(row))
    columns = tuple(c if name == c.name else replace(c, name=name) for c, name in named)  # few names differ
    return add_key(columns, key, origin.read_name, origin.server)


def is_schemaless(value: Body) -> bool:
    """Return whether an event has no schema of its row."""
    return value.schema is None or is_document_schema(value.schema)


def observe_schemaless_events(run: SchemaRun, stream: str, value: Body, key: Body | None) -> Observation:
    """Observe the table of a run of events without schemas: inferred fields, and the column names of rows.

    Raises:
        UnreadableInput: the event is not of the known form.
    """
    origin = read_origin(value.payload)
    truncated = value.payload.get("op") == "t"
    documents = origin.connector_plugin.is_document_store
    if value.schema is not None and not documents:
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    row = None if documents or truncated else find_row(value.payload)
    inferred = run.inferred or infer_fields(run, _collect_kinds(value.payload, row))
    counts = documents or row is not None
    if run.shape == MANY_SHAPES:
        row = None
    return Observation(
        table=origin.table_id(stream),
        evidence="inferred",
        action="truncate" if truncated else "image",
        connector=origin.connector,
        connector_version=origin.version,
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=origin.snapshot,
        schema=None
        if row is None
        else add_source_columns(make_row_schema(row, inferred, key, origin), value.payload),
        interrupted=run.interrupted,
        writer=origin.writer,
        inferred=inferred if counts else None,
    )


def make_row_schema(row: Node, inferred: InferredFields, key: Body | None, origin: Origin) -> TableSchema:
    """Make the schema of a row: its names in their order, the inferred JSON types, the key of the record."""
    columns = infer_columns(tuple(row), inferred, list_key_fields(key), origin.read_name)
    return add_key(columns, key, origin.read_name, origin.server)


def infer_fields(run: SchemaRun, shown: frozenset[FieldKind]) -> InferredFields:
    """Infer the fields of the first record of a run, if the scanner has not counted those of all records."""
    sightings = FieldCounter()
    sightings.count_record(shown, run.first, run.sample)
    return sightings.get_fields()


def _collect_kinds(payload: dict[str, object], row: dict[str, object] | None) -> frozenset[FieldKind]:
    try:
        return collect_document_kinds(payload) if row is None else collect_row_kinds(row)
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None
