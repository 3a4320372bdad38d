"""What every store keeps besides the log: which tables an entry touches, their folds, their leases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from schemaman import history
from schemaman.errors import Locked, UsageError
from schemaman.evidence import Dialect, Observation
from schemaman.log import Entry, tables_of
from schemaman.schema import TableId
from schemaman.shelf import Shelf
from schemaman.versions import TableHistory

Clock = Callable[[], int]
"""The time in epoch milliseconds."""

Fold = Callable[[Iterable[Observation], TableId], TableHistory | None]
"""All observations that name a table → its history; None if none gives it a structure."""

DIALECTS: Shelf[Dialect] = Shelf("schemaman.dialects", "DIALECT")


@dataclass(frozen=True, slots=True)
class Lease:
    """A target held by `owner`; `token` proves it, until `expires_ms`."""

    target: str
    owner: str
    token: str
    expires_ms: int


def fold(observations: Iterable[Observation], table: TableId) -> TableHistory | None:
    """The fold with the dialects on the shelf."""
    return history.fold(observations, table, DIALECTS.get)


def wall_clock() -> int:
    """The time of this machine in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def touched(entries: Iterable[Entry]) -> tuple[TableId, ...]:
    """The tables that entries speak of, each once, in order."""
    return tuple(sorted({table for entry in entries for table in tables_of(entry)}))


def not_empty(where: str) -> UsageError:
    """The refusal to put a copy beside what is there."""
    return UsageError(f"{where} is not empty", hint="put the copy into a new store: --store NEW")


def locked(lease: Lease) -> Locked:
    """The refusal that says who holds a target, and until when."""
    until = datetime.fromtimestamp(lease.expires_ms / 1000, UTC).isoformat(timespec="seconds")
    return Locked(
        f"{lease.target} is held by {lease.owner} until {until.replace('+00:00', 'Z')}",
        hint="wait until it is done; a lease that is not renewed ends by itself",
    )


def lost(target: str) -> Locked:
    """The refusal for a token whose lease has ended and was taken over or given back."""
    return Locked(
        f"the lease on {target} is no longer ours: it ended, and somebody else may be at work there",
        hint="look at `schemaman status`, then `schemaman resume RUN`",
    )
