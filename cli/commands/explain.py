"""Say why a finding fired, what it does, and what to do."""

from __future__ import annotations

import click

from schemaman.errors import UnknownName
from schemaman.summary.findings import explain_report
from schemaman.summary.stories import Judged, story
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import RULES, histories, judge_of, open_registry


@verb("explain", "schemaman explain 18d38a2fd54fcc28", "schemaman explain 18d38a --format json")
@click.argument("finding", metavar="FINDING")
@format_option("text", "json", "markdown", "html")
@door
def explain(door: Door, finding: str, format: str) -> None:
    """Tell of the finding with the fingerprint FINDING (its beginning is enough), and of its rule."""
    judge = judge_of(door.settings)
    found: dict[str, Judged] = {}
    for history in histories(door, open_registry(door)):
        for judged in story(history, judge).findings:
            if judged.finding.fingerprint.startswith(finding):
                found.setdefault(judged.finding.fingerprint, judged)
    if len(found) != 1:
        told = "several findings begin with" if found else "no finding is called"
        listed = ", ".join(found) or "schemaman report lists them, as schemaman check does"
        raise UnknownName(f"{told} {finding!r}", hint=listed)
    judged = next(iter(found.values()))
    door.console.show(explain_report(judged, RULES.get(judged.finding.rule)), format)


COMMAND = explain
