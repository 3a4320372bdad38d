"""Check every change since the accepted state (the gate in CI)."""

from __future__ import annotations

import click

from schemaman.api.checking import check_tables
from schemaman.report.views.findings import build_check_report, sort_by_severity
from schemaman.report.views.table_changes import JudgedFinding
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("check", "schemaman check", "schemaman check orders --against 1 --format github")
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=offer("references"))
@click.option(
    "--against",
    shell_complete=offer("references"),
    metavar="REF",
    help="Baseline of one TABLE (default: snapshots in git).",
)
@click.option("--level", metavar="LEVEL", help="Avro compatibility level: BACKWARD, FULL_TRANSITIVE, ...")
@click.option(
    "--fail-on",
    type=click.Choice(["break", "danger", "note", "off"]),
    help="Lowest severity that fails the check (default: break).",
)
@format_option("text", "json", "github", "markdown")
@with_context
def check(
    context: CommandContext,
    tables: tuple[str, ...],
    against: str | None,
    level: str | None,
    format: str,
    **_: object,
) -> int:
    """Check every revision since the baseline, for each TABLE or for all tables.

    The baseline is the snapshot files at the merge base with the default branch. The exit code is 1 if a
    finding at or above --fail-on is not waived, 2 without a baseline, and 3 if a TABLE has no history.

    orders@3 is checked up to version 3. orders@1..3 is checked against version 1, as with --against.
    """
    result = check_tables(
        make_workspace(context), open_registry(context), tables, against=against, level=level
    )
    judged = sort_by_severity(JudgedFinding(f, s) for f, s in result.findings)
    context.console.show(build_check_report(judged, result, result.fail_on, result.waivers), format)
    return 0 if result.passed else 1


COMMAND = check
