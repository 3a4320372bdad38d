"""Applies plans one after another and returns the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.api.applying import ApplyRequest, PlanApplier
from schemaman.api.exit_codes import FAILED, exit_code, exit_code_of_run
from schemaman.errors import SchemamanError, message_of
from schemaman.migration.apply.apply import Migration
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import plan_hash
from schemaman.report.json.migrations import FailedPlan
from schemaman.report.views.migrations import build_apply_report
from schemaman_cli.faults import REPORT_ONE_PLAN
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext


def apply_plans(
    context: CommandContext,
    plans: Sequence[tuple[str, Plan]],
    request: ApplyRequest,
    format: str,
    unread: Sequence[tuple[str, str, SchemamanError]] = (),
) -> int:
    """Apply plans, each under its run id; print the results and return the exit code.

    A failed single plan raises. Several plans are all tried, and the highest exit code is returned.
    `unread` lists files without a valid plan: run, file, and error.

    Raises:
        Stale: the table has changed, the plan has expired, or another process migrates the table.
        PartlyApplied: a later step failed.
        StatementFailed: the first step failed.
    """
    registry = open_registry(context, create=not request.dry_run)
    applier = PlanApplier(make_workspace(context), registry, request)
    if len(plans) == 1 and not unread:
        ((run, plan),) = plans
        done = applier.apply_plan(run, plan)
        context.console.show(build_apply_report([done]), format)
        return exit_code_of_run(done.state, done.differences, plan.refusals)
    results: list[Migration | FailedPlan] = [
        FailedPlan(run, "", file, error.message, error.hint or "") for run, file, error in unread
    ]
    codes = [0, *(exit_code(error) for _, _, error in unread)]
    for run, plan in plans:
        try:
            done = applier.apply_plan(run, plan)
        except SchemamanError as error:
            results.append(FailedPlan(run, plan_hash(plan), plan.table, error.message, error.hint or ""))
            codes.append(exit_code(error))
        except Exception as error:  # unexpected; the other plans are still applied
            failed = FailedPlan(run, plan_hash(plan), plan.table, message_of(error), REPORT_ONE_PLAN)
            results.append(failed)
            codes.append(FAILED)
        else:
            results.append(done)
            codes.append(exit_code_of_run(done.state, done.differences, plan.refusals))
    context.console.show(build_apply_report(results), format)
    return max(codes)
