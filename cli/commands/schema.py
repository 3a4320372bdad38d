"""Print the JSON Schema of a command's JSON output."""

from __future__ import annotations

import json

import click

from schemaman.report.document import Report
from schemaman.report.json import schemas
from schemaman.report.json.answers import build_outputs
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("schema", "schemaman schema history", "schemaman schema plan > plan.schema.json")
@click.argument("name", required=False, shell_complete=offer("outputs"))
@format_option("text", "json")
@with_context
def schema(context: CommandContext, name: str | None, format: str) -> None:
    """Print the JSON Schema of the output NAME; without NAME, list all outputs with a schema.

    A schema is JSON in either format. `schemaman schema error` is that of an error on stderr.
    """
    if name is None and format == "json":
        context.console.show(Report("", (), dict(build_outputs(schemas.list_names()))), format)
    elif name is None:
        context.console.write("\n".join(schemas.list_names()) + "\n")
    else:
        context.console.write(json.dumps(schemas.read_schema(name), indent=2, ensure_ascii=False) + "\n")


COMMAND = schema
