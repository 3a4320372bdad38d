"""Show original names, names in events, and collisions."""

from __future__ import annotations

import click

from schemaman.report.views.names import build_names_report
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("names", "schemaman names", "schemaman names orders --format json")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("tables"))
@format_option("text", "json", "markdown", "html")
@with_context
def names(context: CommandContext, tables: tuple[str, ...], format: str) -> None:
    """Show columns with another name in events, the reason, and collisions, for each TABLE or all tables.

    Collisions are those in current events, and those that other naming modes of the connector would cause.
    """
    registry = open_registry(context)
    found = registry.select(*tables)
    every = registry.select() if tables else found
    context.console.show(build_names_report(found, whole=bool(tables), every=every), format)


COMMAND = names
