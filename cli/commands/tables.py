"""List all known tables."""

from __future__ import annotations

import click

from schemaman.report.views.listings import build_tables_report
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("tables", "schemaman tables", "schemaman tables 'public.*' --format json")
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...", shell_complete=offer("tables"))
@format_option("text", "json", "markdown", "html")
@with_context
def tables(context: CommandContext, patterns: tuple[str, ...], format: str) -> None:
    """List all tables, or those that match a PATTERN: newest version, number of records, time last seen.

    A PATTERN is a table name or the end of one, with the wildcards * and ?. The last column lists open
    questions: disagreements, provisional facts, rejected records in the topics of the table, shared topics.
    """
    registry = open_registry(context)
    chosen, near = registry.select_summaries(*patterns)
    found, every = ([stored.summary for stored in some] for some in (chosen, near))
    report = build_tables_report(found, registry.rejects(), chosen=bool(patterns), every=every)
    context.console.show(report, format)


COMMAND = tables
