"""Print the JSON Schema of a command's JSON output."""

from __future__ import annotations

import json

import click

from schemaman.report.json import schemas
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, with_context


@command("schema", "schemaman schema history", "schemaman schema plan > plan.schema.json")
@click.argument("name", required=False)
@with_context
def schema(context: CommandContext, name: str | None) -> None:
    """Print the JSON Schema of the output NAME; without NAME, list all outputs with a schema."""
    if name is None:
        context.console.write("\n".join(schemas.list_names()) + "\n")
    else:
        context.console.write(json.dumps(schemas.read_schema(name), indent=2, ensure_ascii=False) + "\n")


COMMAND = schema
