"""Show one structure."""

from __future__ import annotations

from dataclasses import replace

import click

from schemaman.errors import NoHistory, UsageError
from schemaman.history.versions import EmittedSchema, find_emitted_schema
from schemaman.languages.language import SCHEMA_LANGUAGES, extract_key, write_schema
from schemaman.model.schema import TableSchema
from schemaman.report.views import late_facts as late
from schemaman.report.views.listings import build_show_report
from schemaman.resolve import ResolvedSchema
from schemaman_cli.group import command
from schemaman_cli.library import open_registry, resolve
from schemaman_cli.options import CommandContext, format_option, with_context

LANGUAGES = ("ddl", "spark", "delta", "iceberg", "avro", "connect", "json", "columns")


@command("show", "schemaman show orders@latest", "schemaman show orders@-1 --as delta")
@click.argument("ref")
@click.option(
    "--as",
    "language",
    type=click.Choice(LANGUAGES),
    help="Write it in a schema language: Spark's DDL or StructType, the schema of a Delta or an Iceberg "
    "table, an Avro or a Connect schema, this command's JSON, or a column list that says everything.",
)
@click.option(
    "--face",
    type=click.Choice(["source", "wire"]),
    default="source",
    show_default=True,
    help="As the database declares it, or as events carry it.",
)
@click.option("--key", is_flag=True, help="The columns of the key alone, in key order.")
@click.option("--partial", is_flag=True, help="Leave out columns that the language cannot express.")
@format_option("text", "json", "markdown", "html")
@with_context
def show(
    context: CommandContext, ref: str, language: str | None, face: str, key: bool, partial: bool, format: str
) -> None:
    """Show the structure that REF means: a version of a table, a file, a live table.

    What a schema language says otherwise, or not at all, is told on stderr; a column that it has no word for
    is an error, unless --partial leaves it out.
    """
    found = resolve(context, ref)
    carried = _find_event_schema(context, found) if face == "wire" else None
    if carried is not None:
        found = replace(found, schema=_name_as_emitted(carried.schema))
    if key:
        found = replace(found, schema=extract_key(found.schema))
    if language in (None, "json"):
        report = build_show_report(found, None if carried is None else carried.at)
        context.console.show(report, language or format)
    else:
        notation, name = SCHEMA_LANGUAGES.get(language or ""), _name(found, carried, key)
        done = write_schema(notation, found.schema, name, found.ref, partial=partial)
        context.console.write(f"{done.text}\n")
        for remark in done.remarks:
            context.console.warn(f"{language}: {remark}")
        if found.version is not None and found.version.unconfirmed and carried is None:
            context.console.warn(
                f"{found.ref}: not confirmed: {late.enumerate_facts(found.version.unconfirmed)}"
            )
    if carried is not None and carried.has_changed:
        context.console.warn(f"the first events of {found.ref} carried another structure")


def _find_event_schema(context: CommandContext, found: ResolvedSchema) -> EmittedSchema:
    """The schema of a version as events carry it.

    Raises:
        UsageError: the REF means no version of a table.
        NoHistory: no event with a schema has carried that version.
    """
    if found.table is None or found.version is None:
        raise UsageError(f"{found.ref} has no wire face: it is no version of the history", hint="orders@3")
    carried = find_emitted_schema(found.version, open_registry(context).observations(found.table))
    if carried is None:
        raise NoHistory(f"no event with a schema has carried {found.ref}", hint="--face source shows it")
    return carried


def _name_as_emitted(schema: TableSchema) -> TableSchema:
    """The schema under the names in events."""
    names = {c.name: c.emitted_name or c.name for c in schema.columns}
    columns = tuple(replace(c, name=names[c.name]) for c in schema.columns)
    return replace(schema, columns=columns, key=tuple(names[k] for k in schema.key))


def _name(found: ResolvedSchema, carried: EmittedSchema | None, key: bool) -> str:
    """What the rows are called: as their own schema, or as the table."""
    own = carried.name if carried is not None else None
    parts = ".".join(found.table.parts) if found.table is not None else "row"
    name = own or f"{parts}.Value"
    return f"{name.removesuffix('.Value')}.Key" if key else name


COMMAND = show
