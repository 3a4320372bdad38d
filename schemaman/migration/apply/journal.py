"""The journal of migrations: lines that are written before and after each step and never changed.

Law: of two runs on one target, only the run that began last can still write. So a run that lost its lease
stops at its next line, whatever the clocks show.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from schemaman.errors import Conflict, Locked
from schemaman.migration.exchanged_names import NAMES_ACCEPTED
from schemaman.migration.target_id import canonicalize_target
from schemaman.migration.target_id import target_id as target_id
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableSchema
from schemaman.store.log import Entry, LogEntry, MigrationEntry

_FORGOTTEN = "forgotten"


class Journal(Protocol):
    """Keeps the lines of migrations, which are written before and after each step and never changed."""

    def read_plan_lines(self, plan: str) -> Sequence[MigrationEntry]:
        """Return the lines of one plan of all runs, oldest first."""

    def read_target_lines(self, target: str) -> Sequence[MigrationEntry]:
        """Return the lines of one target of all plans, oldest first."""

    def begin(self, *lines: MigrationEntry) -> int:
        """Add the first lines of a run, all or none, and return its number, greater than all before."""

    def write(self, *lines: MigrationEntry) -> None:
        """Add lines of one target, all or none; they are durable when this returns.

        Raises:
            Locked: another run has begun since.
        """


class Log(Protocol):
    """The part of a store that a journal needs."""

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append if the log still ends at `expect`. Raises `Conflict` otherwise."""

    def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[LogEntry]:
        """Return the entries behind `after` in order, of the given kinds or of all."""

    def end(self) -> int:
        """Return the position of the end of the log."""


