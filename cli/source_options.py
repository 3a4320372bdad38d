"""Options of the commands that read SOURCEs, and the exit code for records that were rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schemaman.api.sources import RecordSources
from schemaman.debezium.wire_format import FORMS
from schemaman.errors import NoHistory, UnreadableInput
from schemaman.history.decisions import Decisions
from schemaman.ingest.ingest import Summary
from schemaman.registry import Registry
from schemaman.report.views.words import format_count
from schemaman_cli.options import CommandContext

F = TypeVar("F", bound=Callable[..., Any])


def source_options(function: F) -> F:
    """The options of a command that reads SOURCEs; all but `--from` reach it as settings."""
    decorated: Any = function
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    found: F = decorated
    return found


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--engine", type=click.Choice(["auto", "local", "spark"]), help="Who reads; auto goes by size."
    ),
    click.option(
        "--registry",
        metavar="URL|FILE",
        help="A schema registry, or its export; default registry.json beside SOURCE.",
    ),
    click.option(
        "--registry-config",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Options of the registry's client; secrets in a FILE.",
    ),
    click.option(
        "--kafka-config",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Options of librdkafka; secrets in a FILE.",
    ),
    click.option(
        "--format-key", type=click.Choice(FORMS), help="How keys are framed; auto takes what is proven."
    ),
    click.option("--format-value", type=click.Choice(FORMS), help="How values are framed."),
    click.option(
        "--added-prefix",
        metavar="TEXT",
        help="What fields begin with that flattening added (add.fields.prefix); __ if not said.",
    ),
    click.option(
        "--from",
        "since",
        metavar="TIME",
        help="Topics from their first record of that time on (2026-11-01T12:00Z) instead of their beginning.",
    ),
)


def count_versions(registry: Registry, done: Summary) -> dict[str, int]:
    """How many versions each table of a summary has."""
    versions: dict[str, int] = {}
    for table in done.tables:
        try:
            versions[str(table)] = len(registry.history(table, Decisions()).versions)
        except NoHistory:
            continue
    return versions


def rate_rejects(
    context: CommandContext, done: Summary, max_rejects: int | None, sources: RecordSources
) -> int:
    """The exit code: rejected records are a warning, unless all records are, or too many.

    Raises:
        UnreadableInput: no record was understood, or more than `max_rejects` were not.
    """
    if not done.rejects:
        return 0
    # a tombstone has no bytes that could be misunderstood
    skipped = [kind for kind, _ in done.skipped if kind != "tombstone"]
    if not (done.observations or done.known > done.waiting or skipped):
        raise UnreadableInput(
            f"nothing in {', '.join(sources.names)} could be understood", hint="schemaman rejects"
        )
    counted = f"{format_count(done.rejects, 'record')} could not be understood"
    if max_rejects is not None and done.rejects > max_rejects:
        raise UnreadableInput(f"{counted}, more than --max-rejects {max_rejects}", hint="schemaman rejects")
    context.console.warn(counted, hint="schemaman rejects")
    return 0
