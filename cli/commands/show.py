"""Show one schema."""

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
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context
from schemaman_cli.references import resolve

LANGUAGES = ("ddl", "spark", "delta", "iceberg", "avro", "connect", "json", "columns")


@command("show", "schemaman show orders@latest", "schemaman show orders@-1 --as delta")
@click.argument("ref", shell_complete=offer("references"))
@click.option(
    "--as",
    "language",
    type=click.Choice(LANGUAGES),
    help="Schema language of the output: Spark DDL, Spark StructType, Delta, Iceberg, Avro, Kafka Connect, "
    "this command's JSON, or a complete column list.",
)
@click.option(
    "--face",
    type=click.Choice(["source", "wire"]),
    default="source",
    show_default=True,
    help="Schema in the source database, or schema of the events.",
)
@click.option("--key", is_flag=True, help="Show only the key columns, in key order.")
@click.option("--partial", is_flag=True, help="Omit columns that the schema language cannot express.")
@format_option("text", "json", "markdown", "html")
@with_context
def show(
    context: CommandContext, ref: str, language: str | None, face: str, key: bool, partial: bool, format: str
) -> None:
    """Show the schema that REF names: a version of a table, a file, or a lake table.

    Warnings on stderr list what the schema language expresses differently or not at all. A column that it
    cannot express is an error, unless --partial omits it.
    """
    found = resolve(context, ref)
    emitted = _find_event_schema(context, found) if face == "wire" else None
    if emitted is not None:
        found = replace(found, schema=_name_as_emitted(emitted.schema))
    if key:
        found = replace(found, schema=extract_key(found.schema))
    if language in (None, "json"):
        report = build_show_report(found, None if emitted is None else emitted.at)
        context.console.show(report, language or format)
    else:
        writer, name = SCHEMA_LANGUAGES.get(language or ""), _make_name(found, emitted, key)
        done = write_schema(writer, found.schema, name, found.ref, partial=partial)
        context.console.write(f"{done.text}\n")
        for remark in done.remarks:
            context.console.warn(f"{language}: {remark}")
        if found.version is not None and found.version.unconfirmed and emitted is None:
            context.console.warn(
                f"{found.ref}: not confirmed: {late.enumerate_facts(found.version.unconfirmed)}"
            )
    if emitted is not None and emitted.has_changed:
        context.console.warn(f"the first events of {found.ref} have another schema")


def _find_event_schema(context: CommandContext, found: ResolvedSchema) -> EmittedSchema:
    """Find the event schema of a version.

    Raises:
        UsageError: the REF does not name a version of a table.
        NoHistory: no event with a schema is known for that version.
    """
    if found.table is None or found.version is None:
        raise UsageError(
            f"{found.ref} has no event schema: it is not a version of the history", hint="use a REF: orders@3"
        )
    emitted = find_emitted_schema(found.version, open_registry(context).observations(found.table))
    if emitted is None:
        raise NoHistory(
            f"no event with a schema is known for {found.ref}", hint="--face source shows the source schema"
        )
    return emitted


def _name_as_emitted(schema: TableSchema) -> TableSchema:
    """Rename the columns to their names in events."""
    names = {c.name: c.emitted_name or c.name for c in schema.columns}
    columns = tuple(replace(c, name=names[c.name]) for c in schema.columns)
    return replace(schema, columns=columns, key=tuple(names[k] for k in schema.key))


def _make_name(found: ResolvedSchema, emitted: EmittedSchema | None, key: bool) -> str:
    """Make the schema name: the name of the event schema, or one from the table's name."""
    own = emitted.name if emitted is not None else None
    parts = ".".join(found.table.parts) if found.table is not None else "row"
    name = own or f"{parts}.Value"
    return f"{name.removesuffix('.Value')}.Key" if key else name


COMMAND = show
