"""Spark's DDL: a column list as `StructType.fromDDL` and `CREATE TABLE` read it."""

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
    """One column a line; types are those with which a plan would create the table."""

    name = "ddl"

    def hold(self, type: Type) -> LakeType | Refusal:
        """How Spark holds a logical type."""
        return _lake.hold_type(delta.TARGET, type, lengths=True, inside=True)

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Names that Spark cannot tell apart or would read as something else."""
        return _lake.refuse_columns(delta.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """What stands between the brackets of `CREATE TABLE`."""
        return ",\n".join(sql.define_column(c, " ") for c in schema.columns)

    def read(self, text: str) -> TableSchema:
        """The columns; the list knows no key and no comment of the table."""
        return parse_columns(text)


LANGUAGE = DdlLanguage()
