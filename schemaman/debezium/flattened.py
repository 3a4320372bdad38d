"""Flattened rows: the table and the schema of a row, without the fields that flattening added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemaman.debezium.connector import Connector, find_connector
from schemaman.debezium.converters.connect import read_columns, read_fields
from schemaman.debezium.document import collect_row_kinds, collect_struct_kinds
from schemaman.debezium.envelope import infer_fields
from schemaman.debezium.flattened_fields import (
    NO_KEY_NAMES,
    Additions,
    KeyNames,
    is_document,
    is_flattened,
    mark_as_document,
    read_additions,
    read_physical_table,
)
from schemaman.debezium.inference import infer_columns
from schemaman.debezium.key import add_key, list_key_fields
from schemaman.debezium.observation import (
    MANY_SHAPES,
    InferredFields,
    Observation,
    SchemaRun,
)
from schemaman.debezium.payload import Body, Node
from schemaman.debezium.raw_record import read_facts, read_writer
from schemaman.debezium.records import Record
from schemaman.debezium.table_identity import identify_parts
from schemaman.debezium.wire_format import Forms
from schemaman.model.schema import TableId, TableSchema


def is_row(
    record: Record, value: Body, forms: Forms, key: KeyNames = NO_KEY_NAMES, *, counted: bool = False
) -> bool:
    """Return whether a value without an envelope is a flattened row; `counted`: the scanner found so."""
    if not isinstance(value.payload, dict) or not read_facts(value.payload, value.name).bare:
        return False
    # the scanner counts the fields of documents alone, which it recognises by their key
    added = read_additions(value.payload, record.headers, forms.added)
    name = None if value.schema is None else value.name
    return counted or is_flattened(record.topic, name, value.payload, added, key, forms.flattened)


def read_key_names(key: Body | None) -> KeyNames:
    """Read the names in a key: the table that routing wrote into it, and the name of its schema."""
    return NO_KEY_NAMES if key is None else KeyNames(read_physical_table(key.payload), key.name)


def observe_row(run: SchemaRun, stream: str, value: Body, key: Body | None, prefix: str) -> Observation:
    """Observe the table of a run of flattened rows; a rewritten delete has the schema of the row, too.

    Source: Debezium ExtractNewRecordState; its value schema is that of the row, with added fields behind it.

    Raises:
        UnreadableInput: the row has a schema that is not of the known form.
    """
    added = read_additions(value.payload, run.sample.headers, prefix)
    document = is_document(value.payload, None if key is None else key.payload, added)
    added = mark_as_document(added) if document else added
    many = run.shape == MANY_SHAPES
    table, weak = identify_table(run, stream, value, key, added)
    connector = find_connector(added.connector)
    inferred: InferredFields | None = None
    schema: TableSchema | None = None
    if many:
        inferred = run.inferred
    elif document:
        row = {name: field for name, field in value.payload.items() if name not in added.names}
        inferred = run.inferred or infer_fields(run, collect_struct_kinds(row, value.schema))
    elif value.schema is None:
        names = tuple(name for name in value.payload if name not in added.names)
        inferred = run.inferred or infer_fields(
            run, collect_row_kinds({name: value.payload[name] for name in names})
        )
        columns = infer_columns(names, inferred, list_key_fields(key), connector.read_name)
        schema = add_key(columns, key, connector.read_name)
    else:
        schema = _read_schema(_select_own_fields(value.schema, value, run, prefix), key, connector)
    return Observation(
        table=table,
        evidence="emitted" if inferred is None else "inferred",
        action="image",
        connector=connector.name,
        connector_version=_read_text(added.source.get("version")),
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=added.is_snapshot,
        schema=schema,
        schema_name=value.name or None,
        interrupted=run.interrupted,
        weak=weak,
        inferred=inferred,
        writer="".join(read_writer(added.source)),
    )


def _select_own_fields(schema: Node, value: Body, run: SchemaRun, prefix: str) -> dict[str, Any]:
    """Select the fields of a row's schema that flattening did not add."""
    fields = read_fields(schema)
    optional = frozenset(f["field"] for f in fields if f.get("optional") is True)
    added = read_additions(value.payload, run.sample.headers, prefix, optional=optional)
    return {**schema, "fields": [f for f in fields if f["field"] not in added.names]}


def identify_table(
    run: SchemaRun, stream: str, value: Body, key: Body | None, added: Additions
) -> tuple[TableId, bool]:
    """Identify the table of flattened rows, and return whether the identity comes from names alone."""
    parts, proven = identify_parts(run.sample.topic, value.name, added, read_key_names(key))
    server, database, schema, table = run.table[:4] or parts
    return TableId(server, database, schema, table, stream), not proven


def _read_schema(row: dict[str, Any], key: Body | None, connector: Connector) -> TableSchema:
    columns = tuple(replace(c, name=connector.read_name(c.name)) for c in read_columns(row))
    return add_key(columns, key, connector.read_name)


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else ""
