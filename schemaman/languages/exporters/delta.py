"""The schema of a Delta table as its log keeps it, `schemaString` of the metadata.

Source: Delta protocol, "Schema Serialization Format".
"""

from __future__ import annotations

from collections.abc import Mapping

from schemaman.languages.exporters import _lake, _struct_json
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.migration.targets import delta
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class DeltaLanguage:
    """The schema of a table that a plan would create; column mapping gives its ids when the table is made."""

    name = "delta"

    def hold(self, type: Type) -> LakeType | Refusal:
        """How Delta holds a logical type."""
        return _lake.hold_type(delta.TARGET, type, lengths=True)

    def refuse(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Names that Spark cannot tell apart or would read as something else."""
        return _lake.refuse_columns(delta.TARGET, schema)

    def write(self, schema: TableSchema, name: str) -> str:
        """JSON over several lines; the rows have no name in it."""
        return _struct_json.write_struct(schema)

    def read(self, text: str) -> TableSchema:
        """The columns; Delta knows no key, and keeps the comment of the table elsewhere."""
        return _struct_json.read_struct(text)


LANGUAGE = DeltaLanguage()
