"""Find the incarnation of its source that a lake table holds, by its own version stamp."""

from __future__ import annotations

from schemaman.history.versions import TableHistory
from schemaman.migration.properties.stamped_version import format_began
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.source import migration_source
from schemaman.migration.target import LakeTable


def find_incarnation(live: LakeTable, history: TableHistory) -> int | None:
    """The incarnation of the source whose rows a lake table holds, by its version stamp; None if unknown."""
    record = read_record(live.properties)
    stamp, began = record.version, record.began
    if stamp is None:
        return None
    source, last = migration_source(history), history.latest.incarnation
    mine = zip([v.incarnation for v in history.versions if v.incarnation == last], source.past, strict=True)
    ended = zip([v.incarnation for v in history.versions if v.incarnation != last], source.ended, strict=True)
    pasts = [*mine, *ended]
    there = [
        (incarnation, format_began(previous.began) == began)
        for incarnation, previous in pasts
        if previous.has_id(stamp)
    ]
    exact = {incarnation for incarnation, same in there if same} or {incarnation for incarnation, _ in there}
    return exact.pop() if len(exact) == 1 else None
