"""Writes the schema of a Delta table as its log keeps it, `schemaString` of the metadata.

Column mapping adds its ids when a table is created. Source: Delta protocol, "Schema Serialization Format".
"""

from __future__ import annotations

from schemaman.languages.exporters._struct_json import StructLanguage

LANGUAGE = StructLanguage("delta")
