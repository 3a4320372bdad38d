"""List every table that is known."""

from __future__ import annotations

from schemaman.summary.listings import tables_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import histories, open_registry


@verb("tables", "schemaman tables", "schemaman tables --format json")
@format_option("text", "json", "markdown", "html")
@door
def tables(door: Door, format: str) -> None:
    """List every table with its newest version and what is open."""
    door.console.show(tables_report(histories(door, open_registry(door))), format)


COMMAND = tables
