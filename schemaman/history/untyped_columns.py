"""Columns of JSON without schemas, whose types nothing shows: each as text.

Law: only versions that were inferred from rows have such columns. Documents keep the kinds of their values.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import String, Type, Unknown, list_members

_JSON_KIND = "json:"
_TEXT = String()


def read_as_texts(history: TableHistory) -> TableHistory:
    """The history in which each column without a type is a text; ids and names stay."""
    if not any(map(_is_untyped, history.versions)):
        return history
    versions = (_make_texts(v) if _is_untyped(v) else v for v in history.versions)
    return replace(history, versions=tuple(versions))


def is_read_as_texts(version: SchemaVersion) -> bool:
    """Whether the rows of a version of `read_as_texts` are texts, as their JSON spells them."""
    return version.status == "inferred" and has_only_texts(version.schema)


def has_only_texts(schema: TableSchema) -> bool:
    """Whether all columns of a schema are texts of any length."""
    return bool(schema.columns) and all(column.type == _TEXT for column in schema.columns)


def _is_untyped(version: SchemaVersion) -> bool:
    columns = version.schema.columns
    return version.status == "inferred" and bool(columns) and all(_is_kind(c.type) for c in columns)


def _is_kind(type: Type) -> bool:
    """Whether a type is only the kind of a JSON value, or several kinds."""
    return all(isinstance(t, Unknown) and t.name.startswith(_JSON_KIND) for t in list_members(type))


def _make_texts(version: SchemaVersion) -> SchemaVersion:
    def make_text(column: Column) -> Column:
        return replace(column, type=_TEXT)

    revisions = (
        replace(r, schema=replace(r.schema, columns=tuple(map(make_text, r.schema.columns))))
        for r in version.revisions
    )
    return replace(version, revisions=tuple(revisions))
