"""schemaman's own column list: Spark's DDL, and all attributes that Spark does not have; nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.column_list import format_columns, parse_columns
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class ColumnsLanguage:
    """Writes the list of `model.column_list`, in one line."""

    name = "columns"

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns every type unchanged."""
        return LakeType(type)

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses no column: every name can be quoted."""
        return {}

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes the list; it has no name for the rows."""
        return format_columns(schema)

    def read(self, text: str) -> TableSchema:
        """Reads the whole structure."""
        return parse_columns(text)


LANGUAGE = ColumnsLanguage()
