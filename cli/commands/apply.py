"""Apply plans step by step, and record each step in a journal."""

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
@click.option("--partial", is_flag=True, help="Apply the steps of a plan even if it has refusals.")
@click.option("--dry-run", is_flag=True, help="Check the plan against the table; run nothing.")
@click.option("--clone", is_flag=True, help="Try the plan on an empty clone of the table first.")
@click.option(
    "--take-over",
    is_flag=True,
    help="Apply even if the table belongs to another store. Use this only if that store no longer exists.",
)
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
    """Apply each plan file PLAN, or all plan files in a folder, unless the table has changed meanwhile.

    Each step is checked, journalled, run, and checked again. After a crash, apply the same plan again.
    """
    files = [file for path in plans for file in _list_plan_files(path)]
    request = ApplyRequest(partial, dry_run, clone, take_over)
    if len(files) == 1:
        return apply_plans(context, [(new_run(), read_plan(context.settings, files[0]))], request, format)
    read = [(new_run(), file, _read_plan(context, file)) for file in files]
    good = [(run, plan) for run, _, plan in read if isinstance(plan, Plan)]
    bad = [(run, file, error) for run, file, error in read if isinstance(error, SchemamanError)]
    if bad and not good:
        raise bad[0][2]
    return apply_plans(context, good, request, format, bad)


def _read_plan(context: CommandContext, file: str) -> Plan | SchemamanError:
    """Return a plan, or the error in its file, which does not stop the other plans."""
    try:
        return read_plan(context.settings, file)
    except SchemamanError as error:
        return error


def _list_plan_files(path: str) -> list[str]:
    """List one plan file, or the plan files of a folder in order."""
    if not path:
        raise UsageError(
            "the name of the plan is empty", hint="is a shell variable unset? name a file or a folder"
        )
    if not is_folder(Path(path)):
        return [path]
    found = sorted(str(file) for file in Path(path).glob("*.plan.json"))
    if not found:
        raise UnreadableInput(
            f"{path}: no *.plan.json in this folder", hint=f"name a file in it: {name_files(Path(path))}"
        )
    return found


COMMAND = apply
