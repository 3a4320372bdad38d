"""Whether a version is the one that a structure shows."""

from __future__ import annotations

from schemaman.fold.faces import match
from schemaman.fold.inferred_versions import hides_types, row_id
from schemaman.fold.naming import under_own_names
from schemaman.fold.open_version import Open
from schemaman.schema import TableSchema, fingerprint


def shows(version: Open, schema: TableSchema) -> bool:
    """Whether a structure, as emitted or declared, is that of the version."""
    if version.declared:
        return fingerprint(schema) == version.id or match(version.schema, schema).exact
    if hides_types(version.points[0].observation):
        return row_id(schema) == version.id
    return fingerprint(under_own_names(version.schema, schema, vouched=True)) == version.id
