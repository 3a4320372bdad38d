"""Find the incarnation of its source that a lake table holds, by its own version stamp."""

from __future__ import annotations

from schemaman.history.versions import TableHistory
from schemaman.migration.properties.stamped_version import find_version, format_began
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
    pasts = [*ended, *mine]
    there = [
        (incarnation, format_began(previous.began) == began)
        for incarnation, previous in pasts
        if previous.has_id(stamp)
    ]
    exact = {incarnation for incarnation, same in there if same} or {incarnation for incarnation, _ in there}
    if len(exact) > 1:
        # A structure that was read late moves the beginning of a version, but not behind what was of it.
        around = find_version([previous for _, previous in pasts], stamp, began)
        exact = set() if around is None else {pasts[around][0]}
    return exact.pop() if exact else None
