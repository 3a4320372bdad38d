"""Write the compatibility report: history, changes, verdicts, plans."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.api.files import read_text, write_text
from schemaman.migration.plan_file import from_text, to_document
from schemaman.report.views.overview import build_report as summarise
from schemaman.report.views.table_changes import build_chapter
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, with_context


@command(
    "report", "schemaman report --format html -o report.html", "schemaman report orders --format markdown"
)
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write into this file.")
@click.option("--full", is_flag=True, help="A chapter for each table, however many there are.")
@click.option("--plan", "plans", multiple=True, metavar="FILE", help="A plan file to tell of with its table.")
@format_option("text", "markdown", "html", "json")
@with_context
def report(
    context: CommandContext,
    tables: tuple[str, ...],
    output: Path | None,
    full: bool,
    plans: tuple[str, ...],
    format: str,
) -> None:
    """Tell of each TABLE, or of all: what it is, how it got there, who breaks, what is not certain."""
    judge = make_workspace(context).build_judge()
    read = [from_text(read_text(path)) for path in plans]
    stories = [
        build_chapter(h, judge, (p for p in read if p.source.table == str(h.table)))
        for h in open_registry(context).select(*tables)
    ]
    told = summarise(stories, {p.table: to_document(p) for p in read}, full=full or bool(tables))
    if output is None:
        context.console.show(told, format)
    else:
        write_text(output, context.console.render(told, format))
        context.console.inform(f"written to {output}")


COMMAND = report
