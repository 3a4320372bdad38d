"""The key of a data event: its columns in key order, and rows whose key changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from schemaman.debezium.converters.connect import read_columns, read_fields
from schemaman.debezium.observation import KEY_TYPE, KEY_UNREADABLE, Note, Observation
from schemaman.debezium.payload import Body
from schemaman.debezium.records import Record
from schemaman.errors import UnreadableInput
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Unknown, without_labels

ROUTING_FIELDS = frozenset({"__dbz__physicalTableIdentifier", "__dbz__sourceIdentifier"})
"""Fields that topic routing adds so that keys of merged tables differ; they are no columns.
Source: Debezium AbstractRegexTopicNamingStrategy, ByLogicalTableRouter."""

_BARE = (
    "the key is a bare value without the name of its column: configure keys as structs (without the "
    "transformation ExtractField$Key)"
)
_TEXT = (
    "the key is a text that no converter of structs wrote: configure key.converter as the JSON converter or "
    "the Avro converter"
)
_STRUCT = re.compile(r"Struct\{(.*)\}", re.DOTALL)
_STRUCT_FIELD = re.compile(r"(?:\A|,)([^=,]+)=")


def list_key_fields(key: Body | None) -> tuple[str, ...]:
    """List the field names of a key, as in the event; empty for a null key.

    The names come from the schema of the key, or from the payload of a key without a schema. The payload does
    not matter for a key with a schema, since runs compare schemas alone.

    Raises:
        UnreadableInput: the key is neither a struct nor a JSON object.
    """
    if key is None:
        return ()
    if key.schema is not None and not isinstance(key.schema.get("fields"), list):
        raise UnreadableInput(_BARE)
    if key.schema is not None:
        names = tuple(f["field"] for f in read_fields(key.schema))
    elif key.payload is None:
        return ()
    elif isinstance(key.payload, dict):
        names = tuple(key.payload)
    else:
        raise UnreadableInput(_BARE)
    return tuple(n for n in names if n not in ROUTING_FIELDS)


def explain_key(data: bytes, fault: str) -> str:
    """Explain why the columns of a key are unknown: it is a text, or the fault of reading it."""
    is_text = data[:1] not in (b"{", b"[", b"\0", b"\1") and (not fault or fault.startswith("not JSON"))
    return _TEXT if data and is_text else fault


def parse_struct_text(data: bytes) -> dict[str, str] | None:
    """Parse the text of a struct as names and texts of its fields; None for any other text.

    A text may contain the separators itself, so that `is_key_of` has to confirm the fields. Source: Kafka
    Connect Struct.toString, which StringConverter writes: `Struct{a=1,b=x}` without null fields.
    """
    found = _STRUCT.fullmatch(data.decode(errors="replace"))
    if found is None:
        return None
    marks = list(_STRUCT_FIELD.finditer(found[1]))
    if not marks or marks[0].start():
        return None
    ends = [*(mark.start() for mark in marks[1:]), len(found[1])]
    return {mark[1]: found[1][mark.end() : end] for mark, end in zip(marks, ends, strict=True)}


def is_key_of(fields: Mapping[str, str], row: Mapping[str, object] | None) -> bool:
    """Return whether the fields of a struct's text are certainly columns of the row that it belongs to.

    A single field without separators in its value is certain. Several fields have to be those of the row with
    the same texts. `row` is None if the record shows no row.
    """
    if row is None:
        return False
    if len(fields) == 1 and not any("," in text or "=" in text for text in fields.values()):
        return fields.keys() <= row.keys()
    return all(name in row and _format(row[name]) == text for name, text in fields.items())


def _format(value: object) -> str | None:
    """Format a value as Java prints it; None for a value that it prints otherwise than JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | str) else None


def note_unread_key(observed: Observation, reason: str) -> Note:
    """Note that the columns of a table's key are unknown, since the key of its records cannot be read."""
    first = observed.first
    message = f"{reason}; the columns of the key are unknown, and rows are not written by it"
    return Note(
        observed.table.stream, first.topic, first.partition, first.offset, KEY_UNREADABLE, message,
        observed.table, observed.count,
    )  # fmt: skip


def add_key(
    columns: Sequence[Column], key: Body | None, read_name: Callable[[str], str], server: str = ""
) -> TableSchema:
    """Make the schema of a row with its key; columns of the key alone come first, without field name.

    Routing may add a key field of any name with the topic of the table, which begins with the logical name of
    the `server`. Source: Debezium, `column.exclude.list` takes columns out of the row and never out of the
    key; `topic.key.field.name` names the field of AbstractRegexTopicNamingStrategy.
    """
    own = {c.emitted_name: c.name for c in columns}
    fields = tuple(f for f in list_key_fields(key) if f in own or not _is_topic(key, f, server))
    key_only = tuple(
        replace(c, name=read_name(c.name), emitted_name=None)
        for c in _list_key_only_columns(key, fields, own)
    )
    names = tuple(own.get(f, read_name(f)) for f in fields)
    return TableSchema((*key_only, *columns), names)


def _is_topic(key: Body | None, name: str, server: str) -> bool:
    value = key.payload.get(name) if key is not None and isinstance(key.payload, dict) else None
    return bool(server) and isinstance(value, str) and value.startswith(f"{server}.")


def _list_key_only_columns(
    key: Body | None, names: Sequence[str], own: Mapping[str | None, str]
) -> list[Column]:
    missing = [n for n in names if n not in own]
    if not missing or key is None:
        return []
    by_field = {} if key.schema is None else {c.emitted_name: c for c in read_columns(key.schema)}
    return [by_field.get(name, Column(name, Unknown("key"))) for name in missing]


def note_key_types(observed: Observation, key: Body | None) -> tuple[Note, ...]:
    """Note the columns whose type differs between key and row, since only the row was converted.

    Source: Debezium TableSchemaBuilder: masks, hashes and truncation apply to the row and never to the key;
    the key field has the type of the column.
    """
    schema = observed.schema
    if schema is None or key is None or key.schema is None or observed.evidence != "emitted":
        return ()
    own = {c.emitted_name: c for c in schema.columns}
    both = [(own[c.emitted_name], c.type) for c in read_columns(key.schema) if c.emitted_name in own]
    differing = [(c.name, t, c.type) for c, t in both if without_labels(t) != without_labels(c.type)]
    if not differing:
        return ()
    words = ", ".join(
        f"{name} as {format_type(of_key)}, the row as {format_type(of_row)}"
        for name, of_key, of_row in differing
    )
    message = f"the key has {words}: masking and conversion change the type in rows, not in keys"
    first = observed.first
    return (
        Note(
            observed.table.stream, first.topic, first.partition, first.offset, KEY_TYPE, message,
            observed.table, observed.count,
        ),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A change of a row's key: the event belongs to the `old` or the `new` key, and `other` is the other key.

    The header's converter wrote the text of `other`, by default as the JSON of the key.
    """

    end: Literal["old", "new"]
    other: str


_HEADERS: dict[str, Literal["old", "new"]] = {"__debezium.newkey": "old", "__debezium.oldkey": "new"}


def read_key_change(record: Record) -> KeyChange | None:
    """Read the key change from the headers of a record; None without such a header.

    A delete under the old key, its tombstone, and a create under the new key belong to one row with one
    structure. Source: Debezium RelationalChangeRecordEmitter, headers `__debezium.newkey` and
    `__debezium.oldkey`.
    """
    for name, value in record.headers:
        if name in _HEADERS and value is not None:
            return KeyChange(_HEADERS[name], value.decode(errors="replace"))
    return None
