"""The options of commands that read SOURCEs, and the exit code for rejected records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from schemaman.api.sources import RecordSources
from schemaman.debezium.wire_format import FORMS
from schemaman.errors import UnreadableInput
from schemaman.ingest.summary import Summary
from schemaman.registry import Registry
from schemaman.report.views.numbers import format_count
from schemaman_cli.options import CommandContext

F = TypeVar("F", bound=Callable[..., Any])


def source_options(function: F) -> F:
    """Add the options of a command that reads SOURCEs; all except `--from` are settings."""
    decorated: Any = function
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    found: F = decorated
    return found


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "local", "spark"]),
        help="Engine to read with (auto: by input size).",
    ),
    click.option(
        "--registry",
        metavar="URL|FILE",
        help="Schema registry, or a file exported from one (default: registry.json beside SOURCE).",
    ),
    click.option(
        "--registry-config",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Option of the registry client; put secrets in a FILE. Repeatable.",
    ),
    click.option(
        "--kafka-config",
        multiple=True,
        metavar="FILE|NAME=VALUE",
        help="Option of librdkafka; put secrets in a FILE. Repeatable.",
    ),
    click.option(
        "--format-key",
        type=click.Choice(FORMS),
        help="Encoding of record keys (auto: detect from the bytes).",
    ),
    click.option(
        "--format-value",
        type=click.Choice(FORMS),
        help="Encoding of record values (auto: detect from the bytes).",
    ),
    click.option(
        "--added-prefix",
        metavar="TEXT",
        help="Prefix of fields that the flattening transform adds, its add.fields.prefix (default: __).",
    ),
    click.option(
        "--flattened",
        multiple=True,
        metavar="TOPIC|PATTERN",
        help="Topic whose values are flattened rows, also without fields that flattening adds; * stands for "
        "any characters. Repeatable.",
    ),
    click.option(
        "--from",
        "since",
        metavar="TIME",
        help="Read topics from TIME on (such as 2026-11-01T12:00Z), not from the beginning.",
    ),
)


def count_versions(registry: Registry, done: Summary) -> dict[str, int]:
    """Count the versions of each table in a summary that has a history."""
    stored = registry.store.read_summaries(done.tables)
    return {str(each.summary.table): each.summary.versions for each in stored}


def rate_rejects(
    context: CommandContext, done: Summary, max_rejects: int | None, sources: RecordSources
) -> int:
    """Return exit code 0, with a warning if some records were rejected.

    Raises:
        UnreadableInput: all records were rejected, or more than `max_rejects`, or a source ends early.
    """
    if not done.rejects:
        return 0
    # A tombstone has no value: it does not prove that the input is readable.
    skipped = [kind for kind, _ in done.skipped if kind != "tombstone"]
    if not (done.observations or done.known > done.waiting or skipped):
        raise UnreadableInput(
            f"no record in {', '.join(sources.names)} could be decoded", hint="schemaman rejects"
        )
    counted = f"{format_count(done.rejects, 'record')} could not be decoded"
    if max_rejects is not None and done.rejects > max_rejects:
        raise UnreadableInput(f"{counted}, more than --max-rejects {max_rejects}", hint="schemaman rejects")
    if done.truncated:
        raise UnreadableInput(
            f"{', '.join(done.truncated)} ends too early: only the records before its end were read",
            hint="copy the file again when its writer has finished, and ingest it again",
        )
    context.console.warn(counted, hint="schemaman rejects")
    return 0
