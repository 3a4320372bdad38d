"""Flattened rows: their added fields give operation, position and table.

Law: an added field is no cell. A deleted row is a delete in every form that a release gives it. Source:
Debezium ExtractNewRecordState, `add.fields`, `delete.tombstone.handling.mode` and the older
`delete.handling.mode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from schemaman.debezium.connector import find_connector
from schemaman.debezium.converters.connect import read_fields
from schemaman.debezium.flattened_fields import (
    DELETED_FIELD,
    Additions,
    Headers,
    KeyNames,
    is_document,
    read_additions,
)
from schemaman.debezium.table_identity import identify_parts
from schemaman.errors import UnreadableInput
from schemaman.model.schema import TableId
from schemaman.sink.payloads import BodySchema
from schemaman.sink.row_change import Op

_OPS = frozenset("cudr")


@dataclass(frozen=True, slots=True)
class FlattenedRow:
    """A flattened row: its table, its operation, and the fields that flattening added."""

    table: TableId
    op: Op
    additions: Additions
    is_rewritten: bool

    def restore_name(self, name: str) -> str:
        """Return the source's form of a name."""
        return find_connector(self.additions.connector).read_name(name)


def read_flattened(
    topic: str,
    payload: Mapping[str, Any],
    headers: Headers,
    form: BodySchema,
    key: object,
    key_names: KeyNames,
    stream: str,
    prefix: str,
) -> FlattenedRow:
    """Read a flattened row with the payload of its key.

    A row without an operation counts as an update, which also writes a row that does not exist yet.

    Raises:
        UnreadableInput: it is a document of MongoDB.
    """
    optional = None
    if form.schema is not None:
        optional = frozenset(f["field"] for f in read_fields(form.schema) if f.get("optional") is True)
    added = read_additions(payload, headers, prefix, optional=optional)
    if is_document(payload, key, added):
        raise UnreadableInput("a MongoDB document, which cannot be read as a row of a table")
    rewritten = DELETED_FIELD in added.names
    deleted = added.op == "d" or (rewritten and payload[DELETED_FIELD] in ("true", True))
    op = "d" if deleted else added.op if added.op in _OPS else "r" if added.is_snapshot else "u"
    return FlattenedRow(
        _identify_table(topic, form, added, key_names, stream), cast(Op, op), added, rewritten
    )


def is_flattened_delete(headers: Headers, form: BodySchema | None, prefix: str) -> bool:
    """Whether a record without a value is a flattened delete: a header, or the schema of a row, shows it."""
    return read_additions({}, headers, prefix).op == "d" or (
        form is not None and form.name.endswith(".Value")
    )


def read_flattened_delete(
    topic: str, headers: Headers, form: BodySchema | None, key_names: KeyNames, stream: str, prefix: str
) -> FlattenedRow:
    """Read a flattened delete that has only its key."""
    added = read_additions({}, headers, prefix)
    return FlattenedRow(
        _identify_table(topic, form or BodySchema(None, "json"), added, key_names, stream), "d", added, False
    )


def _identify_table(topic: str, form: BodySchema, added: Additions, key: KeyNames, stream: str) -> TableId:
    (server, database, schema, table), _ = identify_parts(topic, form.name, added, key)
    return TableId(server, database, schema, table, stream)
