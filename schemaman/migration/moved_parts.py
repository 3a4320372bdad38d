"""What a lake table records of its split columns when it follows its source to another name.

Law: the history of the new name does not show the earlier versions, so that the table itself tells which
columns hold earlier values. A row that is written under the new name has its value in one column alone.
"""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.versions import TableHistory
from schemaman.migration.column_map import make_column_map
from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.plan import MigrationSource
from schemaman.migration.properties.names import SPLIT_PROPERTY
from schemaman.migration.properties.stamped_version import find_stamped_version, format_began
from schemaman.migration.properties.table_record import SplitColumn, format_split, read_record
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import FORMER, find_part_ids, split_columns
from schemaman.migration.target import LakeTable


def record_moved_parts(history: TableHistory, lake: LakeTable, following: MigrationSource) -> dict[str, str]:
    """The property of a table with split columns for the next name of its source; empty if none is split.

    `history` is that of the earlier name, with the table's incarnation as its newest and not split.
    `following` is the source under its next name, at the version that the table has.
    """
    known = read_record(lake.properties).split
    source = migration_source(history)
    stamped = find_stamped_version(source, lake)
    if not known or stamped is None:
        return {}
    incarnation = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    newest = {c.id: c.name for c in incarnation[stamped].schema.columns if c.id is not None}
    held = list_parts(history, lake, stamped)
    current = {id: parts[-1] for id, parts in held.items()}
    ids = find_part_ids(history, known)
    for id, parts in held.items():
        ids |= dict.fromkeys(parts, id)
    version = following.past[-1]
    found: dict[str, SplitColumn] = {}
    for name, id in ids.items():
        part = known.get(name)
        if id not in newest or name not in lake.schema.names:
            continue
        is_typed = part is None or not part.holds
        if is_typed and name == current.get(id):
            if part is None:  # it has the name of its column: nothing tells the two apart
                continue
        elif is_typed:
            part = replace(part or SplitColumn("", "", ""), holds=FORMER, beside="", gathered="")
        assert part is not None
        is_known = part.column == newest[id]
        found[name] = (
            part
            if is_known and part.version
            else replace(part, column=newest[id], version=version.id, began=format_began(version.began))
        )
    return {SPLIT_PROPERTY: format_split(found)}


def list_parts(history: TableHistory, lake: LakeTable, stamped: int) -> dict[int, list[str]]:
    """The columns of a table that hold values of a split column, by its id: that of the stamped version last.

    A column that the stamped version lacks is not among them.
    """
    joined = split_columns(history, lake)
    source = migration_source(joined)
    foreign = find_foreign_columns(source, lake)
    own = tuple(c for c in lake.schema.columns if c.name not in foreign)
    names = make_column_map(source, replace(lake, schema=replace(lake.schema, columns=own))).names
    first = len(history.versions) - len(source.past)
    found: dict[int, dict[str, None]] = {}
    for version, split in list(zip(history.versions, joined.versions, strict=True))[
        first : first + stamped + 1
    ]:
        for column, part in zip(version.schema.columns, split.schema.columns, strict=False):
            name = None if part.id is None else names.get(part.id)
            if column.id is not None and name is not None:
                found.setdefault(column.id, {}).pop(name, None)
                found[column.id][name] = None
    return {id: [*parts] for id, parts in found.items()}
