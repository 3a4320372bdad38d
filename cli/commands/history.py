"""Show the versions of a table and since when each holds."""

from __future__ import annotations

import click

from schemaman.report.views.coverage import Extent
from schemaman.report.views.listings import about, history_data, history_report
from schemaman.report.views.table_changes import newest, recent, story
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
    notes = about(found, registry.notes(found.table.stream))
    shown = found if last is None else recent(found, last)
    read = registry.covered(found.table.stream, {version.at.topic for version in shown.versions})
    extent = Extent(coverage.holes(shown, read), registry.renumberings(found.table))
    if format == "json":
        door.console.show(history_data(shown, notes, extent, found), format)
        return
    judge = judge_of(door.settings)
    told = story(found, judge) if last is None else newest(found, last, judge)
    door.console.show(history_report(told, found, notes, extent), format)


COMMAND = history
