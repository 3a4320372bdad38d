"""Write the compatibility report: history, changes, findings, plans."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.api.files import read_text, write_text
from schemaman.migration.plan_file import from_text, to_document
from schemaman.report.views.overview import build_report
from schemaman.report.views.table_changes import build_chapter, keep_shared_once
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command(
    "report", "schemaman report --format html -o report.html", "schemaman report orders --format markdown"
)
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("tables"))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option("--full", is_flag=True, help="Write a chapter for each table, even for many tables.")
@click.option("--plan", "plans", multiple=True, metavar="FILE", help="Plan file to include. Repeatable.")
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
    """Report on each TABLE, or all tables: columns, history, broken readers, uncertain facts."""
    judge = make_workspace(context).build_judge()
    read = [from_text(read_text(path)) for path in plans]
    chapters = [
        build_chapter(h, judge, (p for p in read if p.source.table == str(h.table)))
        for h in open_registry(context).select(*tables)
    ]
    documents = {p.table: to_document(p) for p in read}
    whole = build_report(keep_shared_once(chapters), documents, full=full or bool(tables))
    if output is None:
        context.console.show(whole, format)
    else:
        write_text(output, context.console.render(whole, format))
        context.console.inform(f"written to {output}")


COMMAND = report
