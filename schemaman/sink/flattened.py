"""Flattened rows: what was added to them tells operation, place and table.

Law: what flattening added is no cell; a row that it deleted is a delete, in each form that a release gives
it. Source: Debezium ExtractNewRecordState, `add.fields`, `delete.tombstone.handling.mode` and the older
`delete.handling.mode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from schemaman.debezium.converters.connect import fields_of
from schemaman.debezium.flattened_fields import (
    DELETED,
    Additions,
    Headers,
    additions,
    identity,
    is_document,
    physical_of,
)
from schemaman.errors import UnreadableInput
from schemaman.model.name_adjustment import restore_misread
from schemaman.model.schema import TableId
from schemaman.sink.payloads import Form
from schemaman.sink.row_change import Op

_OPS = frozenset("cudr")


@dataclass(frozen=True, slots=True)
class Flat:
    """A flattened row: its table, its operation, the members that flattening added, what they tell."""

    table: TableId
    op: Op
    added: Additions
    rewritten: bool

    def read_name(self, name: str) -> str:
        """A name as the source has it."""
        return restore_misread(name) if self.added.connector == "postgresql" else name


def flat(
    topic: str,
    payload: Mapping[str, Any],
    headers: Headers,
    form: Form,
    key: object,
    stream: str,
    prefix: str,
) -> Flat:
    """What a flattened row tells of itself.

    A row whose operation nobody told counts as an update, which writes it whether it is there or not.

    Raises:
        UnreadableInput: it is a document of MongoDB.
    """
    optional = None
    if form.schema is not None:
        optional = frozenset(f["field"] for f in fields_of(form.schema) if f.get("optional") is True)
    added = additions(payload, headers, prefix, optional=optional)
    if is_document(payload, key, added):
        raise UnreadableInput("a document of MongoDB: its values are not read as those of a table")
    rewritten = DELETED in added.names
    deleted = added.op == "d" or (rewritten and payload[DELETED] in ("true", True))
    op = "d" if deleted else added.op if added.op in _OPS else "r" if added.read else "u"
    return Flat(_table(topic, form, added, key, stream), cast(Op, op), added, rewritten)


def says_deleted(headers: Headers, form: Form | None, prefix: str) -> bool:
    """Whether a record without a value is itself a flattened delete: a header says so, or a row's schema."""
    return additions({}, headers, prefix).op == "d" or (form is not None and form.name.endswith(".Value"))


def deleted(topic: str, headers: Headers, form: Form | None, key: object, stream: str, prefix: str) -> Flat:
    """What a flattened delete tells of which only the key is left."""
    added = additions({}, headers, prefix)
    return Flat(_table(topic, form or Form(None, "json"), added, key, stream), "d", added, False)


def _table(topic: str, form: Form, added: Additions, key: object, stream: str) -> TableId:
    (server, database, schema, table), _ = identity(topic, form.name, added, physical_of(key))
    return TableId(server, database, schema, table, stream)
