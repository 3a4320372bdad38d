"""Lake tables kept behind their sources: looked at, planned for, moved as far as the policy lets them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from schemaman.errors import BadConfiguration, SchemamanError, SessionLost, UnreadableInput
from schemaman.history.decisions import Decisions
from schemaman.ingest.ingest import Summary
from schemaman.migration.apply.journal import find_expected_structure, is_in_progress, read_drift, target_id
from schemaman.migration.plan import Plan, describe_change
from schemaman.migration.plan_file import from_text, plan_hash
from schemaman.model.diff import diff
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.report.json.sync import FollowedTable, State
from schemaman_cli.faults import report_of, unforeseen
from schemaman_cli.lake import Follower, all_followers
from schemaman_cli.main import FAILED
from schemaman_cli.main import exit_code as code_of
from schemaman_cli.migrating import Mover, Wishes, exit_code, new_run
from schemaman_cli.options import Door
from schemaman_cli.plan_files import plan_file, write_plan
from schemaman_cli.planning import planned
from schemaman_cli.wiring import decisions_of

_REST = 60.0
"""Seconds before a table that failed is tried again, if nothing new is said of it."""


class Keeper:
    """Keeps all lake tables of the settings behind their sources, round after round.

    A table is looked at in the first round, when its source was spoken of, and as long as it does not follow.
    Plans that people have to see lie in `folder`, one file a lake table.
    """

    def __init__(self, door: Door, registry: Registry, folder: Path, *, partial: bool = False) -> None:
        self._partial = partial
        self._door = door
        self._registry = registry
        self._folder = folder
        self._mover: Mover | None = None
        self._heard: set[TableId] = set()
        self._met: dict[tuple[str, str], tuple[str, ...]] = {}
        self._unsettled: set[tuple[str, str]] | None = None
        self._rests: dict[tuple[str, str], float] = {}

    def hear(self, read: Summary) -> None:
        """Keep in mind which sources were spoken of, for the next round."""
        self._heard |= set(read.tables)

    def round(self, answers: Decisions) -> tuple[FollowedTable, ...]:
        """Look at what may not follow any more, and have it follow, as far as people have answered.

        Raises:
            CouldNotDo: Spark does not start or is gone, or the store cannot be read.
        """
        chosen = self._chosen(all_followers(self._door, self._registry, answers))
        self._heard.clear()
        if not chosen:
            return ()
        if self._mover is None:
            self._mover = Mover(self._door, Wishes(partial=self._partial), answers)
        self._mover.approved = answers
        found = tuple(self._followed(self._mover, follower) for follower in chosen)
        self._unsettled = (self._unsettled or set()) - {_place(f) for f in found}
        self._unsettled |= {_place(f) for f in found if not f.is_current}
        rest = time.monotonic() + _REST
        self._rests |= {_place(f): rest for f in found if f.state == "failed"}
        return found

    def _chosen(self, there: Sequence[Follower]) -> tuple[Follower, ...]:
        if self._unsettled is None:
            return tuple(there)
        now = time.monotonic()
        waiting = {place for place in self._unsettled if self._rests.get(place, now) <= now}
        return tuple(f for f in there if f.history.table in self._heard or (f.target, f.table) in waiting)

    def _followed(self, mover: Mover, follower: Follower) -> FollowedTable:
        """One lake table; what is wrong with it stops it alone."""
        self._door.console.progress(f"looking at {follower.table}")
        try:
            return self._moved(mover, follower)
        except SessionLost:
            raise
        except SchemamanError as error:
            reason = f"{error.message}; {error.hint}" if error.hint else error.message
            return _told(follower, "failed", code=code_of(error), reasons=(reason,))
        except Exception as error:  # nobody foresaw it; the others go on all the same
            reason = f"{unforeseen(error)}; {report_of(str(follower.history.table))}"
            return _told(follower, "failed", code=FAILED, reasons=(reason,))

    def _moved(self, mover: Mover, follower: Follower) -> FollowedTable:
        plan = planned(self._door, mover.around, follower)
        file = plan_file(self._folder, follower.target, follower.table)
        met = _foreign(mover, plan)
        if not plan.steps and not plan.refusals:
            _remove(file)
            return _told(follower, "current", reasons=self._news(follower, met))
        plan = _seen_before(plan, file, mover.store.now_ms())
        done = mover.moved(new_run(), plan)
        foreign = tuple(f"someone else had changed it before: {describe_change(c)}" for c in done.foreign)
        ran = tuple(o.statement for o in done.outcomes if o.state == "done")
        if done.state != "refused" and not plan.refusals:
            _remove(file)
            code = exit_code(done, plan, partial=False)
            reasons: tuple[str, ...] = ("it is not what its plan promised: schemaman drift",) if code else ()
            return _told(follower, "failed" if code else "applied", code, plan, "", ran, (*reasons, *foreign))
        write_plan(file, plan)
        refused = tuple(f"{r.change}: {r.reason}; instead: {r.instead}" for r in plan.refusals)
        # With --partial a refusal stops nothing: what stopped the plan is that nobody has approved it.
        waits = done.state == "refused" and (self._partial or not plan.refusals)
        reasons = (*dict.fromkeys((*done.reasons, *refused)), *(foreign or met))
        return _told(follower, "waiting" if waits else "refused", 1, plan, str(file), ran, reasons)

    def _news(self, follower: Follower, met: tuple[str, ...]) -> tuple[str, ...]:
        """What others changed of a table with which nothing is to be done, once each time that it changes."""
        place = (follower.target, follower.table)
        before, self._met[place] = self._met.get(place, ()), met
        return met if met != before else ()


class Said:
    """What people have answered, round after round; a fault of their file is told each time it changes."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._fault = ""

    def answers(self) -> Decisions | None:
        """The answers; None while they cannot be read: somebody may be writing them just now."""
        try:
            found = decisions_of(self._door)
        except (BadConfiguration, UnreadableInput) as error:
            if error.message != self._fault:
                self._fault = error.message
                what = f"{error.message}; no lake table is moved until it is mended"
                self._door.console.warn(what, error.hint)
            return None
        self._fault = ""
        return found