class StoreJournal:
    """A journal in the registry's own log.

    The number of a run is the position of its first line in the log, which serves as a fencing token. Source:
    M. Kleppmann, "How to do distributed locking" (2016), on tokens that only grow. Each line is read once and
    kept by plan and by target, since commands query thousands of targets one after the other. Several threads
    may use one journal. Up to `_others_end` others may have written into the log.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._of_plan: dict[str, list[MigrationEntry]] = {}
        self._of_target: dict[str, list[tuple[int, MigrationEntry]]] = {}
        self._read_position = 0
        self._written_positions: dict[str, int] = {}
        self._end: int | None = None
        self._others_end = 0
        self._lock = threading.RLock()

    def read_plan_lines(self, plan: str) -> Sequence[MigrationEntry]:
        """Return the lines of one plan."""
        with self._lock:
            self._read_new_lines()
            return tuple(self._of_plan.get(plan, ()))

    def read_target_lines(self, target: str) -> Sequence[MigrationEntry]:
        """Return the lines of one target."""
        return tuple(line for _, line in self.read_dated_lines(target))

    def read_dated_lines(self, target: str) -> Sequence[tuple[int, MigrationEntry]]:
        """Return the lines of one target, each with the time when it was written (epoch ms)."""
        with self._lock:
            self._read_new_lines()
            return tuple(self._of_target.get(canonicalize_target(target), ()))

    def begin(self, *lines: MigrationEntry) -> int:
        """Append the first lines of a run, and return the position of the first one in the log."""
        with self._lock:
            self._written_positions.pop(lines[0].target, None)
            return self._append(lines)

    def write(self, *lines: MigrationEntry) -> None:
        """Append lines of one target, behind all that others write meanwhile.

        Raises:
            Locked: another run has begun on this target after this one.
        """
        with self._lock:
            self._append(lines)

    def _append(self, lines: Sequence[MigrationEntry]) -> int:
        """Append lines in one transaction, and return the position of the first one.

        While nobody else writes, the end of the log is known, and nothing has to be read.
        """
        target = lines[0].target
        while True:
            if self._end is None:
                self._end = self._others_end = self._log.end()
            self._require_newest(target)
            try:
                before, self._end = self._end, self._log.append(lines, self._end)
            except Conflict:
                self._end = None
                continue
            self._written_positions[target] = self._end
            return before + 1

    def _require_newest(self, target: str) -> None:
        seen = self._written_positions.get(target)
        if seen is None or seen >= self._others_end:
            return
        for stamped in self._log.read(seen, [MigrationEntry]):
            line = stamped.entry
            if (
                isinstance(line, MigrationEntry)
                and canonicalize_target(line.target) == target
                and line.state == "started"
            ):
                raise refuse_taken_over(target, line.run)

    def _read_new_lines(self) -> None:
        """Read the lines that were added since the last call."""
        for stamped in self._log.read(self._read_position, [MigrationEntry]):
            self._read_position, line = stamped.sequence, stamped.entry
            if isinstance(line, MigrationEntry):
                self._of_plan.setdefault(line.plan, []).append(line)
                dated = (stamped.at_ms, line)
                self._of_target.setdefault(canonicalize_target(line.target), []).append(dated)


def refuse_taken_over(target: str, run: str) -> Locked:
    """Make the error of a run that another run took over."""
    return Locked(
        f"{target}: the run {run} took over this migration after the lease had ended",
        hint="`schemaman status` shows the completed steps",
    )


@dataclass(frozen=True, slots=True)
class ExpectedTable:
    """The structure and the layout that a migration left; the layout is empty if it was not recorded."""

    structure: TableSchema
    layout: Mapping[str, str]


def find_expected_table(lines: Iterable[MigrationEntry], format: str, table: str) -> ExpectedTable | None:
    """Find what the last finished migration of a table left; None if there was none."""
    target = target_id(format, table)
    structure, layout = None, dict[str, str]()
    for line in lines:
        if canonicalize_target(line.target) != target:
            continue
        if line.state == "finished":
            structure, layout = line.statement, dict(line.layout)
        elif line.statement == NAMES_ACCEPTED:
            layout |= dict(line.layout)
    return None if structure is None else ExpectedTable(parse_columns(structure), layout)


def find_expected_structure(lines: Iterable[MigrationEntry], format: str, table: str) -> TableSchema | None:
    """Find the structure that the last finished migration of a table left; None if there was none."""
    expected = find_expected_table(lines, format, table)
    return expected.structure if expected else None


def read_drift(lines: Iterable[MigrationEntry]) -> tuple[str, str]:
    """Read the changes by others from the lines of one target, as two texts; an empty text means none.

    The first text has the changes that runs met and `drift` has not reported yet. The second text has the
    changes that `drift` found last, until a later run finishes. Lines of `drift` belong to no plan.
    """
    met: list[str] = []
    found = ""
    for line in lines:
        match line.state:
            case "drifted" if line.plan:
                met.append(line.statement)
            case "drifted" | "settled":
                met, found = [], line.statement if line.state == "drifted" else ""
            case "finished":
                found = ""
            case _:
                continue
    return "; ".join(dict.fromkeys(met)), found


def forget_target(target: str) -> MigrationEntry:
    """Make the line by which a person accepts that a target was dropped."""
    return MigrationEntry("drift", "", target, None, "settled", _FORGOTTEN)


def is_forgotten(lines: Iterable[MigrationEntry]) -> bool:
    """Whether a person has accepted that the target was dropped, and no run has begun since."""
    marks = [
        line.statement == _FORGOTTEN for line in lines if line.state in ("started", "finished", "settled")
    ]
    return bool(marks) and marks[-1]


def is_in_progress(lines: Sequence[MigrationEntry]) -> bool:
    """Whether the newest run in the lines of one target has not finished."""
    marks = [line.state for line in lines if line.state in ("started", "finished")]
    return bool(marks) and marks[-1] == "started"


def count_progress(lines: Sequence[MigrationEntry]) -> tuple[int, int]:
    """Count the steps of a plan that are done by its lines, and those that may be done.

    A step is sent only after the statement of the step before it has ended well.
    """
    done = [line.step for line in lines if line.step is not None and line.state in ("done", "skipped")]
    begun = [line.step for line in lines if line.step is not None and line.state == "intent"]
    certain = max(max(done, default=-1) + 1, max(begun, default=0))
    return certain, max([*done, *begun], default=-1) + 1


def list_run_steps(lines: Sequence[MigrationEntry]) -> list[MigrationEntry]:
    """List the lines of steps whose statement has run: done, skipped, or sent before another step of the run.

    A run that is killed between two statements of a step and its successor has not recorded the end of it.
    """
    last: dict[str, int] = {}
    for line in lines:
        if line.state == "intent" and line.step is not None:
            last[line.run] = max(line.step, last.get(line.run, 0))
    return [
        line
        for line in lines
        if line.state in ("done", "skipped")
        or (line.state == "intent" and line.step is not None and line.step < last[line.run])
    ]


def list_unrecorded_steps(lines: Iterable[MigrationEntry]) -> frozenset[int]:
    """List the steps of a plan whose statement was sent by a run that recorded no end of it."""
    newest = {line.step: line.state for line in lines if line.step is not None}
    return frozenset(step for step, state in newest.items() if state == "intent")
