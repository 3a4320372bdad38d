"""Find the incarnation of its source that a lake table holds, by its own version stamp."""

from __future__ import annotations

from schemaman.history.versions import TableHistory
from schemaman.migration.properties.stamped_version import find_version_around, format_began
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
    same = [(incarnation, previous) for incarnation, previous in pasts if previous.has_id(stamp)]
    exact = {incarnation for incarnation, previous in same if format_began(previous.began) == began}
    found = exact or {incarnation for incarnation, _ in same}
    # A table that came by a rename which was read late may lack rows of its former name, which is stated.
    is_placed = record.source == str(history.table) and all(a.kind != "table" for a in history.aliases)
    if len(found) > 1 or (found and is_placed and not exact):
        # A structure that was read late moves the beginning of a version, but not behind what was of it.
        # Tables of one structure share their ids, and a version in the midst of a run of records has lost
        # the one that its rows gave it: the place of an own stamp tells more than its id.
        around = find_version_around([previous for _, previous in pasts], began)
        if around is not None and (is_placed or pasts[around][1].has_id(stamp)):
            found = {pasts[around][0]}
    return found.pop() if len(found) == 1 else None
