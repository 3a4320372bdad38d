"""Show the differences between two schemas."""

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
    """Show the changes from OLD to NEW. With one table only: the changes between its last two versions.

    If the table has only one version, show the changes of its revisions: defaults, comments, order.
    """
    found = _select_last_two(context, old) if new is None else (resolve(context, old), resolve(context, new))
    match found:
        case (before, after):
            remarks = _list_remarks(context, before, after)
            report = build_diff_report(before, after, _list_candidates(before, after), remarks)
        case (only,):
            report = build_only_version_report(only, _list_remarks(context, only, only))
    context.console.show(report, format)


def _select_last_two(
    context: CommandContext, table: str
) -> tuple[ResolvedSchema, ResolvedSchema] | tuple[ResolvedSchema]:
    """Select the last two versions of a decided table; for one version, its first and last revision."""
    reference = parse(table)
    if not isinstance(reference, TableRef) or reference.selector != VersionsBack(0):
        raise UnknownName(f"{table} is one schema; a diff needs two", hint=f"schemaman diff {table} OTHER")
    registry = open_registry(context)
    history = registry.history(registry.find(reference.name))
    latest = select_version(history, VersionsBack(0))
    if len(history.versions) > 1:
        return select_version(history, VersionsBack(1)), latest
    if history.latest.revision:
        return select_version(history, VersionNumber(history.latest.number, 0)), latest
    return (latest,)


def _list_candidates(before: ResolvedSchema, after: ResolvedSchema) -> tuple[RenameCandidate, ...]:
    """List the suspected renames between two consecutive versions; none for other pairs."""
    if before.version is None or after.version is None or before.table != after.table:
        return ()
    return after.version.candidates if after.version.number == before.version.number + 1 else ()


def _list_remarks(
    context: CommandContext, before: ResolvedSchema, after: ResolvedSchema
) -> tuple[Disagreement, ...]:
    """List what records do not decide or do not carry about two versions of one table."""
    if before.version is None or after.version is None or after.table is None or before.table != after.table:
        return ()
    first, last = sorted((before.version.number, after.version.number))
    return list_unresolved(open_registry(context).history(after.table, Decisions()), first, last)


COMMAND = diff
