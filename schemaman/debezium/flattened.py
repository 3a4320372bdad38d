"""A flattened row: the structure that its Connect schema gives it, without what flattening added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemaman.debezium.connector import CONNECTORS
from schemaman.debezium.converters.connect import read_columns, read_fields
from schemaman.debezium.document import collect_row_kinds, collect_struct_kinds
from schemaman.debezium.envelope import infer_fields
from schemaman.debezium.flattened_fields import (
    Additions,
    identify_parts,
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
from schemaman.debezium.raw_record import read_facts
from schemaman.debezium.records import Record
from schemaman.debezium.source_block import UNKNOWN
from schemaman.model.name_adjustment import restore_misread_name
from schemaman.model.schema import TableId, TableSchema


def is_row(record: Record, value: Body, prefix: str, *, counted: bool = False) -> bool:
    """Whether a value without an envelope is a row that was flattened; `counted`: the scanner says so."""
    if not isinstance(value.payload, dict) or not read_facts(value.payload, value.name).bare:
        return False
    # whoever counted what is in it has found that it is a document, by its key
    return counted or is_flattened(value.name, read_additions(value.payload, record.headers, prefix))


def observe_row(run: SchemaRun, stream: str, value: Body, key: Body | None, prefix: str) -> Observation:
    """What a run of flattened rows says of its table; also a delete that was rewritten shows the structure.

    Source: Debezium ExtractNewRecordState, whose value schema is that of the row with fields added behind it.

    Raises:
        UnreadableInput: the row has a schema that is not of the known form.
    """
    told = read_additions(value.payload, run.sample.headers, prefix)
    document = is_document(value.payload, None if key is None else key.payload, told)
    told = mark_as_document(told) if document else told
    many = run.shape == MANY_SHAPES
    table, weak = identify_table(run, stream, value, key, told)
    restore = told.connector == "postgresql"
    seen: InferredFields | None = None
    schema: TableSchema | None = None
    if many:
        seen = run.inferred
    elif document:
        row = {name: member for name, member in value.payload.items() if name not in told.names}
        seen = run.inferred or infer_fields(run, collect_struct_kinds(row, value.schema))
    elif value.schema is None:
        names = tuple(name for name in value.payload if name not in told.names)
        seen = run.inferred or infer_fields(
            run, collect_row_kinds({name: value.payload[name] for name in names})
        )
        read = restore_misread_name if restore else str
        schema = add_key(infer_columns(names, seen, list_key_fields(key), read), key, read)
    else:
        schema = _read_schema(_select_own_fields(value.schema, value, run, prefix), key, restore=restore)
    return Observation(
        table=table,
        evidence="emitted" if seen is None else "inferred",
        action="image",
        connector=told.connector if told.connector in CONNECTORS.names() else UNKNOWN,
        connector_version=_read_text(told.source.get("version")),
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=told.is_snapshot,
        schema=schema,
        schema_name=value.name or None,
        interrupted=run.interrupted,
        weak=weak,
        inferred=seen,
    )


def _select_own_fields(schema: Node, value: Body, run: SchemaRun, prefix: str) -> dict[str, Any]:
    """The struct of a row without what was added to it."""
    fields = read_fields(schema)
    optional = frozenset(f["field"] for f in fields if f.get("optional") is True)
    added = read_additions(value.payload, run.sample.headers, prefix, optional=optional)
    return {**schema, "fields": [f for f in fields if f["field"] not in added.names]}


def identify_table(
    run: SchemaRun, stream: str, value: Body, key: Body | None, added: Additions
) -> tuple[TableId, bool]:
    """The table of flattened rows, and whether only names stand for its identity."""
    physical = None if key is None else read_physical_table(key.payload)
    parts, proven = identify_parts(run.sample.topic, value.name, added, physical)
    server, database, schema, table = run.table or parts
    return TableId(server, database, schema, table, stream), not proven


def _read_schema(row: dict[str, Any], key: Body | None, *, restore: bool) -> TableSchema:
    read = restore_misread_name if restore else str
    columns = tuple(replace(c, name=read(c.name)) for c in read_columns(row))
    return add_key(columns, key, read)


def _read_text(value: object) -> str:
    return value if isinstance(value, str) else ""
