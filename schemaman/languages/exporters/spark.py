"""Writes Spark's StructType as JSON, as `StructType.fromJson` reads it."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.languages.exporters import _lake, _struct_json
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.migration.targets import delta
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class SparkLanguage:
    """Writes a StructType, with the types that a plan uses to create the table."""

    name = "spark"

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns Spark's type for a logical type."""
        return _lake.hold_type(delta.TARGET, type, lengths=True)

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses names that Spark cannot distinguish or misreads."""
        return _lake.refuse_columns(delta.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes JSON over several lines; it has no name for the rows."""
        return _struct_json.write_struct(schema)

    def read(self, text: str) -> TableSchema:
        """Reads the columns; a StructType has neither the key nor the table's comment."""
        return _struct_json.read_struct(text)


LANGUAGE = SparkLanguage()
