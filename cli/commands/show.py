"""Show one structure."""

from __future__ import annotations

import json

import click

from schemaman.columns import format_columns
from schemaman.languages.avro_schema import to_avro
from schemaman.resolution import Resolved
from schemaman.summary.listings import show_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import resolve


@verb("show", "schemaman show orders@latest", "schemaman show orders@-1 --as ddl")
@click.argument("ref")
@click.option(
    "--as",
    "language",
    type=click.Choice(["ddl", "avro", "json"]),
    help="Write it in a schema language instead: a column list, an Avro schema, or this command's JSON.",
)
@format_option("text", "json", "markdown", "html")
@door
def show(door: Door, ref: str, language: str | None, format: str) -> None:
    """Show the structure that REF means: a version of a table, a file, a live table."""
    found = resolve(door, ref)
    if language in (None, "json"):
        door.console.show(show_report(found), language or format)
    else:
        door.console.write((format_columns(found.schema) if language == "ddl" else _avro(found)) + "\n")


def _avro(found: Resolved) -> str:
    name = ".".join(found.table.parts) if found.table is not None else "row"
    return json.dumps(to_avro(found.schema, name), indent=2, ensure_ascii=False)


COMMAND = show
