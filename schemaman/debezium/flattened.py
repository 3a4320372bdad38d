"""A flattened row: the structure that its Connect schema gives it, without what flattening added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from schemaman.debezium.connector import DIALECTS
from schemaman.debezium.converters.connect import columns_of, fields_of
from schemaman.debezium.document import shown_by_row, shown_by_struct
from schemaman.debezium.envelope import seen_of
from schemaman.debezium.flattened_fields import (
    Additions,
    additions,
    identity,
    is_document,
    is_flattened,
    of_documents,
    physical_of,
)
from schemaman.debezium.inference import row_columns
from schemaman.debezium.key import key_fields, keyed
from schemaman.debezium.observation import (
    MANY_SHAPES,
    Observation,
    Run,
    Seen,
)
from schemaman.debezium.payload import Body, Node
from schemaman.debezium.raw_record import facts
from schemaman.debezium.records import Record
from schemaman.debezium.source_block import UNKNOWN
from schemaman.model.name_adjustment import restore_misread
from schemaman.model.schema import TableId, TableSchema


def is_row(record: Record, value: Body, prefix: str, *, counted: bool = False) -> bool:
    """Whether a value without an envelope is a row that was flattened; `counted`: the scanner says so."""
    if not isinstance(value.payload, dict) or not facts(value.payload, value.name).bare:
        return False
    # whoever counted what is in it has found that it is a document, by its key
    return counted or is_flattened(value.name, additions(value.payload, record.headers, prefix))


def observe_row(run: Run, stream: str, value: Body, key: Body | None, prefix: str) -> Observation:
    """What a run of flattened rows says of its table; also a delete that was rewritten shows the structure.

    Source: Debezium ExtractNewRecordState, whose value schema is that of the row with fields added behind it.

    Raises:
        UnreadableInput: the row has a schema that is not of the known form.
    """
    told = additions(value.payload, run.sample.headers, prefix)
    document = is_document(value.payload, None if key is None else key.payload, told)
    told = of_documents(told) if document else told
    many = run.shape == MANY_SHAPES
    table, weak = table_of(run, stream, value, key, told)
    restore = told.connector == "postgresql"
    seen: Seen | None = None
    schema: TableSchema | None = None
    if many:
        seen = run.seen
    elif document:
        row = {name: member for name, member in value.payload.items() if name not in told.names}
        seen = run.seen or seen_of(run, shown_by_struct(row, value.schema))
    elif value.schema is None:
        names = tuple(name for name in value.payload if name not in told.names)
        seen = run.seen or seen_of(run, shown_by_row({name: value.payload[name] for name in names}))
        read = restore_misread if restore else str
        schema = keyed(row_columns(names, seen, key_fields(key), read), key, read)
    else:
        schema = _schema(_own(value.schema, value, run, prefix), key, restore=restore)
    return Observation(
        table=table,
        witness="emitted" if seen is None else "inferred",
        action="image",
        connector=told.connector if told.connector in DIALECTS.names() else UNKNOWN,
        connector_version=_text(told.source.get("version")),
        first=run.first,
        last=run.last,
        count=run.count,
        snapshot=told.read,
        schema=schema,
        schema_name=value.name or None,
        interrupted=run.interrupted,
        weak=weak,
        seen=seen,
    )


def _own(schema: Node, value: Body, run: Run, prefix: str) -> dict[str, Any]:
    """The struct of a row without what was added to it."""
    fields = fields_of(schema)
    optional = frozenset(f["field"] for f in fields if f.get("optional") is True)
    added = additions(value.payload, run.sample.headers, prefix, optional=optional)
    return {**schema, "fields": [f for f in fields if f["field"] not in added.names]}


def table_of(run: Run, stream: str, value: Body, key: Body | None, added: Additions) -> tuple[TableId, bool]:
    """The table of flattened rows, and whether only names stand for its identity."""
    physical = None if key is None else physical_of(key.payload)
    parts, proven = identity(run.sample.topic, value.name, added, physical)
    server, database, schema, table = run.table or parts
    return TableId(server, database, schema, table, stream), not proven


def _schema(row: dict[str, Any], key: Body | None, *, restore: bool) -> TableSchema:
    read = restore_misread if restore else str
    columns = tuple(replace(c, name=read(c.name)) for c in columns_of(row))
    return keyed(columns, key, read)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
