"""Write the compatibility report: history, changes, verdicts, plans."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.migration.plan_file import from_text, to_document
from schemaman.report.views.overview import build_report as summarise
from schemaman.report.views.table_changes import build_chapter
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import histories, judge_of, open_registry, read_file, write_file


@verb("report", "schemaman report --format html -o report.html", "schemaman report orders --format markdown")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write into this file.")
@click.option("--full", is_flag=True, help="A chapter for each table, however many there are.")
@click.option("--plan", "plans", multiple=True, metavar="FILE", help="A plan file to tell of with its table.")
@format_option("text", "markdown", "html", "json")
@door
def report(
    door: Door, tables: tuple[str, ...], output: Path | None, full: bool, plans: tuple[str, ...], format: str
) -> None:
    """Tell of each TABLE, or of all: what it is, how it got there, who breaks, what is not certain."""
    judge = judge_of(door.settings)
    read = [from_text(read_file(path)) for path in plans]
    stories = [
        build_chapter(h, judge, (p for p in read if p.source.table == str(h.table)))
        for h in histories(door, open_registry(door), tables)
    ]
    told = summarise(stories, {p.table: to_document(p) for p in read}, full=full or bool(tables))
    if output is None:
        door.console.show(told, format)
    else:
        write_file(output, door.console.rendered(told, format))
        door.console.say(f"written to {output}")


COMMAND = report
