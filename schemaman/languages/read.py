"""Reads the structure in a file: a snapshot, a column list, a schema in a language of `show`, or a record."""

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
    """Reads the structure in the text of a file; `where` names the file. The text itself shows its language.

    The structure of a change event is the row of `after`. Its key is read only from a record that was
    dumped with its key (`kcat -J`).

    Raises:
        UnreadableInput: the text is of no known kind.
        BadConfiguration: the text is a damaged snapshot.
    """
    text = text.strip()
    try:
        if not text:
            raise UnreadableInput("the file is empty")
        if not text.startswith("{"):
            return parse_columns(text)
        document = _load_document(text)
        if is_snapshot(document):
            return from_text(text, where).schema
        if isinstance(document, dict) and (language := _find_language(document)) is not None:
            return language.read(json.dumps(document))
        if isinstance(document, dict) and {"schema_version", "columns"} <= document.keys():
            return _read_shown(document)
        value, key = _split_nodes(document)
        columns = connect.read_columns(_find_row(value))
        own = {c.emitted_name: c.name for c in columns}
        names = [f["field"] for f in connect.read_fields(key)] if key else []
        return TableSchema(columns, tuple(own.get(name, name) for name in names))
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{where}: not JSON: {error}", hint=_HINT) from error
    except (BadReference, UnreadableInput) as error:
        # The message names the file and does not repeat its whole text.
        reason = error.message.removeprefix(f"{text!r}: ")
        raise UnreadableInput(f"{where}: {reason}", hint=_HINT) from error


def read_field_ids(text: str) -> dict[str, int]:
    """Read the ids of the columns in a schema of a lake table or its metadata; empty without ids.

    An id says which column is which, whatever its name. Sources: Iceberg spec, "Schema Evolution"; Delta
    protocol, "Column Mapping".
    """
    try:
        document = _load_document(text)
    except (ValueError, RecursionError, UnreadableInput):
        return {}
    if not isinstance(document, dict) or _find_language(document) is None:
        return {}
    ids = {field["name"]: _find_id(field) for field in document["fields"]}
    is_whole = all(isinstance(id, int) for id in ids.values()) and len(set(ids.values())) == len(ids)
    return ids if is_whole else {}


def _find_id(field: Node) -> Any:
    metadata = field.get("metadata")
    own = metadata.get("delta.columnMapping.id") if isinstance(metadata, dict) else None
    return field.get("id", own)


def _load_document(text: str) -> Any:
    """Load the JSON of a text; of lake metadata the schema in it.

    Source: Delta protocol, "Change Metadata": one action a line, and `metaData` has `schemaString`;
    Iceberg spec, "Table Metadata Fields": `schemas` and `current-schema-id`, or `schema` in version 1.

    Raises:
        ValueError: it is no JSON.
        UnreadableInput: the commit or the metadata has no schema.
    """
    try:
        document = json.loads(text)
    except ValueError:
        actions = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not all(isinstance(action, dict) for action in actions):
            raise
        metadata = [action["metaData"] for action in actions if isinstance(action.get("metaData"), dict)]
        if not metadata and not any(
            {"commitInfo", "add", "remove", "protocol"} & action.keys() for action in actions
        ):
            raise
        document = {"metaData": metadata[-1] if metadata else {}}
    if not isinstance(document, dict):
        return document
    if isinstance(document.get("metaData"), dict):
        document = document["metaData"]
        if not isinstance(document.get("schemaString"), str):
            raise UnreadableInput("this commit of a Delta table has no schema: it changes rows only")
    if isinstance(document.get("schemaString"), str):
        return json.loads(document["schemaString"])
    if "format-version" in document:
        schemas = document.get("schemas") if isinstance(document.get("schemas"), list) else []
        current = document.get("current-schema-id")
        found = (s for s in schemas if isinstance(s, dict) and s.get("schema-id", 0) == current)
        schema = next(found, document.get("schema"))
        if not isinstance(schema, dict):
            raise UnreadableInput("this Iceberg metadata has no current schema")
        return schema
    return document


def _find_language(node: Node) -> SchemaLanguage | None:
    """Finds the language of a struct whose fields are those of a table format; None for a Connect struct."""
    fields = node.get("fields")
    first = fields[0] if isinstance(fields, list) and fields else None
    if node.get("type") != "struct" or not isinstance(first, dict) or "field" in first:
        return None
    language = "spark" if "nullable" in first else "iceberg" if "required" in first else None
    return None if language is None else SCHEMA_LANGUAGES.get(language)


def _read_shown(document: Node) -> TableSchema:
    """Reads the structure in a document of `show`."""
    try:
        optional = ("default", "comment", "source_type", "emitted_name", "id")
        columns = tuple(
            Column(
                c["name"], parse_type(c["type"]), c["nullable"], **{name: c.get(name) for name in optional}
            )
            for c in document["columns"]
        )
        return TableSchema(columns, tuple(document.get("key", ())), document.get("comment"))
    except (KeyError, TypeError, AttributeError) as fault:
        raise UnreadableInput(f"not a schema in the JSON of `show`: {fault!r}") from fault


def _split_nodes(document: Any) -> tuple[Node, Node | None]:
    """Finds the Connect nodes of a value and of its key, if there is one."""
    if not isinstance(document, dict):
        raise UnreadableInput("not a JSON object")
    if document.get("type") == "record":
        return avro.to_connect(json.dumps(document)), None
    if document.get("type") == "struct":
        return document, None
    if isinstance(document.get("schema"), dict):
        return document["schema"], None
    if {"topic", "payload"} <= document.keys() and isinstance(document["payload"], str):
        key = document.get("key")
        return _split_nodes(json.loads(document["payload"]))[0], _split_nodes(json.loads(key))[
            0
        ] if key else None
    raise UnreadableInput("it contains no schema")


def _find_row(node: Node) -> Node:
    fields = {field["field"]: field for field in connect.read_fields(node)}
    return fields["after"] if fields.keys() >= _ENVELOPE else node
