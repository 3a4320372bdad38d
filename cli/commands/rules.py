"""Show the catalogue of rules, or one rule."""

from __future__ import annotations

import click

from schemaman.compat.judge import RULES
from schemaman.report.views.findings import build_rules_report
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("rules", "schemaman rules", "schemaman rules column-dropped")
@click.argument("name", required=False, shell_complete=offer("rules"))
@format_option("text", "json", "markdown", "html")
@with_context
def rules(context: CommandContext, name: str | None, format: str) -> None:
    """Show every rule and the readers it protects; with NAME, the full page of one rule."""
    chosen = RULES.load_all() if name is None else (RULES.get(name),)
    context.console.show(build_rules_report(chosen, whole=name is not None), format)


COMMAND = rules
