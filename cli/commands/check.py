"""Judge every change since the accepted state: the gate."""

from __future__ import annotations

import click

from schemaman.api.checking import check_tables
from schemaman.report.views.findings import build_check_report, sort_by_severity
from schemaman.report.views.table_changes import JudgedFinding
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext, format_option, with_context


@command("check", "schemaman check", "schemaman check orders --against orders@1 --format github")
@click.argument("tables", nargs=-1, metavar="[TABLE]...")
@click.option("--against", metavar="REF", help="The baseline of one TABLE; default the snapshots in git.")
@click.option("--level", metavar="LEVEL", help="Avro's compatibility level: BACKWARD, FULL_TRANSITIVE, ...")
@click.option(
    "--fail-on",
    type=click.Choice(["break", "danger", "note", "off"]),
    help="The mildest severity that fails; default break.",
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
    """Judge every revision of each TABLE, or of all, since the baseline.

    The baseline is what the snapshot files say where this branch left the default one. The exit code is 1 for
    findings at or above --fail-on that nobody has waived, 2 without a baseline, 3 if nothing is known of a
    table.
    """
    result = check_tables(
        make_workspace(context), open_registry(context), tables, against=against, level=level
    )
    judged = sort_by_severity(JudgedFinding(f, s) for f, s in result.findings)
    context.console.show(build_check_report(judged, result, result.fail_on, result.waivers), format)
    return 0 if result.passed else 1


COMMAND = check
