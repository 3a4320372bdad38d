"""Which successors get the rows of the table before them, and from where these rows came.

Law: rows are taken only from a table of which it is certain that it followed the same table of the source.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.properties.names import KEPT_PROPERTY, format_paths
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.recipes.filled_successors import list_column_ids
from schemaman.migration.replacement_table import CarriedColumns
from schemaman.migration.source import migration_source
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.successor_rows import RowOrigin
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column
from schemaman.sink.column_mapping import find_incarnation
from schemaman.sink.row_places import find_first_version, find_rebuilt, is_of_sink


def may_fill(
    history: TableHistory,
    before: LakeTable,
    version: SchemaVersion,
    key: Collection[str],
    *,
    is_demanded: bool,
) -> bool:
    """Whether a table that begins with a version, with this key, may get the rows of the table before it.

    One of the two has a key, and the other one has none. `is_demanded`: a rule of the user wants it. Without
    one, a statement of the source must show that the table was not made anew: PostgreSQL sends no DROP.
    """
    if bool(before.schema.key) == bool(key) or read_record(before.properties).untyped:
        return False
    if not is_of_sink(before) or find_incarnation(before, history) != version.incarnation:
        return False
    if _is_perhaps_another_table(history, version.number, before):
        return False
    return is_demanded or any(evidence.kind == "declared" for evidence in version.evidence)


def is_filling_due(
    history: TableHistory, before: LakeTableAt, after: LakeTableAt, *, is_demanded: bool
) -> bool:
    """Whether a successor lacks rows of the table before it that may be filled in; see `may_fill`."""
    filled = read_record(after.lake.properties).filled
    if filled is not None and (filled.table, filled.version) == (before.address, before.lake.version):
        return False
    first = find_first_version(history, after.lake)
    version = next((v for v in history.versions if v.number == first), None)
    key = after.lake.schema.key
    return version is not None and may_fill(history, before.lake, version, key, is_demanded=is_demanded)


def find_carried_columns(history: TableHistory, before: LakeTable) -> CarriedColumns:
    """Find the columns of a table that its source has dropped: a successor needs them to get their values."""
    ids = list_column_ids(migration_source(history), before)
    present = {c.id for c in history.latest.schema.columns}
    names = {c.name.lower() for c in history.latest.schema.columns}
    found = tuple(
        Column(c.name, c.type, comment=c.comment)
        for c in before.schema.columns
        if c.name in ids and ids[c.name] not in present and c.name.lower() not in names
    )
    kept = {KEPT_PROPERTY: format_paths([(c.name,) for c in found])} if found else {}
    return CarriedColumns(found, kept)


def _is_perhaps_another_table(history: TableHistory, first: int, lake: LakeTable) -> bool:
    """Whether the source of the rows from a version on may be another table than that of a lake table."""
    cut = replace(history, versions=tuple(v for v in history.versions if v.number <= first))
    if find_rebuilt(cut, lake) is not None:
        return True
    return any(d.kind == "perhaps-made-anew" and first in d.versions for d in history.disagreements)


def find_origin(history: TableHistory) -> RowOrigin:
    """Find where the rows of a source came from, as far as it is one place."""
    topics = history.topics
    return RowOrigin(history.table.stream, topics[0] if len(topics) == 1 else "")
