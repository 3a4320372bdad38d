"""Plans for lake tables as commands make them, as far as nothing stands against them."""

from __future__ import annotations

from schemaman.migration.apply.journal import StoreJournal
from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import TARGETS, Executor
from schemaman.registry import Registry
from schemaman.sink.preflight import Preflight
from schemaman.store.sql.store import SqlStore
from schemaman_cli.lake import Follower
from schemaman_cli.options import Door
from schemaman_cli.sessions import require_lasting
from schemaman_cli.wiring import now_ms


def planned(door: Door, around: Preflight, follower: Follower, expires_ms: int | None = None) -> Plan:
    """The ordinary plan for one lake table, as it stands now.

    Raises:
        StatementFailed: the lake cannot be asked.
    """
    require_lasting(around.executor, follower.format, follower.table)
    live = around.executor.inspect(follower.table, follower.format)
    plan = make_plan(
        source_for(door, follower),
        live,
        TARGETS.get(follower.format),
        follower.table,
        door.settings.policy,
        target_name=follower.target,
        expires_ms=expires_ms,
    )
    return around.check_plan(plan, live, follower.history, follower.address)


def source_for(door: Door, follower: Follower) -> MigrationSource:
    """What a lake table follows, with the renames that its policy takes for such."""
    table = str(follower.history.table)
    proven = door.settings.policy.is_made("rename-proven", table, follower.target, follower.format)
    return migration_source(follower.history, proven=proven, newer=follower.newer)


def lookout(store: SqlStore, executor: Executor) -> Preflight:
    """What looks around lake tables for a command."""
    return Preflight(store, Registry(store, now_ms), StoreJournal(store).read_target_lines, executor)
