"""The rows of a lake held against the numbers that the rows of a source have for life.

`bench.recorder` makes such recordings: a column of each table has the number, and no statement names it.
Only tables count that are there at the end. PostgreSQL's records do not show more, so that there a table
counts only if it kept its name, which no other one had.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import DELETED, ORDER
from tests.lake_state.lake_comparison import ComparedTable, name_event, name_order
from tests.lake_state.recording import Event, Place, read
from tests.lake_state.truth import Truth, Unplaced, truth_of

ROW = "row_number"
"""The column with the number of a row."""


@dataclass(slots=True)
class RowFaults:
    """What a reader of the lake would not expect, each as text.

    `missing`: a row of the source is in no table. `twice`: a table has it twice, or two tables without a
    successor. `stale`: the source has the row no more. `old`: a newer record of the row was not written. A
    row with a record that waits is none of these.
    """

    missing: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)

    def list_all(self) -> list[str]:
        """All faults, each with its kind."""
        kinds = {"missing": self.missing, "twice": self.twice, "stale": self.stale, "old": self.old}
        return [f"{kind}: {text}" for kind, texts in kinds.items() for text in texts]


@dataclass(frozen=True, slots=True)
class _Live:
    table: str
    order: str
    is_succeeded: bool


def find_row_faults(
    folder: Path, lake: Collection[ComparedTable], withheld: Collection[Place]
) -> RowFaults | None:
    """Find the rows that are not where the source has them; None if the recording has no numbers of rows."""
    truth = truth_of(folder)
    ends = truth.steps[-1].get("rows")
    if ends is None:
        return None
    present = {number for numbers in ends.values() for number in numbers}
    events = read(folder)
    sent = {e.after[ROW]: e for e in events if e.after and e.after.get(ROW) is not None}
    waiting = {e.after[ROW] for e in events if e.place in withheld and e.after and ROW in e.after}
    # A delete that waits does not tell which row it deletes.
    deleting = {e.place[0] for e in events if e.place in withheld and not e.after}
    live, logged = _list_live(lake)
    found = RowFaults()
    for number in _list_simple(truth, sent):
        event, rows = sent[number], live.get(number, ())
        text = f"row {number} of {event.place}: {event.op} {event.after}"
        if number in waiting:
            continue
        if number in present and not rows and number not in logged:
            found.missing.append(text)
        newest = [row for row in rows if not row.is_succeeded]
        counts = Counter(row.table for row in rows)
        if len(newest) > 1 or max(counts.values(), default=0) > 1:
            found.twice.append(f"{text} {sorted(counts)}")
        if number not in present and newest and event.place[0] not in deleting:
            found.stale.append(f"{text} {newest[0].table}")
        if number in present and any(name_order(row.order) != name_event(event) for row in newest):
            found.old.append(f"{text} {newest[0].table}")
    return found


def _list_live(lake: Collection[ComparedTable]) -> tuple[dict[int, list[_Live]], set[int]]:
    """The live rows of tables with a key, by number, and the numbers of rows in logs."""
    live: dict[int, list[_Live]] = defaultdict(list)
    logged: set[int] = set()
    for table in lake:
        is_succeeded = bool(read_record(table.live.properties).successor)
        for row in table.rows:
            if row.get(ROW) is None or row.get(DELETED):
                continue
            if table.live.schema.key:
                live[row[ROW]].append(_Live(table.live.name, str(row[ORDER]), is_succeeded))
            else:
                logged.add(row[ROW])
    return live, logged


def _list_simple(truth: Truth, sent: dict[int, Event]) -> Sequence[int]:
    """The rows of tables that are there, and kept a name of their own where no record states a rename."""
    names: dict[int, set[str]] = defaultdict(set)
    ids: dict[str, set[int]] = defaultdict(set)
    for structure in (each for state in truth.states for each in state.values()):
        names[structure.id].add(structure.name)
        ids[structure.name].add(structure.id)
    found = []
    for number, event in sent.items():
        try:
            table = truth.place(event).structure
        except Unplaced:
            continue
        is_simple = len(names[table.id]) == 1 and len(ids[table.name]) == 1
        if table.id in truth.last and (is_simple or truth.renames_are_stated):
            found.append(number)
    return found
