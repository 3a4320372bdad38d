"""Gives a renamed table the structure that it had under its previous name.

Connectors publish some renames as a statement alone, and a rename changes no column. A statement that renames
a table and changes its columns counts as two: the rename first, then the change, so that the columns that
stay are the same ones. Law: a structure is taken only from the records before the rename in its own
partition. A rename without a structure gets none that one of these records leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from schemaman.debezium.observation import DDL_WITHOUT_STRUCTURE, Note, Observation
from schemaman.debezium.records import Position
from schemaman.model.schema import TableId
from schemaman.plugins import defer
from schemaman.store.log import Entry, NoteEntry, ObservationEntry

if TYPE_CHECKING:  # only a rename has a statement to read
    from schemaman.debezium.ddl.event_facts import read_ddl
else:
    read_ddl = defer("schemaman.debezium.ddl.event_facts:read_ddl")

LoadObservations = Callable[[TableId], Iterable[Observation]]
ListNotes = Callable[[TableId], Iterable[Note]]
_Fact = Observation | Note


def add_renamed_structures(
    entries: Sequence[Entry], load_observations: LoadObservations, list_notes: ListNotes
) -> tuple[Entry, ...]:
    """Return new entries, in which each rename has the structure of the previous name, if that is known.

    `entries` are in the order of their records. The two functions give what the log has of a table.
    """
    found: list[Entry] = []
    for entry in entries:
        if isinstance(entry, ObservationEntry) and _lacks_previous_structure(entry.observation):
            rename, previous = entry.observation, entry.observation.previous
            assert previous is not None
            known: tuple[_Fact, ...] = (*load_observations(previous), *list_notes(previous))
            before = [fact for fact in known if _find_offset(fact, rename) < rename.first.offset]
            before.sort(key=lambda fact: _find_offset(fact, rename))
            shown = _find_structure(previous, [*before, *_list_facts(found, rename)], rename)
            if shown is not None:
                found += map(ObservationEntry, _split_rename(rename, shown))
                continue
        found.append(entry)
    return tuple(found)


def _lacks_previous_structure(observation: Observation) -> bool:
    """Whether a rename has no structure, or one that its own statement may have changed."""
    if observation.action != "rename" or observation.evidence != "declared" or observation.previous is None:
        return False
    renames_alone = read_ddl(observation.ddl or "", observation.connector).renames_alone
    if observation.schema is None:
        return renames_alone
    return not renames_alone and observation.first.position.kind == "binlog"


def _split_rename(rename: Observation, shown: Observation) -> tuple[Observation, ...]:
    """The rename with the structure that the previous name had, and the change of it if it has its own.

    The change has the next position within the event, since a version is known by where it began.
    """
    moved = replace(rename, schema=shown.schema, unstated_attributes=shown.unstated_attributes)
    if rename.schema is None:
        return (moved,)
    event, _, row = rename.first.position.value.rpartition(":")
    at = replace(rename.first, position=Position("binlog", f"{event}:{int(row) + 1}"))
    changed = replace(rename, action="image", previous=None, first=at, last=at)
    return replace(moved, renames=(), stated_attributes=()), changed


def _list_facts(entries: Iterable[Entry], rename: Observation) -> Iterator[_Fact]:
    """List the facts of entries that stand before a rename in its partition."""
    for entry in entries:
        if isinstance(entry, ObservationEntry):
            fact: _Fact = entry.observation
        elif isinstance(entry, NoteEntry):
            fact = entry.note
        else:
            continue
        if 0 <= _find_offset(fact, rename) <= rename.first.offset:
            yield fact


def _find_offset(fact: _Fact, rename: Observation) -> int:
    """The offset of a fact in the partition of a rename; -1 if it is in another one."""
    at = fact if isinstance(fact, Note) else fact.first
    own = (at.topic, at.partition) == (rename.first.topic, rename.first.partition)
    return at.offset if own else -1


def _find_structure(table: TableId, facts: Iterable[_Fact], rename: Observation) -> Observation | None:
    """Find the declared structure of a table after facts in their order; None if it is not certain."""
    shown: Observation | None = None
    for fact in facts:
        if _find_offset(fact, rename) < 0:
            continue
        if isinstance(fact, Note):
            # a rename that has a structure needs only the columns of the last version before it
            is_open = rename.schema is None and fact.kind == DDL_WITHOUT_STRUCTURE and fact.table == table
            shown = None if is_open and fact.offset < rename.first.offset else shown
        elif table in (fact.table, fact.previous) and fact.action != "truncate":
            shown = fact if fact.table == table and fact.schema is not None else None
    return shown
