"""Continue a run that stopped."""

from __future__ import annotations

import click

from schemaman.api.applying import ApplyRequest
from schemaman.errors import UnknownName
from schemaman.migration.plan_file import from_text
from schemaman_cli.group import command
from schemaman_cli.library import open_registry
from schemaman_cli.migrating import apply_plans
from schemaman_cli.options import CommandContext, format_option, offer, with_context


@command("resume", "schemaman resume 5f0c31d2ab90", "schemaman resume 5f0c31d2ab90 --partial")
@click.argument("run", metavar="RUN", shell_complete=offer("runs"))
@click.option("--partial", is_flag=True, help="Apply the steps of a plan even if it has refusals.")
@click.option("--clone", is_flag=True, help="Try the rest of the plan on an empty clone first.")
@click.option(
    "--take-over",
    is_flag=True,
    help="As for apply, for a run that stopped before it took over the table.",
)
@format_option("text", "json", "markdown")
@with_context
def resume(
    context: CommandContext, run: str, partial: bool, clone: bool, take_over: bool, format: str
) -> int:
    """Continue the run RUN from the current state of its table: completed steps are not repeated."""
    lines = open_registry(context).journal(run=run)
    started = [line for line in lines if line.state == "started" and line.statement]
    if not started:
        raise UnknownName(f"there is no run {run!r}", hint="schemaman status lists the runs")
    plan = from_text(started[-1].statement)
    return apply_plans(
        context, [(run, plan)], ApplyRequest(partial, clone=clone, take_over=take_over), format
    )


COMMAND = resume
