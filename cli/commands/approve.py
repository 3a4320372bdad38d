"""Approve a plan, in a file for git."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from schemaman.api.files import is_folder, read_text, write_text
from schemaman.api.plan_files import read_plan
from schemaman.api.settings_files import resolve_path
from schemaman.api.workspace import now_ms
from schemaman.errors import StalePlan, UsageError
from schemaman.history.decisions import Approval, format_decision, parse
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import plan_hash, to_document
from schemaman.report.views.migrations import build_plan_report
from schemaman_cli.asking import confirm
from schemaman_cli.days import parse_last_day
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, with_context

_DEFAULT = "14d"


@command(
    "approve", "schemaman approve orders.plan.json", "schemaman approve plans/*.json --expires 30d --yes"
)
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...")
@click.option("--by", metavar="NAME", help="Who approves; default is git's user.email, or the login name.")
@click.option("--expires", metavar="WHEN", default=_DEFAULT, show_default=True, help="A day, or 14d.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@with_context
def approve(context: CommandContext, plans: tuple[str, ...], by: str | None, expires: str, yes: bool) -> None:
    """Show each PLAN, and say in schemaman.decisions.toml that it may be applied as it is; commit that file.

    An approval holds for the plan of this hash alone, until its last day is over (UTC).
    """
    for place in plans:
        _require_file(place)
    chosen = [read_plan(context.settings, plan) for plan in plans]
    last = parse_last_day(expires, "an approval")
    needed = [plan for plan in chosen if _needs(context, plan)]
    name = by or _name()
    for plan in needed:
        context.console.show(build_plan_report([plan], to_document(plan)), "text")
    path = resolve_path(context.settings.decisions)
    for plan in needed:
        hash = plan_hash(plan)
        found = parse(_answers(path), str(path)).find_approval(hash, last)
        if found is not None:
            context.console.inform(f"{path} says so already: {found.by}, until {found.expires}")
        elif confirm(f"Approve {_words(plan)} as {name} until {last}?", yes, "schemaman approve PLAN"):
            # Read again: somebody may have written an answer while this one was thought over.
            write_text(path, _answers(path) + format_decision(Approval(hash, name, last)))
            context.console.inform(f"written to {path}; next: commit it, then schemaman apply PLAN")


def _require_file(place: str) -> None:
    """Raises `UsageError` for a folder: nobody approves what happens to lie in it."""
    if is_folder(Path(place)):
        hint = f"schemaman approve {(place or '.').rstrip('/')}/*.plan.json"
        raise UsageError(f"{place} is a folder: name the plans that you have seen", hint=hint)


def _answers(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _needs(context: CommandContext, plan: Plan) -> bool:
    if plan.expires_ms is not None and plan.expires_ms < now_ms():
        raise StalePlan(f"the plan for {plan.table} has expired", hint="make it again with `schemaman plan`")
    if not plan.approvals_needed:
        context.console.inform(f"the plan for {plan.table} needs no approval")
    return bool(plan.approvals_needed)


def _words(plan: Plan) -> str:
    return f"{len(plan.approvals_needed)} of {len(plan.steps)} steps on {plan.table}"


def _name(command: Sequence[str] = ("git", "config", "user.email")) -> str:
    """Who is at work here."""
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path.cwd())
    except OSError:
        return getpass.getuser()
    return told.stdout.strip() or getpass.getuser()


COMMAND = approve
