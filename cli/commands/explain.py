"""Explain a finding: its cause, its effect, and how to fix it."""

from __future__ import annotations

import click

from schemaman.compat.judge import RULES
from schemaman.report.views.findings import build_explain_report
from schemaman_cli.findings import find_finding
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, offer, with_context
from schemaman_cli.sql_options import sql_options


@command("explain", "schemaman explain 18d38a2fd54fcc28", "schemaman explain 18d38a --format json")
@click.argument("finding", metavar="FINDING")
@click.argument("places", nargs=-1, metavar="[TABLE|PATH]...", shell_complete=offer("references"))
@click.option("--against", metavar="REF", help="Baseline of the check that found it.")
@click.option("--base", metavar="BRANCH", help="Branch of the check that found it.")
@sql_options
@format_option("text", "json", "markdown", "html")
@with_context
def explain(
    context: CommandContext,
    finding: str,
    places: tuple[str, ...],
    against: str | None,
    base: str | None,
    sql: tuple[str, ...],
    word: str | None,
    format: str,
) -> None:
    """Explain the finding with the fingerprint FINDING, and its rule. The first digits are enough.

    A finding of files is found again by the arguments of its check: PATH, --against, --base, --sql and
    --dialect.
    """
    judged = find_finding(context, finding, places, against, base, sql, word)
    context.console.show(build_explain_report(judged, RULES.get(judged.finding.rule)), format)


COMMAND = explain
