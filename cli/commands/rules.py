"""Show the catalogue of rules, or one of them."""

from __future__ import annotations

import click

from schemaman.compat.judge import RULES
from schemaman.report.views.findings import build_rules_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option


@verb("rules", "schemaman rules", "schemaman rules column-dropped")
@click.argument("name", required=False)
@format_option("text", "json", "markdown", "html")
@door
def rules(door: Door, name: str | None, format: str) -> None:
    """Show every rule and whom it speaks for; with NAME, its whole page."""
    chosen = RULES.load_all() if name is None else (RULES.get(name),)
    door.console.show(build_rules_report(chosen, whole=name is not None), format)


COMMAND = rules
