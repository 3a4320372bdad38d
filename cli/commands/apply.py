"""Run plans, step by step, with a journal."""

from __future__ import annotations

from pathlib import Path

import click

from schemaman.errors import SchemamanError, UnreadableInput, UsageError
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import from_text
from schemaman_cli.group import verb
from schemaman_cli.migrating import Wishes, migrate, new_run
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.paths import is_folder
from schemaman_cli.wiring import files_in, read_file


@verb("apply", "schemaman apply orders.plan.json --dry-run", "schemaman apply orders.plan.json --clone")
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...")
@click.option("--partial", is_flag=True, help="Make the steps of a plan that has refusals.")
@click.option("--dry-run", is_flag=True, help="Check everything on the live table; run nothing.")
@click.option("--clone", is_flag=True, help="Try the plan on an empty clone of the table first.")
@click.option("--take-over", is_flag=True, help="Also if another store keeps the table, which is gone.")
@format_option("text", "json", "markdown")
@door
def apply(
    door: Door,
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
    wishes = Wishes(partial, dry_run, clone, take_over)
    if len(files) == 1:
        return migrate(door, [(new_run(), from_text(read_file(files[0])))], wishes, format)
    read = [(new_run(), file, _read(file)) for file in files]
    good = [(run, plan) for run, _, plan in read if isinstance(plan, Plan)]
    bad = [(run, file, error) for run, file, error in read if isinstance(error, SchemamanError)]
    if bad and not good:
        raise bad[0][2]
    return migrate(door, good, wishes, format, bad)


def _read(file: str) -> Plan | SchemamanError:
    """A plan, or what is wrong with its file: that stops none of the others."""
    try:
        return from_text(read_file(file))
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
            f"{place}: a folder without a plan", hint=f"name a file in it: {files_in(Path(place))}"
        )
    return found


COMMAND = apply
