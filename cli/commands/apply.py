"""Run a plan, step by step, with a journal."""

from __future__ import annotations

import click

from schemaman.planfile import from_text
from schemaman_cli.group import verb
from schemaman_cli.migrating import migrate, new_run
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import read_file


@verb("apply", "schemaman apply orders.plan.json", "schemaman apply orders.plan.json --partial")
@click.argument("plan", metavar="PLAN")
@click.option("--partial", is_flag=True, help="Make the steps of a plan that has refusals.")
@format_option("text", "json", "markdown")
@door
def apply(door: Door, plan: str, partial: bool, format: str) -> int:
    """Run the plan file PLAN exactly as it was made, if its table has not moved since.

    Each step is checked, journalled, run, and checked again. After a crash, apply the same plan again.
    """
    return migrate(door, from_text(read_file(plan)), new_run(), partial=partial, format=format)


COMMAND = apply
