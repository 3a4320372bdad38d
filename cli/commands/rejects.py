"""List records that could not be understood."""

from __future__ import annotations

from schemaman.summary.listings import rejects_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import open_registry


@verb("rejects", "schemaman rejects", "schemaman rejects --format json")
@format_option("text", "json", "markdown", "html")
@door
def rejects(door: Door, format: str) -> None:
    """List where records could not be understood, and why; their bytes are kept only if asked for.

    Then what is to know of records that were understood: a DDL text that cannot be parsed, and the like.
    """
    stream = door.settings.stream
    chosen = None if stream.origin == "default" else stream.value
    registry = open_registry(door)
    door.console.show(rejects_report(registry.rejects(chosen), registry.notes(chosen)), format)


COMMAND = rejects
