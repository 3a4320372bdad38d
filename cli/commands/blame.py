"""Show when each column last changed, and the record that proves it."""

from __future__ import annotations

import click

from schemaman.errors import UsageError
from schemaman.history.blame import blame as facts_of
from schemaman.history.references import TableRef, parse
from schemaman.report.views.blame import build_blame_report
from schemaman.resolve import select_version
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("blame", "schemaman blame orders", "schemaman blame orders@3 --format json")
@click.argument("table", shell_complete=offer("references"))
@format_option("text", "json", "markdown", "html")
@with_context
def blame(context: CommandContext, table: str, format: str) -> None:
    """Show version, record and evidence of the last change of each column of TABLE.

    The report covers name, type, nullability, default and comment of each column, the key, and known DDL
    statements. TABLE may be a REF: then the report describes that version.
    """
    reference = parse(table)
    if not isinstance(reference, TableRef):
        raise UsageError(f"{table} is not a table of the history", hint="schemaman tables lists them")
    registry = open_registry(context)
    history = registry.history(registry.find(reference.name))
    found = select_version(history, reference.selector)
    version = found.version or history.latest
    revision = version.revision if found.revision is None else found.revision
    facts = facts_of(history, version, revision, registry.observations(history.table))
    context.console.show(build_blame_report(found.ref, history.table, version, revision, facts), format)


COMMAND = blame
