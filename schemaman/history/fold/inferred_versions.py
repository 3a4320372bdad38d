"""Makes versions without schemas: from all documents together, and from rows by their column names.

Laws: a fact that becomes known later, such as a type that nulls hid, changes no id. Later documents change no
settled version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schemaman.debezium.inference import NULL_ONLY, make_time_key, merge_row_schemas
from schemaman.debezium.observation import ALTERNATIONS, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.column_ids import identify_columns
from schemaman.history.fold.inferred_schema import list_remarks, publish_observations
from schemaman.history.fold.timeline import Point, build_timeline, merge_runs
from schemaman.history.fold.version_builder import OpenVersion, VersionShape, fingerprint_names
from schemaman.history.versions import Revision
from schemaman.model.schema import TableSchema, fingerprint

WeightSplit = tuple[tuple[Observation, ...], tuple[Observation, ...], tuple[Observation, ...]]


def split_by_weight(observations: Iterable[Observation]) -> WeightSplit:
    """Split observations: those that make versions one by one, documents that make them together, and others.

    Better evidence supersedes inferred facts; documents contain more facts than rows without a schema.
    """
    known = tuple(observations)
    inferred = tuple(o for o in known if o.evidence == "inferred" and o.action == "image")
    if not inferred:
        return known, (), ()
    better = tuple(o for o in known if o.evidence != "inferred" or o.action != "image")
    if any(o.schema is not None for o in better):
        return better, (), inferred
    documents = tuple(o for o in inferred if o.schema is None and o.inferred is not None)
    rows = tuple(o for o in inferred if o.schema is not None)
    silent = tuple(o for o in inferred if o.schema is None and o.inferred is None)
    if documents or len({fingerprint_names(o.schema) for o in rows if o.schema is not None}) > ALTERNATIONS:
        return better, (*documents, *(replace(o, schema=None) for o in rows)), silent
    return better + rows, (), silent


@dataclass(frozen=True, slots=True)
class DocumentVersions:
    """Make the versions of a collection, each containing the previous one; and the notes about the newest."""

    versions: tuple[OpenVersion, ...] = ()
    remarks: tuple[tuple[str, str, tuple[Coordinates, ...]], ...] = ()
    repeated: tuple[Observation, ...] = ()


def build_document_versions(documents: Sequence[Observation]) -> DocumentVersions:
    """The versions that documents support together; those that were delivered again do not count again."""
    line = build_timeline(documents)
    if not line.points:
        return DocumentVersions()
    published, inferred = publish_observations(tuple(dict.fromkeys(p.observation for p in line.points)))
    versions: list[OpenVersion] = []
    known: TableSchema | None = None
    next_id = 1
    for order, (one, after) in enumerate(published):
        if one.schema is None:
            continue
        known = identify_columns(known, one.schema, (), False, next_id)
        next_id = max([next_id, *((c.id or 0) + 1 for c in known.columns)])
        edges = [Point((order, (), 0, 0, "", 0, n), m, one) for n, m in enumerate((one.first, one.last))]
        if versions:
            versions[-1].until = one.first
        shape = VersionShape(fingerprint(known), (Revision(0, known, one.first),))
        versions.append(OpenVersion(1, after, one.first, shape, edges))
    return DocumentVersions(
        tuple(versions), list_remarks(inferred, _find_last_offsets(documents)), line.repeated
    )


def count_records(versions: Sequence[OpenVersion], observations: Collection[Observation]) -> None:
    """Add records that support the version of their time without new facts."""
    if not observations:
        return
    starts = [make_time_key(version.at) for version in versions]
    for one in merge_runs(observations):
        index = sum(start <= make_time_key(one.first) for start in starts) - 1
        versions[max(index, 0)].repeats.append(one)


def learn_types(version: OpenVersion, schema: TableSchema) -> bool:
    """Add what other rows of the same names showed; False if they have other names or another key."""
    if version.schema.key != schema.key or set(version.schema.names) != set(schema.names):
        return False
    _set_schema(version, merge_row_schemas(version.schema, schema))
    return True


def uncover_types(versions: Sequence[OpenVersion]) -> None:
    """Take types that nulls hide in one version from its neighbours: no evidence shows a change."""
    kinds = {type(column.type) for version in versions for column in version.schema.columns}
    if type(NULL_ONLY) not in kinds:
        return
    for line in (versions, versions[::-1]):
        for before, after in pairwise(line):
            known = {c.id: c.type for c in before.schema.columns}
            columns = after.schema.columns
            if before.incarnation == after.incarnation and any(c.type == NULL_ONLY for c in columns):
                types = [known.get(c.id, c.type) if c.type == NULL_ONLY else c.type for c in columns]
                uncovered = tuple(replace(c, type=type) for c, type in zip(columns, types, strict=True))
                _set_schema(after, replace(after.schema, columns=uncovered))


def _set_schema(version: OpenVersion, schema: TableSchema) -> None:
    *earlier, last = version.shape.revisions
    version.shape = replace(version.shape, revisions=(*earlier, replace(last, schema=schema)))


def _find_last_offsets(observations: Iterable[Observation]) -> Mapping[tuple[str, int], int]:
    """The last offset of each topic and partition."""
    lasts: dict[tuple[str, int], int] = {}
    for mark in (o.last for o in observations):
        partition = (mark.topic, mark.partition)
        lasts[partition] = max(mark.offset, lasts.get(partition, 0))
    return lasts