def _place(followed: FollowedTable) -> tuple[str, str]:
    return (followed.target, followed.lake_table)


def _foreign(mover: Mover, plan: Plan) -> tuple[str, ...]:
    """What others changed since the last migration, which no run has met yet and `drift` has not told of."""
    lines = mover.journal.read_target_lines(target_id(plan.format, plan.table))
    expected = find_expected_structure(lines, plan.format, plan.table)
    if expected is None or plan.base_schema is None or is_in_progress(lines):
        return ()
    told = "; ".join(map(describe_change, diff(expected, plan.base_schema)))
    if told in ("", read_drift(lines)[1]):
        return ()
    return (f"someone else has changed it since the last migration: {told}; schemaman drift",)


def _remove(file: Path) -> None:
    """A plan that waits for nobody any more, and what people read of it."""
    file.unlink(missing_ok=True)
    file.with_suffix(".sql").unlink(missing_ok=True)


def _seen_before(plan: Plan, file: Path, now_ms: int) -> Plan:
    """The plan as people have it before them, if only rows were written since it was made.

    An approval names a plan by its hash, and each commit of rows is another version of the table. One that
    `plan` has written into this folder expires; until then it is the same.
    """
    try:
        seen = from_text(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, SchemamanError):
        return plan
    if seen.expires_ms is not None and seen.expires_ms < now_ms:
        return plan
    alike = replace(seen, base_version=plan.base_version, expires_ms=plan.expires_ms)
    return seen if alike == plan else plan


def _told(
    follower: Follower,
    state: State,
    code: int = 0,
    plan: Plan | None = None,
    file: str = "",
    statements: tuple[str, ...] = (),
    reasons: tuple[str, ...] = (),
) -> FollowedTable:
    name = "" if plan is None else plan_hash(plan)
    table = str(follower.history.table)
    return FollowedTable(table, follower.target, follower.table, state, code, name, file, statements, reasons)
