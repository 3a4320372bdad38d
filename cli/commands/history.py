"""Show the versions of a table and since when each holds."""

from __future__ import annotations

import click

from schemaman.report.views.coverage import Extent
from schemaman.report.views.listings import build_history_data, build_history_report, select_notes
from schemaman.report.views.table_changes import build_chapter, build_recent_chapter, keep_recent_versions
from schemaman.store import offsets as coverage
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import find, judge_of, open_registry


@verb("history", "schemaman history orders", "schemaman history public.orders --format json")
@click.argument("table")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N versions.")
@format_option("text", "json", "markdown", "html")
@door
def history(door: Door, table: str, last: int | None, format: str) -> None:
    """Show every version of TABLE: when it began at the source, what changed, how sure that is."""
    registry = open_registry(door)
    found = find(door, registry, table)
    notes = select_notes(found, registry.notes(found.table.stream))
    shown = found if last is None else keep_recent_versions(found, last)
    read = registry.offsets(found.table.stream, {version.at.topic for version in shown.versions})
    extent = Extent(coverage.find_holes(shown, read), registry.renumberings(found.table))
    if format == "json":
        door.console.show(build_history_data(shown, notes, extent, found), format)
        return
    judge = judge_of(door.settings)
    told = build_chapter(found, judge) if last is None else build_recent_chapter(found, last, judge)
    door.console.show(build_history_report(told, found, notes, extent), format)


COMMAND = history
