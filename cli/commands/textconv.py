"""Print a schema file as lines, one for each column (git's textconv)."""

from __future__ import annotations

import click

from schemaman.api.schema_texts import read_file_text
from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.report.document import Report
from schemaman.report.json.answers import build_lines
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, with_context


@command(
    "textconv",
    "schemaman textconv schemas/shop.public.orders.json",
    "schemaman textconv orders.avsc",
)
@click.argument("file", metavar="FILE")
@format_option("text", "json")
@with_context
def textconv(context: CommandContext, file: str, format: str) -> None:
    """Print FILE, a snapshot or another schema file, as lines for git diff: one for each column.

    Write `schemas/*.json diff=schemaman` into .gitattributes, and run
    `git config diff.schemaman.textconv "schemaman textconv"`: git diff and git log -p then show such lines. A
    file without a schema is printed as it is.
    """
    shown = [escape_invisible(line) for line in read_file_text(file).lines]
    if format == "json":
        context.console.show(Report("", (), build_lines(file, shown)), format)
    else:
        context.console.write("".join(f"{escape_commands(line)}\n" for line in shown))


COMMAND = textconv
