"""Say what changed between two structures."""

from __future__ import annotations

import click

from schemaman.errors import UnknownName
from schemaman.history.decisions import Decisions
from schemaman.history.references import TableRef, VersionNumber, VersionsBack, parse
from schemaman.history.versions import Disagreement, RenameCandidate, list_unresolved
from schemaman.report.views.listings import build_diff_report, build_only_version_report
from schemaman.resolve import ResolvedSchema, select_version
from schemaman_cli.group import command
from schemaman_cli.library import open_registry, resolve
from schemaman_cli.options import CommandContext, format_option, with_context


@command("diff", "schemaman diff orders", "schemaman diff orders@1 orders@latest --format json")
@click.argument("old")
@click.argument("new", required=False)
@format_option("text", "json", "markdown", "html")
@with_context
def diff(context: CommandContext, old: str, new: str | None, format: str) -> None:
    """Say what changed from OLD to NEW; with a single table, between its last two versions.

    Of a table with a single version it is what its revisions changed: defaults, comments, order.
    """
    found = _last_two(context, old) if new is None else (resolve(context, old), resolve(context, new))
    match found:
        case (before, after):
            remarks = _remarks(context, before, after)
            report = build_diff_report(before, after, _candidates(before, after), remarks)
        case (only,):
            report = build_only_version_report(only, _remarks(context, only, only))
    context.console.show(report, format)


def _last_two(
    context: CommandContext, table: str
) -> tuple[ResolvedSchema, ResolvedSchema] | tuple[ResolvedSchema]:
    """The last two versions of a table as people have answered it; of one its first and last revision."""
    reference = parse(table)
    if not isinstance(reference, TableRef) or reference.selector != VersionsBack(0):
        raise UnknownName(f"{table} is one structure; a diff needs two", hint=f"schemaman diff {table} OTHER")
    registry = open_registry(context)
    history = registry.history(registry.find(reference.name))
    latest = select_version(history, VersionsBack(0))
    if len(history.versions) > 1:
        return select_version(history, VersionsBack(1)), latest
    if history.latest.revision:
        return select_version(history, VersionNumber(history.latest.number, 0)), latest
    return (latest,)


def _candidates(before: ResolvedSchema, after: ResolvedSchema) -> tuple[RenameCandidate, ...]:
    """What the history suspects, where the two are neighbours in it."""
    if before.version is None or after.version is None or before.table != after.table:
        return ()
    return after.version.candidates if after.version.number == before.version.number + 1 else ()


def _remarks(
    context: CommandContext, before: ResolvedSchema, after: ResolvedSchema
) -> tuple[Disagreement, ...]:
    """What records leave open about the two, or lose of them, where they are versions of one table."""
    if before.version is None or after.version is None or after.table is None or before.table != after.table:
        return ()
    first, last = sorted((before.version.number, after.version.number))
    return list_unresolved(open_registry(context).history(after.table, Decisions()), first, last)


COMMAND = diff
