"""Show the versions of a table and when each began."""

from __future__ import annotations

import click

from schemaman.api.judging import build_judge
from schemaman.report.views.coverage import Extent
from schemaman.report.views.listings import build_history_data, build_history_report, select_notes
from schemaman.report.views.registrations import find_registered
from schemaman.report.views.table_changes import build_chapter, build_recent_chapter, keep_recent_versions
from schemaman.store import offsets as coverage
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("history", "schemaman history orders", "schemaman history public.orders --format json")
@click.argument("table", shell_complete=offer("tables"))
@click.option("--last", type=click.IntRange(1), metavar="N", help="Show only the last N versions.")
@format_option("text", "json", "markdown", "html")
@with_context
def history(context: CommandContext, table: str, last: int | None, format: str) -> None:
    """Show every version of TABLE: when it began at the source, what changed, and how certain that is."""
    registry = open_registry(context)
    found = registry.history(table)
    notes = select_notes(found, registry.notes(found.table.stream))
    shown = found if last is None else keep_recent_versions(found, last)
    read = registry.offsets(found.table.stream, {version.at.topic for version in shown.versions})
    extent = Extent(coverage.find_holes(shown, read), registry.renumberings(found.table))
    registered = find_registered(found, registry.registrations(found))
    if format == "json":
        context.console.show(build_history_data(shown, notes, extent, found, registered), format)
        return
    judge = build_judge(make_workspace(context))
    chapter = build_chapter(found, judge) if last is None else build_recent_chapter(found, last, judge)
    context.console.show(build_history_report(chapter, found, notes, extent, registered), format)


COMMAND = history
