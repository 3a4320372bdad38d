"""Show original and emitted names, and what collides."""

from __future__ import annotations

import click

from schemaman.report.views.names import build_names_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import histories, open_registry


@verb("names", "schemaman names", "schemaman names orders --format json")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@format_option("text", "json", "markdown", "html")
@door
def names(door: Door, tables: tuple[str, ...], format: str) -> None:
    """Show which columns of each TABLE, or of all, travel under another name and why, and what collides.

    Collisions are told that events show now, and those of modes that a connector could be switched to.
    """
    found = histories(door, open_registry(door), tables)
    door.console.show(build_names_report(found, whole=bool(tables)), format)


COMMAND = names
