"""Writes Spark's StructType as JSON, as `StructType.fromJson` reads it."""

from __future__ import annotations

from schemaman.languages.exporters._struct_json import StructLanguage

LANGUAGE = StructLanguage("spark")
