"""Show where every run of a plan stands."""

from __future__ import annotations

from schemaman.documents.lake import run_states
from schemaman.summary.moves import status_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import open_registry


@verb("status", "schemaman status", "schemaman status --format json")
@format_option("text", "json", "markdown", "html")
@door
def status(door: Door, format: str) -> None:
    """Show every run that the journal knows: its target, how far it came, what went wrong."""
    door.console.show(status_report(run_states(open_registry(door).dated_journal())), format)


COMMAND = status
