"""Show the versions of a table and since when each holds."""

from __future__ import annotations

import click

from schemaman.summary.listings import history_report
from schemaman.summary.stories import story
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import find, judge_of, open_registry


@verb("history", "schemaman history orders", "schemaman history public.orders --format json")
@click.argument("table")
@format_option("text", "json", "markdown", "html")
@door
def history(door: Door, table: str, format: str) -> None:
    """Show every version of TABLE: when it began at the source, what changed, how sure that is."""
    found = find(door, open_registry(door), table)
    door.console.show(history_report(story(found, judge_of(door.settings))), format)


COMMAND = history
