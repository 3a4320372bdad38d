"""Read what is new, and have the lake tables follow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from schemaman.api.sources import find_sources, follow_sources, read_sources
from schemaman.api.syncing import LakeSync
from schemaman.api.target_tables import warn_of_other_streams
from schemaman.api.workspace import Workspace
from schemaman.errors import BadConfiguration, UnreadableInput, UsageError
from schemaman.history.decisions import Decisions
from schemaman.ingest.ingest import Summary
from schemaman.report.json.sync import FollowedTable
from schemaman.report.views.sync import build_sync_report
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, interval_option, with_context
from schemaman_cli.source_options import rate_rejects, source_options


@command(
    "sync",
    "schemaman sync 'kafka://broker:9092/shop.*'",
    "schemaman sync records.jsonl.gz --once",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@source_options
@click.option("--once", is_flag=True, help="One round, then end; without it only topics of Kafka.")
@interval_option("The pause between two rounds.")
@click.option(
    "--plans",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("plans"),
    show_default=True,
    help="Where plans lie that wait for a person.",
)
@click.option("--partial", is_flag=True, help="Make the steps of a plan that has refusals.")
@click.option("--max-rejects", type=click.IntRange(min=0), help="With more rejects than these, exit code 3.")
@format_option("text", "json", "markdown")
@with_context
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
    """Read each SOURCE into the history and bring the targets of schemaman.toml up to it, again and again.

    Both are of one stream, that of --stream: tables of other streams stay as they are.

    What the policy makes automatic is done at once, each step journalled. What a person has to approve waits
    as a plan file, and is done in the first round after `schemaman approve`. A table that is refused or fails
    stops no other one; it is told again when something about it changes. With --once the exit code is that of
    the gravest table: 1 waiting or refused, 3 failed, 4 stale or locked, 5 partly applied.
    """
    if not context.settings.targets.value:
        raise UsageError("there is no target to bring up to date", hint="add a [[target]] to schemaman.toml")
    workspace = make_workspace(context)
    found_sources = find_sources(workspace, sources, since=since)
    registry = open_registry(context, create=True)
    lake = LakeSync(workspace, registry, plans, partial=partial)
    if once:
        read = read_sources(workspace, registry, found_sources)
        warn_of_other_streams(workspace, registry.store.tables())
        lake.note_records(read)
        tables = lake.run_round(workspace.read_decisions())
        _show(context, read, tables, format)
        rejected = rate_rejects(context, read, max_rejects, found_sources)
        return max((rejected, *(table.code for table in tables)))
    before: Sequence[FollowedTable] | None = None
    decisions_file = DecisionsFile(workspace)
    for read in follow_sources(workspace, registry, found_sources, interval):
        lake.note_records(read)
        if before is None:
            warn_of_other_streams(workspace, registry.store.tables())
        decisions = workspace.read_decisions() if before is None else decisions_file.read()
        tables = () if decisions is None else lake.run_round(decisions)
        if before is None or read.new or (decisions is not None and list(tables) != list(before)):
            _show(context, read, tables, format)
            rate_rejects(context, read, max_rejects, found_sources)
        if decisions is not None:
            before = [table for table in tables if not table.is_current]
    return 0


class DecisionsFile:
    """The decisions file, read round after round; a fault of it is a warning each time that it changes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._fault = ""

    def read(self) -> Decisions | None:
        """The decisions; None while they cannot be read: a person may be writing them just now."""
        try:
            found = self._workspace.read_decisions()
        except (BadConfiguration, UnreadableInput) as error:
            if error.message != self._fault:
                self._fault = error.message
                what = f"{error.message}; no lake table is moved until it is mended"
                self._workspace.messages.warn(what, error.hint)
            return None
        self._fault = ""
        return found


def _show(context: CommandContext, read: Summary, found: Sequence[FollowedTable], format: str) -> None:
    context.console.show(build_sync_report(read, found), format)


COMMAND = sync
