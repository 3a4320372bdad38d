"""Finds the steps that a person has to approve by the policy, whatever a plan file asks for.

A plan file says itself what needs approval, and anybody can edit it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from schemaman.migration.plan import Plan, Step, StepKind
from schemaman.migration.policy import ChangeKind, Policy
from schemaman.migration.policy_checks import PolicyCheck
from schemaman.migration.rename_grounds import RenameGrounds
from schemaman.migration.row_columns import ORDER
from schemaman.migration.target import TARGETS

_VALUES_LOST = "values are lost"
_POLICY_KINDS: Mapping[StepKind, ChangeKind] = {
    "create-table": "new-table",
    "rename-table": "rename-table",
    "change-type": "widen",
    "rename-column": "rename-stated",
    "drop-columns": "drop-column",
    "backfill": "retype",
    "add-constraint": "set-not-null",
}
"""The least kind of change of a step for the policy; the changes of a plan may add stricter kinds."""

_FILLS_NULL = re.compile(
    r"UPDATE \S+ SET (?P<new>`(?:[^`]|``)+`) = .* WHERE `(?:[^`]|``)+` IS NOT NULL AND (?P=new) IS NULL "
    rf"AND \(`{ORDER}` IS NULL OR `{ORDER}` < '[^']*'\)",
    re.DOTALL,
)
"""The statement that unites two columns: it replaces no value, whatever a plan file says of it."""

_TAKES_ROWS = re.compile(
    r"INSERT INTO (?P<here>\S+) \([^()]*\) SELECT .* FROM \S+ AS o "
    r"LEFT ANTI JOIN (?P=here) AS n ON o\.`.*",
    re.DOTALL,
)
"""The statement that takes over rows of another table: it adds rows whose key the table lacks."""


def is_takeover(statement: str) -> bool:
    """Whether a statement adds rows of one other table whose key its own table lacks."""
    return _TAKES_ROWS.fullmatch(statement) is not None


_NO_RENAMES: Mapping[str, ChangeKind] = {}


def list_missing_approvals(
    plan: Plan,
    policy: Policy,
    sources: Collection[str] = (),
    targets: Collection[str] = (),
    grounds: RenameGrounds | None = None,
) -> tuple[str, ...]:
    """List the approvals that the policy demands now, but the plan does not ask for.

    `sources` and `targets` are names that the table itself and the settings give, beside those that the plan
    states: an edited plan may state others, for which the policy demands less. `grounds` are those of the
    store for renames; without them each rename counts as stated.
    """
    renames = {} if grounds is None else grounds.list_kinds(plan)
    checks = [
        PolicyCheck(policy, source, (target, plan.format))
        for source in {plan.source.table, *sources}
        for target in {plan.target, *targets}
    ]
    return tuple(
        f"{step.kind}: {step.statement} ({why})"
        for step in plan.steps
        if (why := next(filter(None, (_find_demand(plan, step, check, renames) for check in checks)), ""))
        and not _is_asked(plan, step)
    )


def _is_asked(plan: Plan, step: Step) -> bool:
    """Whether a plan asks for the approval of a step; the swap of a recipe is approved as one."""
    if plan.phase is not None and plan.phase.name == "swap":
        return bool(plan.approvals_needed)
    return any(asked.startswith(f"{step.kind}: {step.statement} (") for asked in plan.approvals_needed)


def _find_demand(
    plan: Plan, step: Step, check: PolicyCheck, renames: Mapping[str, ChangeKind] = _NO_RENAMES
) -> str:
    """Find why a person has to approve a step, whatever the plan asks for; empty if no approval is needed."""
    phase = plan.phase.name if plan.phase is not None else None
    if step.kind == "restore" or (phase is not None and step.kind == "drop-columns"):
        return _VALUES_LOST
    kind = renames.get(step.statement, _POLICY_KINDS.get(step.kind))
    if step.step_class == "capability-upgrade" or _switches_features(plan, step):
        kind = "upgrade"
    elif phase == "unite" and step.kind == "backfill" and is_takeover(step.statement):
        kind = "rename-table"
    elif phase == "unite" and step.kind == "backfill" and _FILLS_NULL.fullmatch(step.statement):
        kind = "unite-columns"
    elif phase == "swap" and step.kind == "rename-column" and kind != "rename-suspected":
        kind = "retype"
    ruling = None if kind is None else check.ask(kind)
    return "" if ruling is None or ruling.level == "auto" else ruling.why


def _switches_features(plan: Plan, step: Step) -> bool:
    """Whether a step sets or unsets features of a table that exists, whatever class the file gives it."""
    properties = step.postcondition.get("properties")
    features = TARGETS.get(plan.format).feature_properties
    return (
        step.kind == "set-properties"
        and isinstance(properties, Mapping)
        and not features.isdisjoint(properties)
    )
