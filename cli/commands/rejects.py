"""List records that could not be decoded."""

from __future__ import annotations

from collections.abc import Sequence

import click

from schemaman.history.versions import TableHistory
from schemaman.report.views.listings import build_rejects_report
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("rejects", "schemaman rejects", "schemaman rejects orders --format json")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("tables"))
@click.option(
    "--topic", "topics", multiple=True, metavar="TOPIC", help="List only records of this topic. Repeatable."
)
@format_option("text", "json", "markdown", "html")
@with_context
def rejects(context: CommandContext, tables: tuple[str, ...], topics: tuple[str, ...], format: str) -> None:
    """List rejected records with the reason, then notes about decoded records, such as unparsed DDL.

    The bytes of a rejected record are kept only with ingest --keep-payload. With a TABLE, list rejected
    records in the topics of its rows, and notes about that table.
    """
    setting = context.settings.stream
    stream = None if setting.origin == "default" else setting.value
    registry = open_registry(context)
    asked = registry.select(*tables) if tables else ()
    topics_of_tables = _list_topics(asked)
    named = {h.table for h in asked}
    found = [
        r
        for r in registry.rejects(stream)
        if (not tables or (r.stream, r.topic) in topics_of_tables) and (not topics or r.topic in topics)
    ]
    notes = [
        n
        for n in registry.notes(stream)
        if (not tables or n.table in named) and (not topics or n.topic in topics)
    ]
    context.console.show(build_rejects_report(found, notes), format)


def _list_topics(histories: Sequence[TableHistory]) -> set[tuple[str, str]]:
    return {(h.table.stream, topic) for h in histories for topic in h.topics}


COMMAND = rejects
