"""The layout of a table: partitions, sort order, keys and constraints, which can prevent changes of columns.

Law: an entry that one of two layouts lacks is no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from schemaman.migration.spark_sql import format_identifiers
from schemaman.migration.target import LakeTable, LayoutField
from schemaman.model.ddl import quote_name
from schemaman.model.diff import Change, RenameColumn
from schemaman.model.schema import Path, TableSchema

IDENTIFIERS = "identifier-fields"
"""The property in which an executor returns the identifier fields of an Iceberg table."""

_WORDS = {
    "partitions": "partitions",
    "clustering": "clustering",
    "sort": "sort fields",
    "identifiers": "identifier fields",
    "generated": "generated columns",
    "checks": "CHECK constraints",
}


def layout_of(lake: LakeTable | None) -> Mapping[str, str]:
    """List partitions, clustering, sort order, identifiers, generated columns and CHECKs, each as a text."""
    if lake is None:
        return {}
    return {
        "partitions": _format_fields(lake.partitions),
        "clustering": ", ".join(map(_format_path, lake.clustering)),
        "sort": _format_fields(lake.sort),
        "identifiers": ", ".join(map(_format_path, lake.identifiers)),
        "generated": _format_expressions(lake.generated),
        "checks": _format_expressions(lake.checks),
    }


def describe_layout_change(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Describe the differences of two layouts in words; empty if there are none."""
    return "; ".join(
        f"{label} were {before[name] or 'none'}, and are {after[name] or 'none'} now"
        for name, label in _WORDS.items()
        if name in before and name in after and before[name] != after[name]
    )


def apply_changes(lake: LakeTable, schema: TableSchema, changes: Iterable[Change]) -> LakeTable:
    """Return a lake table after changes, which give it this schema.

    Partition fields and identifier fields follow their renamed columns.
    """
    renames = {c.path: (*c.path[:-1], c.name) for c in changes if isinstance(c, RenameColumn)}

    def rename_path(path: Path) -> Path:
        found = ((*new, *path[len(old) :]) for old, new in renames.items() if path[: len(old)] == old)
        return next(found, path)

    names = {name: rename_path(path) for name, path in lake.partition_names.items()}
    whole = {path[0]: new[0] for path, new in renames.items() if len(path) == 1}
    return replace(lake, schema=schema, partition_names=names, properties=rename_identifiers(lake, whole))


def rename_identifiers(lake: LakeTable, names: Mapping[str, str]) -> Mapping[str, str]:
    """Return the properties of a table after renames; `names` maps old names to new ones.

    An identifier field stays one. Source: Iceberg table spec, "Identifier Field IDs": they are kept by id.
    """
    identifiers = lake.properties.get(IDENTIFIERS)
    if identifiers is None:
        return lake.properties
    fields = format_identifiers(names.get(name, name) for name in json.loads(identifiers))
    return {**lake.properties, IDENTIFIERS: fields}


def _format_fields(fields: Iterable[LayoutField]) -> str:
    return ", ".join(f"{_format_path(field.path)} {field.transform}" for field in fields)


def _format_expressions(expressions: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_name(name)}: {expressions[name]}" for name in sorted(expressions))


def _format_path(path: Path) -> str:
    return ".".join(map(quote_name, path))
