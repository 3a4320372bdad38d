"""A registration as evidence of the event schema of a table, for the log."""

from __future__ import annotations

from schemaman.model.schema import TableSchema
from schemaman.store.log import RegistrationEntry
from schemaman.subjects.event_schemas import find_meaning, read_structure
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import RegisteredText
from schemaman.subjects.source_tables import TableHistories, find_tables

_CONNECT = '"connect.'
"""The beginning of the properties that Connect's converters write into Avro and JSON Schema by default.
Source: Confluent AvroData and JsonSchemaData, `connect.meta.data`."""


def make_evidence(
    found: VersionedSchema, text: RegisteredText, histories: TableHistories | None
) -> RegistrationEntry | None:
    """Make the evidence of a new version; None for a schema that is none of a table's events.

    It is one of events if Debezium writes such names or forms, or if a history knows its topic or record. A
    schema without properties of Connect comes from no connector.
    """
    if _CONNECT not in text.content.text:
        return None
    structure = read_structure(text.content, text.referenced)
    if structure is None:
        return None
    version = found.version
    meaning = find_meaning(version.subject.name, structure)
    if not structure.is_event and not find_tables(histories, meaning.names):
        return None
    return RegistrationEntry(
        str(version.subject),
        version.number,
        version.schema_id,
        found.schema.guid,
        meaning.names,
        meaning.part or "",
        TableSchema(structure.columns),
    )
