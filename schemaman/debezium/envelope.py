"""A data event: the structure that its Connect schema gives the row, and the table it is of."""

from __future__ import annotations

from dataclasses import replace

from schemaman.debezium.converters.connect import columns_of, fields_of
from schemaman.debezium.document import is_document_schema, row_of, shown_by_document, shown_by_row
from schemaman.debezium.extract_schema import described
from schemaman.debezium.inference import DOCUMENTS, Shown, Sightings, row_columns
from schemaman.debezium.json_fields import text
from schemaman.debezium.key import key_fields, keyed
from schemaman.debezium.observation import MANY_SHAPES, Observation, Run, Seen
from schemaman.debezium.payload import Body, Node
from schemaman.debezium.source_block import Origin, origin_of
from schemaman.errors import UnreadableInput
from schemaman.model.schema import TableSchema


def observe(run: Run, stream: str, value: Body, key: Body | None) -> Observation:
    """What a run of data events says of its table: an image of the row, or that it was truncated.

    Columns carry the database's own names where the wire tells them, and their field names as
    `emitted_name`. Source: Debezium Envelope; `before` and `after` share one schema.

    Raises:
        UnreadableInput: the event has no schema, or is not of the known form.
    """
    origin = origin_of(value.payload)
    truncated = value.payload.get("op") == "t"
    row = None if truncated else _row(value)
    return Observation(
        table=origin.table_id(stream),
        witness="emitted",
        action="truncate" if truncated else "image",
        connector=origin.connector,
        connector_version=origin.version,
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=origin.snapshot,
        schema=None if row is None else _schema(row, key, origin),
        schema_name=None if row is None else text(row, "name"),
        interrupted=run.interrupted,
    )


def _row(value: Body) -> Node:
    """The node of the row's struct."""
    rows = {f["field"]: f for f in fields_of(value.schema or {}) if f["field"] in ("before", "after")}
    row = rows.get("after", rows.get("before"))
    if row is None or row.get("type") != "struct":
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    return row


def _schema(row: Node, key: Body | None, origin: Origin) -> TableSchema:
    columns = tuple(replace(c, name=origin.read_name(c.name)) for c in columns_of(row))
    return keyed(columns, key, origin.read_name, origin.server)


def tells_no_structure(value: Body) -> bool:
    """Whether an event comes without a schema of its row."""
    return value.schema is None or is_document_schema(value.schema)


def observe_inferred(run: Run, stream: str, value: Body, key: Body | None) -> Observation:
    """What a run of such events says of its table: what was seen, and of rows the names of the columns.

    Raises:
        UnreadableInput: the event is not of the known form.
    """
    origin = origin_of(value.payload)
    truncated = value.payload.get("op") == "t"
    documents = origin.connector == DOCUMENTS
    if value.schema is not None and not documents:
        raise UnreadableInput("the event has no row: neither `after` nor `before` is a struct")
    row = None if documents or truncated else row_of(value.payload)
    seen = run.seen or seen_of(run, _shown(value.payload, row))
    counts = documents or row is not None
    if run.shape == MANY_SHAPES:
        row = None
    return Observation(
        table=origin.table_id(stream),
        witness="inferred",
        action="truncate" if truncated else "image",
        connector=origin.connector,
        connector_version=origin.version,
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=origin.snapshot,
        schema=None if row is None else described(row_schema(row, seen, key, origin), value.payload),
        interrupted=run.interrupted,
        seen=seen if counts else None,
    )


def row_schema(row: Node, seen: Seen, key: Body | None, origin: Origin) -> TableSchema:
    """The names of a row in their order, with the JSON types that were seen; the key is the record's."""
    columns = row_columns(tuple(row), seen, key_fields(key), origin.read_name)
    return keyed(columns, key, origin.read_name, origin.server)


def seen_of(run: Run, shown: frozenset[Shown]) -> Seen:
    """What the first record of a run shows, where nobody has counted."""
    sightings = Sightings()
    sightings.see(shown, run.first)
    return sightings.seen()


def _shown(payload: dict[str, object], row: dict[str, object] | None) -> frozenset[Shown]:
    try:
        return shown_by_document(payload) if row is None else shown_by_row(row)
    except ValueError as fault:
        raise UnreadableInput(str(fault)) from None
