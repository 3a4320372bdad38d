"""The key of a data event: which columns make it, in key order; and rows that changed theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from schemaman.debezium.converters.connect import read_columns, read_fields
from schemaman.debezium.observation import KEY_TYPE, Note, Observation
from schemaman.debezium.payload import Body
from schemaman.debezium.records import Record
from schemaman.errors import UnreadableInput
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Unknown, without_labels

ROUTING_FIELDS = frozenset({"__dbz__physicalTableIdentifier", "__dbz__sourceIdentifier"})
"""Fields that topic routing adds to keep keys of merged tables apart; they are no columns.
Source: Debezium AbstractRegexTopicNamingStrategy, ByLogicalTableRouter."""

_BARE = (
    "the key is a bare value; which column it is of cannot be told: let keys be structs (without the "
    "transformation ExtractField$Key)"
)


def list_key_fields(key: Body | None) -> tuple[str, ...]:
    """The field names of a key as they travel; empty for a null key.

    A key without a schema tells the names by its payload; with one the payload does not matter, since a
    schema is all that runs compare.

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


def add_key(
    columns: Sequence[Column], key: Body | None, read_name: Callable[[str], str], server: str = ""
) -> TableSchema:
    """The structure of a row with its key; columns that only the key carries come first, without field name.

    Routing may add a field under any name, which holds the topic of the table; that begins with the logical
    name of the `server`. Source: Debezium, `column.exclude.list` takes columns out of the row and never out
    of the key; `topic.key.field.name` names the field of AbstractRegexTopicNamingStrategy.
    """
    own = {c.emitted_name: c.name for c in columns}
    fields = tuple(f for f in list_key_fields(key) if f in own or not _is_topic(key, f, server))
    away = tuple(
        replace(c, name=read_name(c.name), emitted_name=None)
        for c in _list_key_only_columns(key, fields, own)
    )
    names = tuple(own.get(f, read_name(f)) for f in fields)
    return TableSchema((*away, *columns), names)


def _is_topic(key: Body | None, name: str, server: str) -> bool:
    value = key.payload.get(name) if key is not None and isinstance(key.payload, dict) else None
    return bool(server) and isinstance(value, str) and value.startswith(f"{server}.")


def _list_key_only_columns(
    key: Body | None, names: Sequence[str], own: Mapping[str | None, str]
) -> list[Column]:
    away = [n for n in names if n not in own]
    if not away or key is None:
        return []
    told = {} if key.schema is None else {c.emitted_name: c for c in read_columns(key.schema)}
    return [told.get(name, Column(name, Unknown("key"))) for name in away]


def note_key_types(observed: Observation, key: Body | None) -> tuple[Note, ...]:
    """That the key tells another type of a column than the row does, since the row alone was converted.

    Source: Debezium TableSchemaBuilder: masks, hashes and truncation are made for the row and never for the
    key; the key field has the type of the column.
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
        f"{name} as {format_type(told)}, the row as {format_type(row)}" for name, told, row in differing
    )
    message = f"the key carries {words}: what is masked or converted in rows keeps its own type in keys"
    first = observed.first
    return (
        Note(
            observed.table.stream, first.topic, first.partition, first.offset, KEY_TYPE, message,
            observed.table, observed.count,
        ),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyChange:
    """That a row got another key: the event is its `old` or its `new` end, `other` the key at the other one.

    The text is as the header's converter wrote it, by default the JSON of the key.
    """

    end: Literal["old", "new"]
    other: str


_HEADERS: dict[str, Literal["old", "new"]] = {"__debezium.newkey": "old", "__debezium.oldkey": "new"}


def read_key_change(record: Record) -> KeyChange | None:
    """What a record says of a row whose key was changed; None if nothing.

    A delete under the old key, with its tombstone, and a create under the new one are one row: none ends or
    begins, and the structure is the same. Source: Debezium RelationalChangeRecordEmitter, headers
    `__debezium.newkey` and `__debezium.oldkey`.
    """
    for name, value in record.headers:
        if name in _HEADERS and value is not None:
            return KeyChange(_HEADERS[name], value.decode(errors="replace"))
    return None
