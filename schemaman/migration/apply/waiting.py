"""What waits, as lines of the journal: a table that is not migrated, or records in quarantine.

Laws: a line is written only when what waits has changed. Of one target at most one thing of each kind waits,
so the newest line tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from schemaman.store.log import MigrationEntry

WAITING_RUN = "waiting"
"""The `run` of these lines, which belong to no run and to no plan."""

WaitingKind = Literal["table", "records"]
WaitingState = Literal["approval", "refused", "failed", "blocked", "quarantine", "bound"]
"""Why it waits: for an approval, a plan refuses, after an error, a table takes no rows, in quarantine, or a
bound of the policy keeps a table that is current from a change."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A lake table, or records for it, that wait for a reason.

    `target` is its name in the journal, `source` the source table, empty where it is unknown. `records` and
    `oldest_ms` (epoch ms) are of records in quarantine. `command` settles it; empty if no command does.
    """

    kind: WaitingKind
    state: WaitingState
    target: str
    source: str
    reason: str
    command: str = ""
    records: int | None = None
    oldest_ms: int | None = None


def make_waiting_line(waiting: Waiting) -> MigrationEntry:
    """Make the line of something that waits."""
    numbers = {"records": waiting.records, "oldest_ms": waiting.oldest_ms}
    details = {
        "kind": waiting.kind,
        "state": waiting.state,
        "source": waiting.source,
        "command": waiting.command,
        **{name: str(number) for name, number in numbers.items() if number is not None},
    }
    pairs = tuple((name, text) for name, text in details.items() if text)
    return MigrationEntry(WAITING_RUN, "", waiting.target, None, "waiting", waiting.reason, details=pairs)


def make_ready_line(target: str, kind: WaitingKind) -> MigrationEntry:
    """Make the line of a target of which nothing of this kind waits any more."""
    return MigrationEntry(WAITING_RUN, "", target, None, "ready", details=(("kind", kind),))


def read_waiting(line: MigrationEntry) -> Waiting | None:
    """Read a line; None for another one, and for one of a newer release."""
    details = dict(line.details)
    kind = next((known for known in get_args(WaitingKind) if known == details.get("kind")), None)
    state = next((known for known in get_args(WaitingState) if known == details.get("state")), None)
    if line.state != "waiting" or kind is None or state is None:
        return None
    records, oldest = (_read_number(details.get(name, "")) for name in ("records", "oldest_ms"))
    source, command = details.get("source", ""), details.get("command", "")
    return Waiting(kind, state, line.target, source, line.statement, command, records, oldest)


def fold_waiting(
    dated: Iterable[tuple[int, MigrationEntry]],
) -> tuple[tuple[int, Waiting], ...]:
    """Fold the lines of a dated journal into what still waits, each with the time since when (epoch ms)."""
    found: dict[tuple[str, str], tuple[int, Waiting]] = {}
    for at_ms, line in dated:
        if line.state == "ready":
            found.pop((line.target, dict(line.details).get("kind", "")), None)
        elif (waiting := read_waiting(line)) is not None:
            key = (waiting.target, waiting.kind)
            found[key] = (found.pop(key, (at_ms, waiting))[0], waiting)
    return tuple(sorted(found.values(), key=lambda each: (each[1].target, each[1].kind)))


def list_waiting_lines(
    journal: Iterable[MigrationEntry], now: Mapping[tuple[str, WaitingKind], Waiting | None]
) -> tuple[MigrationEntry, ...]:
    """List the lines to write: for each target and kind what waits now, or that nothing waits any more.

    What the journal has already is left out.
    """
    known = {(w.target, w.kind): w for _, w in fold_waiting((0, line) for line in journal)}
    lines = []
    for (target, kind), waiting in now.items():
        if waiting is None and (target, kind) in known:
            lines.append(make_ready_line(target, kind))
        elif waiting is not None and known.get((target, kind)) != waiting:
            lines.append(make_waiting_line(waiting))
    return tuple(lines)


def _read_number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
