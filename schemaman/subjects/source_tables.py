"""The source tables behind subjects: which table a subject describes, and which version a schema belongs to.

A history knows a table by the topics and the record names of its events. A schema belongs to each version
whose event schema it equals; several versions may be equal, and a new schema may precede its first record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from schemaman.debezium.converters.avro_schema import make_field_name
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.name_adjustment import find_collisions
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import without_labels
from schemaman.subjects.event_schemas import EventStructure, Part

Fit = Literal["exact", "types"]
"""How a schema fits a version: in names, types and nullability, or in names and types alone."""


class TableHistories(Protocol):
    """Where histories are found; a store of the log is one."""

    def find_by_alias(self, name: str) -> tuple[TableId, ...]:
        """The tables whose events have that topic or record name, in order."""

    def history(self, table: TableId) -> TableHistory | None:
        """The history of a table."""


@dataclass(frozen=True, slots=True)
class ColumnField:
    """A column of the source and the field that holds it in events; None for what is not there."""

    column: str | None
    field: str | None
    type: str
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class FittingVersion:
    """A version of a history that a registered schema belongs to."""

    version: SchemaVersion
    fit: Fit


def find_tables(histories: TableHistories | None, names: Sequence[str]) -> tuple[TableId, ...]:
    """Find the tables of the first name that a history knows; several tables may share a topic."""
    for name in names:
        if histories is not None and (found := histories.find_by_alias(name)):
            return found
    return ()


def list_fitting_versions(
    history: TableHistory, structure: EventStructure, part: Part | None
) -> tuple[FittingVersion, ...]:
    """List the versions that a schema belongs to, oldest first: exact fits, or without any those of types."""
    found = [
        FittingVersion(version, fit)
        for version in history.versions
        if version.status != "phantom"
        if (fit := _find_fit(version, structure, part)) is not None
    ]
    exact = tuple(one for one in found if one.fit == "exact")
    return exact or tuple(found)


def map_columns(version: SchemaVersion, structure: EventStructure) -> tuple[ColumnField, ...]:
    """Map the columns of a version to the fields of a schema; fields without a column come last."""
    fields = {_find_field(column): column for column in structure.columns}
    found: list[ColumnField] = []
    names = _list_field_names(version)
    for column in version.schema.columns:
        field = next((name for name in names[column.name] if name in fields), None)
        if field is not None:
            del fields[field]
        is_key = column.name in version.schema.key
        found.append(ColumnField(column.name, field, format_type(column.type), is_key))
    return (*found, *(_map_field(column) for column in fields.values()))


def map_fields(structure: EventStructure) -> tuple[ColumnField, ...]:
    """Map the fields of a schema to columns by the schema alone; None where it does not tell the column."""
    return tuple(_map_field(column) for column in structure.columns)


def list_collisions(schema: TableSchema) -> tuple[tuple[str, ...], ...]:
    """List the columns that become one field name in Avro."""
    return find_collisions(schema.names, "avro")


def _map_field(column: Column) -> ColumnField:
    field = _find_field(column)
    own = column.name if column.name != field else None
    return ColumnField(own, field, format_type(column.type))


def _find_field(column: Column) -> str:
    return column.emitted_name or column.name


def _list_event_schemas(version: SchemaVersion) -> Iterator[TableSchema]:
    """List the version as each of its event schemas, the newest first."""
    yield version.find_event_schema()
    for event_schema in reversed(version.event_schemas[:-1]):
        yield version.find_event_schema(event_schema)


def _list_field_names(version: SchemaVersion) -> dict[str, list[str]]:
    """List the field names of each column: those of its events first, then its own one made legal."""
    found = {column.name: [make_field_name(column), column.name] for column in version.schema.columns}
    by_id = {column.id: column.name for column in version.schema.columns}
    for schema in _list_event_schemas(version):
        for column in schema.columns:
            found[by_id[column.id]].insert(0, make_field_name(column))
    return found


def _find_fit(version: SchemaVersion, structure: EventStructure, part: Part | None) -> Fit | None:
    fits = [
        _compare(_choose_part(schema, part), structure.columns) for schema in _list_event_schemas(version)
    ]
    return "exact" if "exact" in fits else "types" if "types" in fits else None


def _choose_part(schema: TableSchema, part: Part | None) -> tuple[Column, ...]:
    if part != "key":
        return schema.columns
    return tuple(column for name in schema.key if (column := schema.column(name)) is not None)


def _compare(wanted: Iterable[Column], columns: Iterable[Column]) -> Fit | None:
    """Compare columns by their fields, in any order; fields that transformations add are left out.

    Source: Debezium ExtractNewRecordState, whose fields begin with two underscores.
    """
    expected = {make_field_name(column): column for column in wanted}
    found = {_find_field(column): column for column in columns}
    added = [name for name in found if name not in expected and name.startswith("__")]
    if not expected or expected.keys() != found.keys() - set(added):
        return None
    pairs = [(column, found[name]) for name, column in expected.items()]
    if any(without_labels(one.type) != without_labels(other.type) for one, other in pairs):
        return None
    return "exact" if all(one.nullable == other.nullable for one, other in pairs) else "types"
