"""Write the compatibility report: history, changes, findings, plans."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.api.files import read_text, write_text
from schemaman.api.reporting import build_whole_report, find_changes_since
from schemaman.errors import UsageError
from schemaman.migration.plan_file import from_text
from schemaman.report.document import FORMATS, Report
from schemaman.report.views.since_accepted import build_since_report
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context
from schemaman_cli.printed_commands import complete_commands


@command(
    "report",
    "schemaman report --format html -o report.html",
    "schemaman report --against accepted --format markdown",
)
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("tables"))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option("--full", is_flag=True, help="Write a chapter for each table, even for many tables.")
@click.option(
    "--against",
    shell_complete=offer("references"),
    metavar="REF",
    help="Report only what changed since accepted (the snapshots in git), or since a REF of one TABLE.",
)
@click.option("--plan", "plans", multiple=True, metavar="FILE", help="Plan file to include. Repeatable.")
@format_option("text", "markdown", "html", "json", "jsonl", "concise", "sarif", "junit", "gitlab")
@with_context
def report(
    context: CommandContext,
    tables: tuple[str, ...],
    output: Path | None,
    full: bool,
    against: str | None,
    plans: tuple[str, ...],
    format: str,
) -> None:
    """Report on each TABLE, or all tables: columns, history, broken readers, uncertain facts.

    With --against accepted, report what changed since the accepted state: the verdict, each finding once, and
    the steps that are expected in the lake of each target. The exit code is 0 whatever the verdict is.
    """
    whole = complete_commands(_build_whole(context, tables, full, against, plans), context.console.options)
    if output is None:
        context.console.show(whole, format)
    else:
        write_text(output, FORMATS.get(format).render(whole))
        context.console.inform(f"written to {output}")


def _build_whole(
    context: CommandContext, tables: tuple[str, ...], full: bool, against: str | None, plans: tuple[str, ...]
) -> Report:
    if against is not None:
        if full or plans:
            raise UsageError("--against has its own chapters", hint="omit --full and --plan")
        changes = find_changes_since(make_workspace(context), open_registry(context), tables, against)
        return build_since_report(changes)
    read = [from_text(read_text(path)) for path in plans]
    return build_whole_report(make_workspace(context), open_registry(context), tables, read, full)


COMMAND = report
