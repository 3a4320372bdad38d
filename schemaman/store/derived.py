"""What every store keeps besides the log: which tables an entry touches, their folds, their leases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from schemaman.debezium.observation import Observation
from schemaman.errors import Locked, UsageError
from schemaman.history.epochs import NO_SETTINGS_SHOWN, ConnectorSettingsShown, Verdicts, decide_changes
from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from schemaman.store.log import Entry, Lease, list_tables

Clock = Callable[[], int]
"""The time in epoch milliseconds."""

Fold = Callable[[Iterable[Observation], TableId, Verdicts], TableHistory | None]
"""All observations that name a table → its history; None if none gives it a structure."""


def find_settings_shown(folded: TableHistory | None) -> ConnectorSettingsShown:
    """Find the connector settings that a table shows; none if its server is not certain."""
    return NO_SETTINGS_SHOWN if folded is None or folded.identity == "weak" else folded.settings_shown


def decide_all(histories: Iterable[TableHistory]) -> dict[TableId, Verdicts]:
    """What all tables of a server decide about the changes of form of each, where there are any."""
    scopes: dict[tuple[str, str], dict[str, TableHistory]] = {}
    for found in histories:
        if find_settings_shown(found) != NO_SETTINGS_SHOWN:
            scopes.setdefault((found.table.stream, found.table.server), {})[str(found.table)] = found
    decided: dict[TableId, Verdicts] = {}
    for scope in scopes.values():
        if any(found.settings_shown.changes for found in scope.values()):
            decisions = decide_changes({name: found.settings_shown for name, found in scope.items()})
            decided |= {scope[name].table: verdicts for name, verdicts in decisions.items()}
    return decided


def wall_clock() -> int:
    """The time of this machine in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def list_touched_tables(entries: Iterable[Entry]) -> tuple[TableId, ...]:
    """List the tables of entries, each once, in order."""
    return tuple(sorted({table for entry in entries for table in list_tables(entry)}))


def make_not_empty_error(where: str) -> UsageError:
    """The refusal to put a copy beside what is there."""
    return UsageError(f"{where} is not empty", hint="import the copy into a new store: --store NEW")


def make_locked_error(lease: Lease) -> Locked:
    """Make the error that names the holder of a lease, and its expiry."""
    until = datetime.fromtimestamp(lease.expires_ms / 1000, UTC).isoformat(timespec="seconds")
    return Locked(
        f"{lease.target} is held by {lease.owner} until {until.replace('+00:00', 'Z')}",
        hint="wait until it ends; a lease that is not renewed expires by itself. If its process has died: "
        f"`schemaman unlock {lease.token}`",
    )


def make_lost_error(target: str) -> Locked:
    """The refusal for a token whose lease has ended and was taken over or given back."""
    return Locked(
        f"the lease on {target} has expired, and another process may now migrate the target",
        hint="check `schemaman status`, then `schemaman resume RUN`",
    )
