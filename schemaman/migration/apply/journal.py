"""The journal of migrations: lines that are written before and after each step and never changed.

Law: of two runs that write about one target, only the one that began last can still write; so nobody who was
taken for dead goes on, whatever the clocks say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from schemaman.errors import Conflict, Locked
from schemaman.migration.target_id import canonicalize_target
from schemaman.migration.target_id import target_id as target_id
from schemaman.model.column_list import parse_columns
from schemaman.model.schema import TableSchema
from schemaman.store.log import Entry, LogEntry, MigrationEntry

_FORGOTTEN = "forgotten"


class Journal(Protocol):
    """Where the lines of migrations are kept: written before and after each step, never changed."""

    def read_plan_lines(self, plan: str) -> Sequence[MigrationEntry]:
        """The lines of one plan, oldest first, whatever run wrote them."""

    def read_target_lines(self, target: str) -> Sequence[MigrationEntry]:
        """The lines of one target, oldest first, whatever plan they belong to."""

    def begin(self, line: MigrationEntry) -> int:
        """Add the first line of a run; a number that is greater than that of every run before."""

    def write(self, line: MigrationEntry) -> None:
        """Add a line; it is durable when this returns. Raises `Locked`: another run has begun since."""


class Log(Protocol):
    """The part of a store that a journal needs."""

    def append(self, entries: Sequence[Entry], expect: int) -> int:
        """Append if the log still ends at `expect`. Raises `Conflict` otherwise."""

    def read(self, after: int = 0, kinds: Iterable[type[Entry]] = ()) -> Iterator[LogEntry]:
        """The entries behind `after` in order, of the given kinds or of all."""

    def end(self) -> int:
        """Where the log ends."""


class StoreJournal:
    """A journal in the registry's own log.

    A run is numbered by the place of its first line in the log, which serves as a fencing token. Source:
    M. Kleppmann, "How to do distributed locking" (2016), on tokens that only grow. Lines lie by plan and by
    target, each read once: commands ask of thousands of targets, one after the other.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._of_plan: dict[str, list[MigrationEntry]] = {}
        self._of_target: dict[str, list[MigrationEntry]] = {}
        self._read_position = 0
        self._written_positions: dict[str, int] = {}

    def read_plan_lines(self, plan: str) -> Sequence[MigrationEntry]:
        """The lines of one plan."""
        self._read_new_lines()
        return tuple(self._of_plan.get(plan, ()))

    def read_target_lines(self, target: str) -> Sequence[MigrationEntry]:
        """The lines of one target."""
        self._read_new_lines()
        return tuple(self._of_target.get(canonicalize_target(target), ()))

    def begin(self, line: MigrationEntry) -> int:
        """Append the first line of a run; its place in the log."""
        self._written_positions.pop(line.target, None)
        return self._append(line)

    def write(self, line: MigrationEntry) -> None:
        """Append a line, behind whatever else is written meanwhile.

        Raises:
            Locked: another run has begun on this target since ours did.
        """
        self._append(line)

    def _append(self, line: MigrationEntry) -> int:
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
        """Take in the lines that have come since the last look."""
        for stamped in self._log.read(self._read_position, [MigrationEntry]):
            self._read_position, line = stamped.sequence, stamped.entry
            if isinstance(line, MigrationEntry):
                self._of_plan.setdefault(line.plan, []).append(line)
                self._of_target.setdefault(canonicalize_target(line.target), []).append(line)


def refuse_taken_over(target: str, run: str) -> Locked:
    """The refusal to go on beside a run that has begun since."""
    return Locked(
        f"{target}: the run {run} took over this migration after the lease had ended",
        hint="run `schemaman status`; the journal holds the steps that are done",
    )


def find_expected_structure(lines: Iterable[MigrationEntry], format: str, table: str) -> TableSchema | None:
    """The structure that the last finished migration of a table left; None if there was none."""
    target = target_id(format, table)
    finished = [
        line for line in lines if canonicalize_target(line.target) == target and line.state == "finished"
    ]
    return parse_columns(finished[-1].statement) if finished else None


def read_drift(lines: Iterable[MigrationEntry]) -> tuple[str, str]:
    """What the lines of one target tell of changes by others, each empty if there is nothing to tell.

    First those that runs met and went on from, for as long as `drift` has not told of them; then what `drift`
    found when it last looked, for as long as no run has finished since. Lines of `drift` belong to no plan.
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
    """The line by which a person says that a target is rightly gone."""
    return MigrationEntry("drift", "", target, None, "settled", _FORGOTTEN)


def is_forgotten(lines: Iterable[MigrationEntry]) -> bool:
    """Whether a person has let the target of these lines go, and nobody has begun to migrate it since."""
    marks = [
        line.statement == _FORGOTTEN for line in lines if line.state in ("started", "finished", "settled")
    ]
    return bool(marks) and marks[-1]


def is_in_progress(lines: Sequence[MigrationEntry]) -> bool:
    """Whether the newest run that the lines of one target tell of has not finished."""
    marks = [line.state for line in lines if line.state in ("started", "finished")]
    return bool(marks) and marks[-1] == "started"


def count_progress(lines: Sequence[MigrationEntry]) -> tuple[int, int]:
    """How many steps of a plan its lines know to be done, and how many may be."""
    done = [line.step for line in lines if line.step is not None and line.state in ("done", "skipped")]
    begun = [line.step for line in lines if line.step is not None and line.state == "intent"]
    return max(done, default=-1) + 1, max([*done, *begun], default=-1) + 1
