"""What an ingest did, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from schemaman.debezium.observation import Reject
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import TableId
from schemaman.store.log import RenumberingEntry

SHOWN_REJECTS = 5
NO_PARTITION = -1
"""Partition of a reject that is a line of a file: its topic is the file, its offset the line."""


@dataclass(frozen=True, slots=True)
class Summary(DisplayedValue):
    """What an ingest did.

    Of the `read` records, `new` = read - known were recorded; each record is new once.
    `skipped` are new records without facts about a table, by kind.
    `rejects` counts new records that could not be read. It also counts lines that are no records, and records
    whose schema is not known yet, each time they are read. `first_rejects` are the first few of them.
    `waiting` counts known records that still wait for their schema. `notes` counts new notes.
    `tables` are the tables of the records, in order. `shifts` are known versions with another number now,
    in the order of the log. `truncated` are sources that end early: records behind their end are missing.
    `unchanged_files` were not read again: they are as they were at `unchanged_since_ms` (epoch ms, 0 for
    none), and their records count as known.
    """

    read: int = 0
    known: int = 0
    observations: int = 0
    rejects: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    first_rejects: tuple[Reject, ...] = ()
    tables: tuple[TableId, ...] = ()
    waiting: int = 0
    notes: int = 0
    shifts: tuple[RenumberingEntry, ...] = ()
    truncated: tuple[str, ...] = ()
    unchanged_files: int = 0
    unchanged_since_ms: int = 0

    def __repr__(self) -> str:
        return (
            f"<Summary: {count_noun(self.read, 'record')} read, {self.new} new, {self.rejects} rejected, "
            f"{count_noun(len(self.tables), 'table')}>"
        )

    @property
    def new(self) -> int:
        """Records that had not been read before."""
        return self.read - self.known

    def __add__(self, other: Summary) -> Summary:
        """What both did, this one first."""
        skipped_counts = Counter(dict(self.skipped))
        skipped_counts.update(dict(other.skipped))
        return Summary(
            self.read + other.read,
            self.known + other.known,
            self.observations + other.observations,
            self.rejects + other.rejects,
            tuple(sorted(skipped_counts.items())),
            (*self.first_rejects, *other.first_rejects)[:SHOWN_REJECTS],
            tuple(sorted({*self.tables, *other.tables})),
            self.waiting + other.waiting,
            self.notes + other.notes,
            (*self.shifts, *other.shifts),
            tuple(sorted({*self.truncated, *other.truncated})),
            self.unchanged_files + other.unchanged_files,
            max(self.unchanged_since_ms, other.unchanged_since_ms),
        )
