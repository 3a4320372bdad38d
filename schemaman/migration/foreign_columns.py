"""The columns of a lake table that are not its source's: who else fills them, and how a table records it.

Law: no value of the source goes into a foreign column, and no row of the source empties it.
"""

from __future__ import annotations

from collections.abc import Collection

from schemaman.migration.plan import MigrationSource
from schemaman.migration.properties.column_swaps import read_swaps
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.stamped_version import find_stamped_version
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import KEYED, KEYLESS, ORDER
from schemaman.migration.target import LakeTable, find_column


def read_foreign(lake: LakeTable) -> frozenset[str]:
    """The columns of a table that it records as foreign, by their names in it."""
    return _select_present(lake, read_record(lake.properties).foreign)


def is_recorded_foreign(lake: LakeTable, name: str) -> bool:
    """Whether a table records a column of this name as foreign, also if it has no such column now."""
    return name.lower() in {each.lower() for each in read_record(lake.properties).foreign}


def read_added(lake: LakeTable) -> frozenset[str]:
    """The columns that plans added beyond the version of the table's stamp, by their names in it."""
    return _select_present(lake, read_record(lake.properties).added)


def list_own_columns(lake: LakeTable) -> frozenset[str]:
    """The columns that plans made beside those of the source, in lower case: no name makes them others."""
    swapped = {name for e in read_swaps(lake) for name in (e.new, e.old)}
    row_columns = dict((*KEYED, *KEYLESS)) if find_column(lake.schema, ORDER) else {}
    record = read_record(lake.properties)
    texts = (name for name, split in record.split.items() if split.holds)
    names = (*read_displaced(lake), *record.metadata.values(), *swapped, *row_columns, *texts)
    return frozenset(name.lower() for name in names)


def find_unrecorded_columns(source: MigrationSource, lake: LakeTable) -> dict[str, frozenset[str | None]]:
    """Columns that came after the table's stamp, and that no plan records: another writer added them.

    Each with what the source calls the columns that have had its name since, None for a dropped one; empty if
    no column had it.
    """
    stamped = find_stamped_version(source, lake)
    if stamped is None:
        return {}
    before = {name.lower() for past in source.past[: stamped + 1] for name in past.names}
    recorded = {name.lower() for name in read_record(lake.properties).names}
    recorded |= {name.lower() for name in read_added(lake) | read_foreign(lake)}
    recorded |= before | list_own_columns(lake)
    found: dict[str, frozenset[str | None]] = {}
    for name in lake.schema.names:
        if name.lower() not in recorded:
            later = (p.names.items() for p in source.past[stamped + 1 :])
            pairs = (pair for items in later for pair in items)
            found[name] = frozenset(now for then, now in pairs if then.lower() == name.lower())
    return found


def find_foreign_columns(source: MigrationSource, lake: LakeTable) -> frozenset[str]:
    """The columns that others fill: the source never had them, or others added them when it had dropped them.

    `lake` has all columns of the table, under its own names.
    """
    known = {name.lower() for past in source.past for name in past.names}
    known |= {name.lower() for name in source.schema.names} | list_own_columns(lake)
    known |= {name.lower() for name in read_record(lake.properties).names}
    known |= {path[0].lower() for path in read_record(lake.properties).kept if len(path) == 1}
    never = {name for name in lake.schema.names if name.lower() not in known}
    dropped = {name for name, now in find_unrecorded_columns(source, lake).items() if now == {None}}
    return frozenset(never | dropped) | read_foreign(lake)


def _select_present(lake: LakeTable, recorded: Collection[str]) -> frozenset[str]:
    """The recorded names that columns of the table have, as the table spells them."""
    names = {name.lower() for name in recorded}
    return frozenset(name for name in lake.schema.names if name.lower() in names)
