"""Completes declared structures with what they do not state: attributes, and a key that was read before."""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.fold.ddl_statements import complete_structure
from schemaman.history.fold.open_versions import OpenVersions
from schemaman.history.fold.stated_indexes import KEY_INDEX_DROPPED, StatedIndexes, describe_dropped_key
from schemaman.history.fold.timeline import Point
from schemaman.history.fold.version_builder import OpenVersion
from schemaman.model.schema import TableSchema


def complete_declared(
    point: Point,
    schema: TableSchema,
    current: OpenVersion | None,
    versions: OpenVersions,
    indexes: StatedIndexes,
) -> TableSchema:
    """Return a declared schema with the attributes that it lacks.

    `current` is the declared version before it, None if there is none. What remains in doubt is recorded in
    `versions` and `indexes`.
    """
    observation = point.observation
    schema = complete_structure(schema, observation, None if current is None else current.schema)
    dropped = indexes.find_dropped_key(observation, schema.key)
    if current is not None and dropped is not None and current.schema.key == schema.key:
        indexes.doubted_key = schema.key
        message = describe_dropped_key(dropped, schema)
        versions.record_disagreement(KEY_INDEX_DROPPED, current, message, point)
    if schema.key:
        indexes.is_key_from_snapshot = observation.snapshot
        return schema
    key = current.schema.key if current is not None else ()
    if current is None or not key or "key" not in observation.unstated_attributes:
        return schema
    if not indexes.is_key_from_snapshot:
        return schema
    message = f"the change names no primary key; ({', '.join(key)}) was read in a snapshot"
    versions.record_disagreement("key-not-told", current, message, point)
    indexes.doubted_key, indexes.is_unstated = key, True
    return replace(schema, key=key)
