"""Show the differences between two schemas."""

from __future__ import annotations

import click

from schemaman.errors import UnknownName
from schemaman.history.decisions import Decisions
from schemaman.history.references import Reference, TableRef, VersionNumber, VersionsBack, parse_pair
from schemaman.history.versions import Disagreement, RenameCandidate, SchemaVersion, list_unresolved
from schemaman.model.shell import quote_word
from schemaman.report.views.listings import build_diff_report, build_only_version_report
from schemaman.resolve import ResolvedSchema, select_version
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context
from schemaman_cli.references import resolve


@command("diff", "schemaman diff orders", "schemaman diff orders@1..latest --format json")
@click.argument("refs", nargs=-1, required=True, metavar="OLD [NEW]", shell_complete=offer("references"))
@format_option("text", "json", "markdown", "html")
@with_context
def diff(context: CommandContext, refs: tuple[str, ...], format: str) -> None:
    """Show the changes from OLD to NEW. With one table only: the changes between its last two versions.

    Both can be one word: OLD..NEW, or after a table the two versions, such as orders 1..3. If the table has
    only one version, show the changes of its revisions: defaults, comments, order.
    """
    references = parse_pair(refs)
    match references:
        case (old, new):
            found: tuple[ResolvedSchema, ...] = (resolve(context, str(old)), resolve(context, str(new)))
        case _:
            found = _select_last_two(context, references[0])
    match found:
        case (before, after):
            remarks = _list_remarks(context, before, after)
            report = build_diff_report(
                before,
                after,
                _list_candidates(before, after),
                remarks,
                _find_repeated(context, before, after),
            )
        case (only, *_):
            report = build_only_version_report(only, _list_remarks(context, only, only))
    context.console.show(report, format)


def _select_last_two(
    context: CommandContext, reference: Reference
) -> tuple[ResolvedSchema, ResolvedSchema] | tuple[ResolvedSchema]:
    """Select the last two versions of a decided table; for one version, its first and last revision."""
    if not isinstance(reference, TableRef) or reference.selector != VersionsBack(0):
        hint = f"schemaman diff {quote_word(str(reference))} OTHER"
        raise UnknownName(f"{reference} is one schema; a diff needs two", hint=hint)
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


def _find_repeated(
    context: CommandContext, before: ResolvedSchema, after: ResolvedSchema
) -> SchemaVersion | None:
    """Find the earlier version that the newer side repeats; None for schemas of different tables."""
    if before.version is None or after.version is None or after.table is None or before.table != after.table:
        return None
    if after.version.number <= before.version.number:
        return None
    return open_registry(context).history(after.table).find_repeats().get(after.version.number)


def _list_remarks(
    context: CommandContext, before: ResolvedSchema, after: ResolvedSchema
) -> tuple[Disagreement, ...]:
    """List what records do not decide or do not carry about two versions of one table."""
    if before.version is None or after.version is None or after.table is None or before.table != after.table:
        return ()
    first, last = sorted((before.version.number, after.version.number))
    return list_unresolved(open_registry(context).history(after.table, Decisions()), first, last)


COMMAND = diff
