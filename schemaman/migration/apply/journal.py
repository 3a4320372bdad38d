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

    def begin(self, line: MigrationEntry) -> int:
        """Add the first line of a run, and return its number, which is greater than all before."""

    def write(self, line: MigrationEntry) -> None:
        """Add a line; it is durable when this returns. Raises `Locked` if another run has begun since."""


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
    may use one journal.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._of_plan: dict[str, list[MigrationEntry]] = {}
        self._of_target: dict[str, list[tuple[int, MigrationEntry]]] = {}
        self._read_position = 0
        self._written_positions: dict[str, int] = {}
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

    def begin(self, line: MigrationEntry) -> int:
        """Append the first line of a run, and return its position in the log."""
        self._written_positions.pop(line.target, None)
        return self._append(line)

    def write(self, line: MigrationEntry) -> None:
        """Append a line, behind all that others write meanwhile.

        Raises:
            Locked: another run has begun on this target after this one.
        """
        self._append(line)

    def _append(self, line: MigrationEntry) -> int:
        with self._lock:
            while True:
                end = self._log.end()
                self._require_newest(line.target)
                try:
                    self._written_positions[line.target] = position = self._log.append([line], end)
                except Conflict:
                    continue
                return position

    def _require_newest(self, target: str) -> None:
        seen = self._written_positions.get(target)
        if seen is None:
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
    """Count the steps of a plan that are done by its lines, and those that may be done."""
    done = [line.step for line in lines if line.step is not None and line.state in ("done", "skipped")]
    begun = [line.step for line in lines if line.step is not None and line.state == "intent"]
    return max(done, default=-1) + 1, max([*done, *begun], default=-1) + 1


def list_unrecorded_steps(lines: Iterable[MigrationEntry]) -> frozenset[int]:
    """List the steps of a plan whose statement was sent by a run that recorded no end of it."""
    newest = {line.step: line.state for line in lines if line.step is not None}
    return frozenset(step for step, state in newest.items() if state == "intent")
