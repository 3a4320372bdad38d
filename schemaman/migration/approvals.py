"""Finds the steps that a person has to approve by the policy, whatever a plan file asks for.

A plan file says itself what needs approval, and anybody can edit it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from schemaman.migration.plan import Plan, Step, StepKind
from schemaman.migration.policy import ChangeKind, Policy
from schemaman.migration.policy_checks import PolicyCheck

_VALUES_LOST = "values are lost"
_POLICY_KINDS: Mapping[StepKind, ChangeKind] = {
    "create-table": "new-table",
    "change-type": "widen",
    "rename-column": "rename-stated",
    "drop-columns": "drop-column",
    "backfill": "retype",
}
"""The least kind of change of a step for the policy; the changes of a plan may add stricter kinds."""


def list_missing_approvals(
    plan: Plan, policy: Policy, sources: Collection[str] = (), targets: Collection[str] = ()
) -> tuple[str, ...]:
    """List the approvals that the policy demands now, but the plan does not ask for.

    `sources` and `targets` are names that the table itself and the settings give, beside those that the plan
    states: an edited plan may state others, for which the policy demands less.
    """
    checks = [
        PolicyCheck(policy, source, (target, plan.format))
        for source in {plan.source.table, *sources}
        for target in {plan.target, *targets}
    ]
    return tuple(
        f"{step.kind}: {step.statement} ({why})"
        for step in plan.steps
        if (why := next(filter(None, (_find_demand(plan, step, check) for check in checks)), ""))
        and not _is_asked(plan, step)
    )


def _is_asked(plan: Plan, step: Step) -> bool:
    """Whether a plan asks for the approval of a step; the swap of a recipe is approved as one."""
    if plan.phase is not None and plan.phase.name == "swap":
        return bool(plan.approvals_needed)
    return any(asked.startswith(f"{step.kind}: {step.statement} (") for asked in plan.approvals_needed)


def _find_demand(plan: Plan, step: Step, check: PolicyCheck) -> str:
    """Find why a person has to approve a step, whatever the plan asks for; empty if no approval is needed."""
    phase = plan.phase.name if plan.phase is not None else None
    if step.kind == "restore" or (phase is not None and step.kind == "drop-columns"):
        return _VALUES_LOST
    kind = _POLICY_KINDS.get(step.kind)
    if step.step_class == "capability-upgrade":
        kind = "upgrade"
    elif phase == "swap" and step.kind == "rename-column":
        kind = "retype"
    ruling = None if kind is None else check.ask(kind)
    return "" if ruling is None or ruling.level == "auto" else ruling.why
