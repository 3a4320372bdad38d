"""Writes the Avro schema of a table's rows, as Confluent's AvroConverter registers it for default modes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from schemaman.debezium.converters.avro import to_connect
from schemaman.debezium.converters.avro_schema import make_field_name, to_avro
from schemaman.debezium.converters.connect import read_columns
from schemaman.languages.exporters import _wire
from schemaman.migration.plan import Refusal
from schemaman.migration.target import LakeType
from schemaman.model.name_adjustment import adjust_field, adjust_schema
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type


class AvroLanguage:
    """Writes a record schema; names are adjusted as Debezium adjusts them."""

    name = "avro"

    def hold_type(self, type: Type) -> LakeType | Refusal:
        """Returns every type that a connector writes with a schema; refuses others."""
        return _wire.hold_type(type, lambda name: adjust_field(name, "avro"))

    def refuse_names(self, schema: TableSchema) -> Mapping[str, Refusal]:
        """Refuses columns that would have one field name."""
        return _wire.refuse_columns(schema, make_field_name)

    def write(self, schema: TableSchema, name: str) -> str:
        """Writes JSON over several lines."""
        return json.dumps(to_avro(schema, adjust_schema(name, "avro")), indent=2, ensure_ascii=False)

    def read(self, text: str) -> TableSchema:
        """Reads the columns; the schema has neither the key nor the table's comment."""
        return TableSchema(read_columns(to_connect(text)))


LANGUAGE = AvroLanguage()
