"""The structure that a file holds: a snapshot, a column list, a schema in a language of `show`, a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from schemaman.compat.snapshots import from_text, is_snapshot
from schemaman.debezium.converters import avro, connect
from schemaman.errors import BadReference, UnreadableInput
from schemaman.languages.language import SCHEMA_LANGUAGES, SchemaLanguage
from schemaman.model.column_list import parse_columns
from schemaman.model.ddl import parse_type
from schemaman.model.schema import Column, TableSchema

Node = Mapping[str, Any]

_HINT = (
    "a file may hold a snapshot, a column list or Spark DDL, a schema of Avro, Connect, Spark, Delta or "
    "Iceberg, the JSON of show, or a record with its schema"
)
_ENVELOPE = {"before", "after", "op"}


def read_schema(text: str, where: str) -> TableSchema:
    """The structure in the text of a file that `where` names; its first character tells the language.

    Of a change event it is the row behind `after`; the key is known only from a record that was
    dumped with its key (`kcat -J`).

    Raises:
        UnreadableInput: the text is nothing of that kind.
        BadConfiguration: it is a snapshot, and a wrong one.
    """
    text = text.strip()
    try:
        if not text:
            raise UnreadableInput("nothing in it")
        if not text.startswith("{"):
            return parse_columns(text)
        told = json.loads(text)
        if is_snapshot(told):
            return from_text(text, where).schema
        if isinstance(told, dict) and (notation := _find_language(told)) is not None:
            return notation.read(text)
        if isinstance(told, dict) and {"schema_version", "columns"} <= told.keys():
            return _read_shown(told)
        value, key = _split_nodes(told)
        columns = connect.read_columns(_find_row(value))
        own = {c.emitted_name: c.name for c in columns}
        names = [f["field"] for f in connect.read_fields(key)] if key else []
        return TableSchema(columns, tuple(own.get(name, name) for name in names))
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{where}: not JSON: {error}", hint=_HINT) from error
    except (BadReference, UnreadableInput) as error:
        # Of a file its name is told, not its whole text.
        why = error.message.removeprefix(f"{text!r}: ")
        raise UnreadableInput(f"{where}: {why}", hint=_HINT) from error


def _find_language(told: Node) -> SchemaLanguage | None:
    """The language of a struct whose fields are those of a table format; None for a Connect struct."""
    fields = told.get("fields")
    first = fields[0] if isinstance(fields, list) and fields else None
    if told.get("type") != "struct" or not isinstance(first, dict) or "field" in first:
        return None
    language = "spark" if "nullable" in first else "iceberg" if "required" in first else None
    return None if language is None else SCHEMA_LANGUAGES.get(language)


def _read_shown(told: Node) -> TableSchema:
    """The structure in a document of `show`."""
    try:
        members = ("default", "comment", "source_type", "emitted_name", "id")
        columns = tuple(
            Column(c["name"], parse_type(c["type"]), c["nullable"], **{m: c.get(m) for m in members})
            for c in told["columns"]
        )
        return TableSchema(columns, tuple(told.get("key", ())), told.get("comment"))
    except (KeyError, TypeError, AttributeError) as fault:
        raise UnreadableInput(f"no structure as `show` prints it: {fault!r}") from fault


def _split_nodes(told: Any) -> tuple[Node, Node | None]:
    """The Connect nodes of a value and of its key, if there is one."""
    if not isinstance(told, dict):
        raise UnreadableInput("no JSON object")
    if told.get("type") == "record":
        return avro.to_connect(json.dumps(told)), None
    if told.get("type") == "struct":
        return told, None
    if isinstance(told.get("schema"), dict):
        return told["schema"], None
    if {"topic", "payload"} <= told.keys() and isinstance(told["payload"], str):
        key = told.get("key")
        return _split_nodes(json.loads(told["payload"]))[0], _split_nodes(json.loads(key))[0] if key else None
    raise UnreadableInput("no schema in it")


def _find_row(node: Node) -> Node:
    fields = {field["field"]: field for field in connect.read_fields(node)}
    return fields["after"] if fields.keys() >= _ENVELOPE else node
