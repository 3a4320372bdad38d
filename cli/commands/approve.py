"""Approve plans in schemaman.decisions.toml."""

from __future__ import annotations

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
from schemaman.report.document import Report
from schemaman.report.formats.text import TextFormat
from schemaman.report.json.answers import PlanApproval, build_approvals
from schemaman.report.views.migrations import build_plan_report
from schemaman_cli.asking import confirm, find_user
from schemaman_cli.days import parse_last_day
from schemaman_cli.group import command
from schemaman_cli.options import CommandContext, format_option, with_context
from schemaman_cli.output import write_error_lines

_DEFAULT = "14d"


@command(
    "approve", "schemaman approve orders.plan.json", "schemaman approve plans/*.json --expires 30d --yes"
)
@click.argument("plans", nargs=-1, required=True, metavar="PLAN...")
@click.option("--by", metavar="NAME", help="Name of the approver (default: git's user.email, else login).")
@click.option(
    "--expires", metavar="WHEN", default=_DEFAULT, show_default=True, help="Last day: a date, or 14d."
)
@click.option("-y", "--yes", is_flag=True, help="Approve without a question.")
@format_option("text", "json")
@with_context
def approve(
    context: CommandContext, plans: tuple[str, ...], by: str | None, expires: str, yes: bool, format: str
) -> None:
    """Show each PLAN and add its approval to schemaman.decisions.toml. Commit that file.

    An approval is valid only for the plan with this hash, until the end of its last day (UTC).
    """
    for path in plans:
        _require_file(path)
    chosen = [read_plan(context.settings, plan) for plan in plans]
    last = parse_last_day(expires, "an approval")
    needed = [plan for plan in chosen if _needs_approval(context, plan)]
    name = by or find_user()
    for plan in needed:
        shown = build_plan_report([plan], to_document(plan))
        if format == "text":
            context.console.show(shown, "text")
        elif not yes:  # stdout is for the result, and the question needs the plan
            write_error_lines(TextFormat().render(shown))
    decisions = resolve_path(context.settings.decisions)
    results = [PlanApproval(plan_hash(p), p.table, "not-needed") for p in chosen if p not in needed]
    for plan in needed:
        hash = plan_hash(plan)
        found = parse(_read_decisions(decisions), str(decisions)).find_approval(hash, last)
        if found is not None:
            results.append(PlanApproval(hash, plan.table, "known", found))
            text = f"{decisions} already approves the plan: by {found.by}, until {found.expires}"
        elif confirm(f"Approve {_count_steps(plan)} as {name} until {last}?", yes, "schemaman approve PLAN"):
            # Read again: the file may have changed while the question was open.
            approval = Approval(hash, name, last)
            write_text(decisions, _read_decisions(decisions) + format_decision(approval))
            results.append(PlanApproval(hash, plan.table, "written", approval))
            text = f"written to {decisions}; next: commit it, then schemaman apply PLAN"
        else:
            results.append(PlanApproval(hash, plan.table, "declined"))
            continue
        if format == "text":
            context.console.inform(text)
    if format == "json":
        document = build_approvals(str(decisions), results)
        context.console.show(Report("", (), document), "json")


def _require_file(path: str) -> None:
    """Raises `UsageError` for a folder: an approval is for plans that the user has read."""
    if is_folder(Path(path)):
        hint = f"schemaman approve {(path or '.').rstrip('/')}/*.plan.json"
        raise UsageError(f"{path} is a folder: name the plan files that you have read", hint=hint)


def _read_decisions(path: Path) -> str:
    return read_text(path) if path.exists() else ""


def _needs_approval(context: CommandContext, plan: Plan) -> bool:
    if plan.expires_ms is not None and plan.expires_ms < now_ms():
        raise StalePlan(f"the plan for {plan.table} has expired", hint="make a new one with `schemaman plan`")
    if not plan.approvals_needed:
        context.console.inform(f"the plan for {plan.table} needs no approval")
    return bool(plan.approvals_needed)


def _count_steps(plan: Plan) -> str:
    return f"{len(plan.approvals_needed)} of {len(plan.steps)} steps on {plan.table}"


COMMAND = approve
