"""Show who depends on a table or a column: consumers, views and jobs."""

from __future__ import annotations

import click

from schemaman.report.views.impact import build_impact_report
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("impact", "schemaman impact orders.total", "schemaman impact public.orders --format json")
@click.argument("table", metavar="TABLE[.COLUMN]", shell_complete=offer("tables"))
@format_option("text", "json", "markdown", "html")
@with_context
def impact(context: CommandContext, table: str, format: str) -> None:
    """Show which consumers read TABLE or its COLUMN, how, through which views, and who owns them.

    The consumers are those of [consumers.NAME] in schemaman.toml. Their SQL files, dbt manifests and Python
    programs are read, not run. What could not be read is listed.
    """
    context.console.show(build_impact_report(open_registry(context).impact(table)), format)


COMMAND = impact
