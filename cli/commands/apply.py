"""Run plans, step by step, with a journal."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.api.applying import ApplyRequest, new_run
from schemaman.api.files import is_folder, name_files
from schemaman.api.plan_files import read_plan
from schemaman.errors import SchemamanError, UnreadableInput, UsageError
from schemaman.migration.plan import Plan
from schemaman_cli.group import command
from schemaman_cli.migrating import apply_plans
from schemaman_cli.options import CommandContext, format_option, with_context


@command("apply", "schemaman apply orders.plan.json --dry-run", "schemaman apply orders.plan.json --clone")
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...")
@click.option("--partial", is_flag=True, help="Make the steps of a plan that has refusals.")
@click.option("--dry-run", is_flag=True, help="Check everything on the live table; run nothing.")
@click.option("--clone", is_flag=True, help="Try the plan on an empty clone of the table first.")
@click.option("--take-over", is_flag=True, help="Also if another store keeps the table, which is gone.")
@format_option("text", "json", "markdown")
@with_context
def apply(
    context: CommandContext,
    plans: tuple[str, ...],
    partial: bool,
    dry_run: bool,
    clone: bool,
    take_over: bool,
    format: str,
) -> int:
    """Run each plan file PLAN, or each one in a folder, exactly as it was made, if its table has not moved.

    Each step is checked, journalled, run, and checked again. After a crash, apply the same plan again.
    """
    files = [file for place in plans for file in _files(place)]
    request = ApplyRequest(partial, dry_run, clone, take_over)
    if len(files) == 1:
        return apply_plans(context, [(new_run(), read_plan(context.settings, files[0]))], request, format)
    read = [(new_run(), file, _read(context, file)) for file in files]
    good = [(run, plan) for run, _, plan in read if isinstance(plan, Plan)]
    bad = [(run, file, error) for run, file, error in read if isinstance(error, SchemamanError)]
    if bad and not good:
        raise bad[0][2]
    return apply_plans(context, good, request, format, bad)


def _read(context: CommandContext, file: str) -> Plan | SchemamanError:
    """A plan, or what is wrong with its file: that stops none of the others."""
    try:
        return read_plan(context.settings, file)
    except SchemamanError as error:
        return error


def _files(place: str) -> list[str]:
    """A plan file, or those of a folder in order."""
    if not place:
        raise UsageError("a plan without a name", hint="is a variable of the shell unset? name a file, or .")
    if not is_folder(Path(place)):
        return [place]
    found = sorted(str(path) for path in Path(place).glob("*.plan.json"))
    if not found:
        raise UnreadableInput(
            f"{place}: a folder without a plan", hint=f"name a file in it: {name_files(Path(place))}"
        )
    return found


COMMAND = apply
