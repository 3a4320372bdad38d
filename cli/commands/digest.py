"""Show what happened since a time, and what waits (the morning report)."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.api.files import write_text
from schemaman.report.document import FORMATS
from schemaman.report.views.digest import build_digest_report
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, outputs_option, with_context


@command("digest", "schemaman digest", "schemaman digest --since 7d -o html=digest.html")
@click.option(
    "--since",
    metavar="WHEN",
    default="yesterday",
    show_default=True,
    help="Beginning: yesterday, today, 36h, 7d, a day, or a moment with its zone. Days are in UTC.",
)
@format_option("text", "json", "markdown", "html")
@outputs_option("html=digest.html")
@with_context
def digest(context: CommandContext, since: str, format: str, outputs: tuple[tuple[str, Path], ...]) -> None:
    """Show what changed at the source since a time, what was done to the lake, and what waits now.

    Each run has its statements, the checks that it made of the rows, what it cost, and the command that takes
    it back. What waits has the command that settles it. All of it comes from the log of the store.
    """
    report = build_digest_report(open_registry(context).digest(since))
    for name, path in outputs:
        write_text(path, FORMATS.get(name).render(report))
    context.console.show(report, format)


COMMAND = digest
