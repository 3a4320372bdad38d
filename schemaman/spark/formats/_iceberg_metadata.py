"""Reads an Iceberg table from its metadata file, or from Spark's description if that file cannot be read.

Source for the fields of the file: Iceberg table spec, "Table Metadata Fields" and what it refers to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from schemaman.migration.properties.table_record import read_record
from schemaman.migration.spark_sql import format_identifiers, split_table_name
from schemaman.migration.target import LakeTable, LayoutField
from schemaman.model.schema import Column, Path, TableSchema

Metadata = Mapping[str, Any]

# What `SHOW TBLPROPERTIES` adds to the properties of the table. Source: Iceberg `BaseSparkTable.properties`.
_SHOWN_ONLY = ("format", "provider", "current-snapshot-id", "location", "sort-order")
_WORD = re.compile(r"(\w+)\((?:(\d+), )?(.+)\)")
_SORTED = re.compile(r"(.+?) (ASC|DESC) NULLS (FIRST|LAST)(?:, |$)")
_PARTITION_FIELD = re.compile(r"(?:^struct<|,)(.+?):[a-z_]+(?:\(\d+,\d+\))?(?=[,>])")
_TRANSFORMS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}


def read_metadata(table: str, columns: tuple[Column, ...], file: str, metadata: Metadata) -> LakeTable:
    """Read the table from one metadata file; `columns` are its columns as Spark reads them."""
    schema = _find_current(metadata, "schemas", "schema-id", "current-schema-id")
    paths = dict(_list_paths(schema["fields"], ()))
    spec = _find_current(metadata, "partition-specs", "spec-id", "default-spec-id")
    order = _find_current(metadata, "sort-orders", "order-id", "default-sort-order-id")
    return _make_table(
        table,
        columns,
        identity=str(metadata["table-uuid"] or metadata["location"]),
        file=file,
        properties=metadata["properties"],
        format_version=int(metadata["format-version"]),
        identifiers=tuple(paths[id] for id in schema.get("identifier-field-ids", ())),
        partitions=tuple(
            LayoutField(paths[each["source-id"]], each["transform"])
            for each in spec.get("fields", ())
            if each["transform"] != "void" and each.get("source-id") in paths
        ),
        former_layout=_collect_former_layout(metadata, paths),
        sort=tuple(
            LayoutField(
                paths[each["source-id"]], f"{each['transform']} {each['direction']} {each['null-order']}"
            )
            for each in order.get("fields", ())
            if each.get("source-id") in paths
        ),
        partition_names=_collect_partition_names(metadata, paths),
        # Source: Iceberg table spec, "Schema Evolution": a field keeps its id forever.
        column_ids=" ".join(str(id) for id in paths),
        field_ids={path: str(id) for id, path in paths.items()},
        snapshots=(_find_first_sequence(metadata), int(metadata.get("last-sequence-number", 0))),
    )


def read_description(
    table: str,
    columns: tuple[Column, ...],
    file: str,
    properties: Mapping[str, str],
    described: Sequence[tuple[str, str]],
) -> LakeTable:
    """Read the table from `SHOW TBLPROPERTIES` and `DESCRIBE TABLE EXTENDED`: everything except its uuid."""
    details = dict(described[described.index(("# Detailed Table Information", "")) :])
    identifier_names = properties.get("identifier-fields", "[]")[1:-1].split(",")
    names = {c.name for c in columns}
    partitions = [_parse_field(word, names) for name, word in described if re.fullmatch(r"Part \d+", name)]
    sort = [
        _parse_field(found[1], names, f" {found[2].lower()} nulls-{found[3].lower()}")
        for found in _SORTED.finditer(properties.get("sort-order", ""))
    ]
    return _make_table(
        table,
        columns,
        identity=details["Location"],
        file=file,
        properties={key: value for key, value in properties.items() if key not in _SHOWN_ONLY},
        format_version=int(properties["format-version"]),
        identifiers=tuple((c.name,) for c in columns if c.name in identifier_names),
        partitions=tuple(partitions),
        sort=tuple(sort),
        former_layout=None,
        comment=details.get("Comment"),
        # The source column of a partition field is unknown here: no column may have the field's name.
        partition_names=dict.fromkeys(_PARTITION_FIELD.findall(dict(described).get("_partition", "")), ()),
    )


def list_equality_heads(metadata: Metadata) -> tuple[int, ...]:
    """List the newest snapshots of all branches that may have equality deletes, by their ids.

    A summary without the number says nothing. Source: Iceberg table spec, "Snapshot References", "Metrics".
    """
    refs = [ref for ref in metadata.get("refs", {}).values() if ref["type"] == "branch"]
    heads = {metadata.get("current-snapshot-id"), *(ref["snapshot-id"] for ref in refs)}
    return tuple(
        each["snapshot-id"]
        for each in metadata.get("snapshots", ())
        if each["snapshot-id"] in heads
        and each.get("summary", {}).get("total-equality-deletes") != "0"
        and metadata["format-version"] > 1
    )


def _find_first_sequence(metadata: Metadata) -> int:
    """Find the sequence number of the snapshot without a parent from which the current one comes; or 0.

    A table that was replaced begins with such a snapshot again. Expired snapshots leave 0. Source: Iceberg
    table spec, "Snapshots"; measured with Iceberg 1.11.
    """
    snapshots = {each["snapshot-id"]: each for each in metadata.get("snapshots", ())}
    at = snapshots.get(metadata.get("current-snapshot-id"))
    while at is not None:
        parent = at.get("parent-snapshot-id")
        if parent is None:
            return int(at.get("sequence-number", 0))
        at = snapshots.get(parent)
    return 0


def _make_table(
    table: str,
    columns: tuple[Column, ...],
    *,
    identity: str,
    file: str,
    properties: Mapping[str, str],
    format_version: int,
    identifiers: tuple[Path, ...],
    partitions: tuple[LayoutField, ...],
    sort: tuple[LayoutField, ...],
    former_layout: tuple[Path, ...] | None,
    comment: str | None = None,
    partition_names: Mapping[str, Path],
    column_ids: str = "",
    field_ids: Mapping[Path, str] | None = None,
    snapshots: tuple[int, int] = (0, 0),
) -> LakeTable:
    names = tuple(c.name for c in columns if (c.name,) in identifiers)
    key = read_record(properties).key
    # Spark keeps the comment of a table among its properties. Source: Spark `TableCatalog.PROP_COMMENT`.
    comment = properties.get("comment") or comment or None
    return LakeTable(
        table,
        TableSchema(columns, names if key is None else key, comment),
        identity=identity,
        version=file.rpartition("/")[2],
        properties={
            **properties,
            "identifier-fields": format_identifiers(".".join(path) for path in identifiers),
            "format-version": str(format_version),
        },
        layout=tuple(dict.fromkeys(field.path[0] for field in (*partitions, *sort))),
        partitions=partitions,
        sort=sort,
        former_layout=former_layout,
        identifiers=identifiers,
        format_version=format_version,
        partition_names=partition_names,
        column_ids=column_ids,
        field_ids=field_ids or {},
        snapshots=snapshots,
    )


def _find_current(metadata: Metadata, several: str, id: str, chosen: str) -> Metadata:
    """Find the current schema, spec or order of the metadata."""
    return next((each for each in metadata.get(several, ()) if each[id] == metadata.get(chosen)), {})


def _collect_partition_names(metadata: Metadata, paths: Mapping[int, Path]) -> dict[str, Path]:
    """Collect all current and earlier partition field names, each with the column that may have that name."""
    names: dict[str, Path] = {}
    for field in (field for spec in metadata.get("partition-specs", ()) for field in spec["fields"]):
        own = paths.get(field.get("source-id"), ())
        name = str(field["name"])
        names[name] = own if names.get(name, own) == own else ()
    return names


def _collect_former_layout(metadata: Metadata, paths: Mapping[int, Path]) -> tuple[Path, ...]:
    """Collect the source fields of all partition specs and sort orders, in order of their ids.

    A void transform counts, since it still refers to its field. Source: Iceberg table spec,
    "Partition Specs", "Sort Orders", "Partition Transforms"; a transform of several fields has `source-ids`.
    """
    several = (*metadata.get("partition-specs", ()), *metadata.get("sort-orders", ()))
    fields = [field for each in several for field in each["fields"]]
    ids = {id for field in fields for id in field.get("source-ids", (field.get("source-id"),))}
    return tuple(path for id, path in paths.items() if id in ids)


def _list_paths(fields: Sequence[Metadata], above: Path) -> Iterator[tuple[int, Path]]:
    """List each field id of a schema with its path; `element`, `key` and `value` inside lists and maps."""
    for field in fields:
        here = (*above, str(field["name"]))
        yield field["id"], here
        yield from _list_inner_paths(field["type"], here)


def _list_inner_paths(type: Any, here: Path) -> Iterator[tuple[int, Path]]:
    if isinstance(type, str):
        return
    for part in ("element", "key", "value"):
        if part in type:
            yield type[f"{part}-id"], (*here, part)
            yield from _list_inner_paths(type[part], (*here, part))
    yield from _list_paths(type.get("fields", ()), here)


def _parse_field(word: str, names: Set[str], direction: str = "") -> LayoutField:
    """Parse `bucket(4, a.b)` or `a`, with back-ticks as from Spark or without as from Iceberg."""
    found = _WORD.fullmatch(word)
    transform, path = "identity", word
    if found is not None:
        transform = _TRANSFORMS.get(found[1], found[1]) + (f"[{found[2]}]" if found[2] else "")
        path = found[3]
    return LayoutField((path,) if path in names else split_table_name(path), f"{transform}{direction}")
