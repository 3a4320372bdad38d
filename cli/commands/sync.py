"""Read new records and migrate the lake tables, continuously."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from schemaman.api.notifying import notify_of_digest, notify_of_tables
from schemaman.api.sources import find_sources, follow_sources, read_sources
from schemaman.api.syncing import LakeSync
from schemaman.api.target_tables import warn_of_idle_targets
from schemaman.api.workspace import Workspace
from schemaman.errors import BadConfiguration, UnreadableInput, UsageError
from schemaman.history.decisions import Decisions
from schemaman.report.json.sync import FollowedTable
from schemaman.report.views.sync import build_sync_report
from schemaman_cli.following import RoundLog
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, interval_option, with_one_stream
from schemaman_cli.source_options import rate_rejects, source_options


@command(
    "sync",
    "schemaman sync 'kafka://broker:9092/shop.*'",
    "schemaman sync records.jsonl.gz --once",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option("--once", is_flag=True, help="Run one round and exit. Sources other than Kafka need this.")
@interval_option("Pause between two rounds.")
@click.option(
    "--plans",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("plans"),
    show_default=True,
    help="Folder of plans that wait for an approval.",
)
@click.option("--partial", is_flag=True, help="Apply the steps of a plan even if it has refusals.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="Exit with 3 if more records are rejected.")
@format_option("text", "json", "markdown")
@with_one_stream
def sync(
    context: CommandContext,
    sources: tuple[str, ...],
    once: bool,
    interval: float,
    plans: Path,
    partial: bool,
    max_rejects: int | None,
    since: str | None,
    format: str,
    **_: object,
) -> int:
    """Read each SOURCE into the history and migrate the targets of schemaman.toml, in repeated rounds.

    Only tables of --stream are read and migrated; tables of other streams do not change.

    Steps that the policy makes automatic run at once, each with a journal line. Steps that need an approval
    wait in a plan file and run in the first round after `schemaman approve`. A refused or failed table does
    not stop the others, and is reported again when its state changes. With --once, the exit code is the
    highest of all tables: 1 waiting or refused, 3 failed, 4 stale or locked, 5 partly applied.
    """
    if not context.settings.targets.value:
        raise UsageError("schemaman.toml has no target to migrate", hint="add a [[target]] to schemaman.toml")
    workspace = make_workspace(context)
    found_sources = find_sources(workspace, sources, since=since)
    registry = open_registry(context, create=True)
    lake = LakeSync(workspace, registry, plans, partial=partial)
    position = registry.store.end()
    if once:
        read = read_sources(workspace, registry, found_sources)
        warn_of_idle_targets(workspace, registry.store.tables())
        lake.note_records(read)
        tables = lake.run_round(workspace.read_decisions())
        context.console.show(build_sync_report(read, tables), format)
        notify_of_tables(workspace, tables)
        notify_of_digest(workspace, registry, position)
        rejected = rate_rejects(context, read, max_rejects, found_sources)
        return max((rejected, *(table.code for table in tables)))
    before: Sequence[FollowedTable] | None = None
    decisions_file = DecisionsFile(workspace)
    rounds = RoundLog(context, registry, found_sources, format)
    for read in follow_sources(workspace, registry, found_sources, interval):
        lake.note_records(read)
        if before is None:
            warn_of_idle_targets(workspace, registry.store.tables())
        decisions = workspace.read_decisions() if before is None else decisions_file.read()
        tables = () if decisions is None else lake.run_round(decisions)
        if before is None or read.new or (decisions is not None and list(tables) != list(before)):
            rounds.write_round(build_sync_report(read, tables), read)
            notify_of_tables(workspace, [table for table in tables if table not in (before or ())])
            notify_of_digest(workspace, registry, position)
            position = registry.store.end()
            rate_rejects(context, read, max_rejects, found_sources)
        else:
            rounds.write_idle_round(build_sync_report(read, tables), read)
        if decisions is not None:
            before = [table for table in tables if not table.is_current]
    return 0


class DecisionsFile:
    """The decisions file, read in each round. Each new error in it is one warning."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._fault = ""

    def read(self) -> Decisions | None:
        """Read the decisions; None while the file is invalid: a user may be editing it."""
        try:
            found = self._workspace.read_decisions()
        except (BadConfiguration, UnreadableInput) as error:
            if error.message != self._fault:
                self._fault = error.message
                what = f"{error.message}; no lake table is migrated until the file is valid"
                self._workspace.messages.warn(what, error.hint)
            return None
        self._fault = ""
        return found


COMMAND = sync
