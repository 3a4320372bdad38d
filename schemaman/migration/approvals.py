"""Finds the steps that a person has to approve by the policy, whatever a plan file asks for.

A plan file says itself what needs approval, and anybody can edit it.
"""

from __future__ import annotations

from collections.abc import Collection

from schemaman.migration.plan import Plan, Step
from schemaman.migration.policy import ChangeKind, Policy
from schemaman.migration.policy_checks import PolicyCheck
from schemaman.migration.rename_grounds import RenameGrounds
from schemaman.migration.step_kinds import list_step_kinds

_VALUES_LOST = "values are lost"


def list_missing_approvals(
    plan: Plan,
    policy: Policy,
    sources: Collection[str] = (),
    targets: Collection[str] = (),
    grounds: RenameGrounds | None = None,
    layout: Collection[str] = (),
) -> tuple[str, ...]:
    """List the approvals that the policy demands now, but the plan does not ask for.

    `sources` and `targets` are names that the table itself and the settings give, beside those that the plan
    states: an edited plan may state others, for which the policy demands less. `grounds` are those of the
    store for renames; without them each rename counts as stated. `layout` names the columns by which the
    files of the table are laid out now.

    Raises:
        ValueError: a statement is not the one of its step, see `require_own_statements`.
    """
    kinds = list_step_kinds(plan, layout, grounds)
    checks = [
        PolicyCheck(policy, source, (target, plan.format))
        for source in {plan.source.table, *sources}
        for target in {plan.target, *targets}
    ]
    return tuple(
        f"{step.kind}: {step.statement} ({why})"
        for step, own in zip(plan.steps, kinds, strict=True)
        if (why := next(filter(None, (_find_demand(plan, step, check, own) for check in checks)), ""))
        and not _is_asked(plan, step)
    )


def _is_asked(plan: Plan, step: Step) -> bool:
    """Whether a plan asks for the approval of a step; the swap of a recipe is approved as one."""
    if plan.phase is not None and plan.phase.name == "swap":
        return bool(plan.approvals_needed)
    return any(asked.startswith(f"{step.kind}: {step.statement} (") for asked in plan.approvals_needed)


def _find_demand(plan: Plan, step: Step, check: PolicyCheck, kinds: tuple[ChangeKind, ...]) -> str:
    """Find why a person has to approve a step, whatever the plan asks for; empty if no approval is needed."""
    phase = plan.phase.name if plan.phase is not None else None
    if step.kind == "restore" or (phase is not None and step.kind == "drop-columns"):
        return _VALUES_LOST
    if phase == "swap" and step.kind == "rename-column" and "rename-suspected" not in kinds:
        kinds = ("retype",)
    if not kinds:
        return ""
    ruling = check.ask(*kinds)
    return "" if ruling.level == "auto" else ruling.why
