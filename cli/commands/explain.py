"""Say why a finding fired, what it does, and what to do."""

from __future__ import annotations

import click

from schemaman.compat.judge import RULES
from schemaman.report.views.findings import build_explain_report
from schemaman_cli.findings import finding_of
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option


@verb("explain", "schemaman explain 18d38a2fd54fcc28", "schemaman explain 18d38a --format json")
@click.argument("finding", metavar="FINDING")
@format_option("text", "json", "markdown", "html")
@door
def explain(door: Door, finding: str, format: str) -> None:
    """Tell of the finding with the fingerprint FINDING (its beginning is enough), and of its rule."""
    judged = finding_of(door, finding)
    door.console.show(build_explain_report(judged, RULES.get(judged.finding.rule)), format)


COMMAND = explain
