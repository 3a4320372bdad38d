"""Writes Spark's DDL: a column list as `StructType.fromDDL` and `CREATE TABLE` read it."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.languages.exporters import _lake
from schemaman.migration import spark_sql as sql
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.migration.targets import delta
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class DdlLanguage:
    """Writes one column a line, with the types that a plan uses to create the table."""

    name = "ddl"

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns Spark's type for a logical type."""
        return _lake.hold_type(delta.TARGET, type, lengths=True, inside=True)

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses names that Spark cannot distinguish or misreads."""
        return _lake.refuse_columns(delta.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes the text between the brackets of `CREATE TABLE`."""
        return ",\n".join(sql.define_column(c, " ") for c in schema.columns)

    def read(self, text: str) -> TableSchema:
        """Reads the columns; the list has neither the key nor the table's comment."""
        return parse_columns(text)


LANGUAGE = DdlLanguage()
