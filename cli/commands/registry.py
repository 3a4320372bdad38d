"""Copy a whole schema registry into the store, or out of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from schemaman.api.client_options import read_client_options
from schemaman.api.registry_copies import (
    CopySize,
    format_registry,
    load_copy,
    measure_copy,
    save_registry,
    send_copy,
)
from schemaman.errors import UsageError
from schemaman.io.schema_registry import is_url
from schemaman.report.document import Report
from schemaman.report.json.answers import build_registry
from schemaman.report.views.words import format_number
from schemaman.subjects.schema_registry import SchemaRegistry
from schemaman_cli.group import command
from schemaman_cli.library import open_store
from schemaman_cli.options import CommandContext, format_option, with_context

_STREAM = "-"


@command(
    "registry",
    "schemaman registry import http://localhost:8081",
    "schemaman registry export registry.json",
)
@click.argument("action", type=click.Choice(["import", "export"]))
@click.argument("place", required=False, metavar="[URL|FILE]")
@click.option("--replace", is_flag=True, help="Let export overwrite an existing file.")
@click.option(
    "--registry-config",
    multiple=True,
    metavar="FILE|NAME=VALUE",
    help="Option of the registry client; put secrets in a FILE. Repeatable.",
)
@format_option("text", "json")
@with_context
def registry(
    context: CommandContext, action: str, place: str | None, replace: bool, format: str, **_: object
) -> None:
    """Copy all of a schema registry: subjects, versions, ids, deleted versions, settings.

    import reads the registry at a URL, or a FILE, into the store; the store's registry must be empty. A URL
    may be that of Confluent Schema Registry, Karapace, Apicurio (…/apis/ccompat/v7) or schemaman. export
    writes to an empty registry at a URL, to a FILE, or to standard output.
    """
    options = read_client_options(context.settings.registry_config)
    if action == "import":
        if place is None or replace:
            raise UsageError(
                "registry import needs a URL or a FILE, and no --replace",
                hint="schemaman registry import http://localhost:8081",
            )
        copy = load_copy(place, options)
        opened = open_store(context, create=True)
        SchemaRegistry(opened).restore(copy)
        _print(context, action, opened.where, place, measure_copy(copy))
        return
    if place is not None and replace and is_url(place):
        raise UsageError("--replace is for a file", hint="a registry at a URL must be empty")
    if (
        place is not None
        and not is_url(place)
        and place != _STREAM
        and not replace
        and os.path.lexists(place)
    ):
        raise UsageError(f"{place} already exists", hint="name another file, or use --replace")
    if place in (None, _STREAM) and context.console.json:
        raise UsageError(
            "standard output holds the copy, and no JSON", hint="registry export FILE --format json"
        )
    opened = open_store(context)
    served = SchemaRegistry(opened)
    if place is None or place == _STREAM:
        sys.stdout.write(format_registry(served))
        return
    size = (
        send_copy(served, place, options, context.console.inform)
        if is_url(place)
        else save_registry(served, Path(place))
    )
    if size.lost:
        context.console.warn(f"{place} cannot keep {', '.join(size.lost)}", "a file keeps all of it")
    _print(context, action, opened.where, place, size)


def _print(context: CommandContext, action: str, store: str, place: str, size: CopySize) -> None:
    if context.console.json:
        counts = size.subjects, size.versions, size.schemas
        document = build_registry(action, store, place, *counts, size.lost)
        context.console.show(Report("", (), document), "json")
        return
    counted = f"{format_number(size.versions)} versions of {format_number(size.subjects)} subjects"
    ways = f"of {place} imported into {store}" if action == "import" else f"of {store} written to {place}"
    context.console.write(f"{counted} {ways}\n")


COMMAND = registry
