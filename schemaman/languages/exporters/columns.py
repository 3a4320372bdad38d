"""schemaman's own column list: Spark's notation and all that Spark forgets; nothing is lost."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.column_list import format_columns, parse_columns
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class ColumnsLanguage:
    """The list of `schemaman.columns`, in one line."""

    name = "columns"

    def hold(self, type: Type) -> LakeType | Refusal:
        """Every type is said as it is."""
        return LakeType(type)

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """None: every name can be quoted."""
        return {}

    def write(self, schema: TableSchema, name: str) -> str:
        """The list; the rows have no name in it."""
        return format_columns(schema)

    def read(self, text: str) -> TableSchema:
        """The structure, whole."""
        return parse_columns(text)


LANGUAGE = ColumnsLanguage()
