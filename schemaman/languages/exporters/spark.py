"""Spark's StructType as JSON, as `StructType.fromJson` reads it."""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.languages.exporters import _lake, _struct_json
from schemaman.migration.plan import Refusal
from schemaman.migration.target import Held
from schemaman.migration.targets import delta
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class SparkNotation:
    """A StructType; types are those with which a plan would create the table."""

    name = "spark"

    def hold(self, type: Type) -> Held | Refusal:
        """How Spark holds a logical type."""
        return _lake.hold(delta.TARGET, type, lengths=True)

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Names that Spark cannot tell apart or would read as something else."""
        return _lake.refuse(delta.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """JSON over several lines; the rows have no name in it."""
        return _struct_json.write(schema)

    def read(self, text: str) -> TableSchema:
        """The columns; a StructType knows no key and no comment of the table."""
        return _struct_json.read(text)


NOTATION = SparkNotation()
