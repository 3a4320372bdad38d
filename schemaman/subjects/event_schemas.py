"""What a registered schema says of rows: the columns of an event's row, or of its key.

A subject belongs to the key or to the value of a topic. Names of subjects follow one of Confluent's three
strategies: the topic's, the record's, or both. Source: Confluent documentation, "Subject name strategy".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemaman.debezium.converters.connect import read_columns, read_fields
from schemaman.debezium.converters.registered import mark_text, to_connect
from schemaman.errors import UnreadableInput
from schemaman.model.schema import Column, TableSchema
from schemaman.store.subjects import SchemaContent
from schemaman.subjects.contents import resolve_text
from schemaman.subjects.faults import RefusedRequest

Part = Literal["key", "value"]
Strategy = Literal["topic", "record", "topic-record"]

_ENVELOPE = {"before", "after", "op"}
_RECORDS: dict[Part, tuple[str, ...]] = {"key": (".Key",), "value": (".Value", ".Envelope")}
"""The ends of the names that Debezium gives its schemas. Source: Debezium documentation, "Change events"."""
_OTHER: dict[Part, Part] = {"key": "value", "value": "key"}
_SUFFIXES: dict[Part, str] = {"key": "-key", "value": "-value"}


@dataclass(frozen=True, slots=True)
class EventStructure:
    """The name of a registered record and the columns of the row, or the key, that it describes.

    `name` is that of the Connect schema; it may be empty. A column has the name of the source's column if the
    schema tells it, else that of its field.
    """

    name: str
    columns: tuple[Column, ...]
    is_envelope: bool = False

    @property
    def is_event(self) -> bool:
        """Whether it has the form or the name of a schema that Debezium writes."""
        return self.is_envelope or self.name.endswith((*_RECORDS["key"], *_RECORDS["value"]))


@dataclass(frozen=True, slots=True)
class SubjectMeaning:
    """Which part of which topic or record a subject is about, by the strategy that its name follows.

    `topic` is empty for the strategy `record`; `record` is empty for the strategy `topic`. `part` is None
    if nothing tells it.
    """

    strategy: Strategy
    topic: str
    record: str
    part: Part | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which a history knows the table: its topic first, then its record."""
        return tuple(name for name in (self.topic, self.record) if name)


def read_structure(content: SchemaContent, referenced: Sequence[str]) -> EventStructure | None:
    """Read the structure of a registered schema; None for one that describes no record.

    `referenced` are the Avro texts that it refers to. A change event describes the row of `after`; that of a
    document, whose `after` is a text, describes none.
    """
    try:
        # Converters also register names that Avro refuses: only references need its parser.
        text = resolve_text(content, referenced) if referenced else content.sent
        node = to_connect(mark_text(content.type, text, "of the registry"))
        if node.get("type") != "struct":
            return None
        fields = {field["field"]: field for field in read_fields(node)}
        is_envelope = fields.keys() >= _ENVELOPE
        columns = read_columns(fields["after"] if is_envelope else node)
    except (UnreadableInput, RefusedRequest, RecursionError):
        return None
    return EventStructure(str(node.get("name") or ""), columns, is_envelope)


def find_meaning(name: str, structure: EventStructure | None) -> SubjectMeaning:
    """Find what a subject is about: its name without context, and the structure of one of its schemas.

    A name that is none of a record is that of a topic, with `-key` or `-value` or, of unknown part, without.
    """
    record = structure.name if structure is not None else ""
    if record and name == record:
        return SubjectMeaning("record", "", record, _find_part(record))
    if record and name.endswith(f"-{record}"):
        return SubjectMeaning("topic-record", name.removesuffix(f"-{record}"), record, _find_part(record))
    for part, suffix in _SUFFIXES.items():
        if name.endswith(suffix) and name != suffix:
            return SubjectMeaning("topic", name.removesuffix(suffix), "", part)
    if _find_part(name) is not None:
        return SubjectMeaning("record", "", name, _find_part(name))
    return SubjectMeaning("topic", name, "", None)


def list_partners(name: str) -> tuple[str, ...]:
    """List the names that the subject of the other part of the same events may have."""
    for part, suffix in _SUFFIXES.items():
        if name.endswith(suffix) and name != suffix:
            return (name.removesuffix(suffix) + _SUFFIXES["value" if part == "key" else "key"],)
    for part, ends in _RECORDS.items():
        for end in ends:
            if name.endswith(end):
                return tuple(
                    name.removesuffix(end) + e for e in _RECORDS["value" if part == "key" else "key"]
                )
    return ()


def join_parts(key: EventStructure | None, value: EventStructure | None, part: Part | None) -> TableSchema:
    """Join the structures of key and value to one table; a column of the key alone comes first.

    A column of both is as it is in `part`, by default in the value. Without a value the table has the columns
    of its key, and without a key it has none.
    """
    keys = () if key is None else key.columns
    columns = () if value is None else value.columns
    known = {column.name for column in columns}
    only = tuple(column for column in keys if column.name not in known)
    of_key = {column.name: column for column in keys} if part == "key" else {}
    joined = (*only, *(of_key.get(column.name, column) for column in columns))
    return TableSchema(joined, tuple(column.name for column in keys))


def _find_part(record: str) -> Part | None:
    return next((part for part, ends in _RECORDS.items() if record.endswith(ends)), None)
