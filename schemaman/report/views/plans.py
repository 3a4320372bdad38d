"""Builds the blocks of plans and refusals."""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.migration.plan import Level, Plan, PolicyDecision, Refusal, Reversible
from schemaman.migration.rollback import describe_staying
from schemaman.report.document import Block, Code, Grid, Heading, Inline, Notice, Paragraph, Text, Tone
from schemaman.report.views import words

_CLASSES: dict[str, Tone] = {
    "none": "muted", "additive": "good", "widening": "good", "metadata": "good", "capability-upgrade": "note",
    "needs-scan": "danger", "needs-rewrite": "danger",
}  # fmt: skip
_LEVELS: dict[Level, Tone] = {
    "auto": "good", "approve": "note", "ignore": "muted", "quarantine": "danger", "block": "break",
}  # fmt: skip


_WAYS_BACK: dict[Reversible, str] = {"reversible": "undo", "time-travel": "time travel", "no": "none"}


def build_plan_blocks(plan: Plan, anchor: str = "") -> Iterator[Block]:
    """Build a plan under a third-level heading: its target, steps, statements and refusals."""
    name = f"{anchor}-plan-{plan.target}" if anchor else ""
    yield Heading(f"Plan for {plan.target}", 3, name)
    yield Paragraph(_build_head(plan))
    if plan.steps:
        header = ("step", "kind", "class", "rollback", "affects")
        yield Grid("Steps, one commit each", header, tuple(_build_rows(plan)))
        yield Code("\n".join(f"{step.statement};" for step in plan.steps), "sql")
        yield Paragraph(_describe_way_back(plan))
    yield from (build_refusal_notice(refusal, plan.table) for refusal in plan.refusals)
    if plan.rulings:
        yield Grid("Policy", ("change", "level", "reason"), tuple(map(_build_decision_row, plan.rulings)))
    yield from (Paragraph((Text("note: ", "muted"), Text(note))) for note in plan.notes)
    if plan.approvals_needed:
        yield Paragraph((Text("Needs approval: "), Text(", ".join(plan.approvals_needed))))


def build_refusal_notice(refusal: Refusal, table: str) -> Notice:
    """Build the notice of a refused change: the reason, and an alternative for the user."""
    instead: Inline = (Text(refusal.instead),)
    facts = (("instead", instead),) if refusal.instead else ()
    return Notice(f"refused: {refusal.change}", "break", table, refusal.reason, facts)


def _build_head(plan: Plan) -> Inline:
    source = plan.source
    version = "" if plan.base_version is None else f" as of version {plan.base_version}"
    base = "a new table" if plan.base_schema is None else f"the table{version}"
    text = (
        f" ({plan.format}) follows version {format_version(source.version, source.revision)}, from {base}. "
    )
    return (Text(plan.table, code=True), Text(text), *_build_phase(plan), *_build_state(plan))


def _build_phase(plan: Plan) -> Inline:
    phase = plan.phase
    if phase is None:
        return ()
    return (Text(f"Phase {phase.number} of {phase.of}, {phase.name}"), Text(f"; gate: {phase.gate}. "))


def format_version(version: int, revision: int) -> str:
    """`3`, and `3.2` for its second revision."""
    return f"{version}.{revision}" if revision else str(version)


def _build_state(plan: Plan) -> Inline:
    steps, refused = (
        words.format_count(len(plan.steps), "step"),
        words.format_count(len(plan.refusals), "refusal"),
    )
    if plan.refusals:
        return (Text(f"{refused}, {steps}", "break"),)
    return (Text(steps, "note"),) if plan.steps else (Text("nothing to do", "good"),)


def _build_decision_row(ruled: PolicyDecision) -> tuple[Inline, ...]:
    return (Text(ruled.change),), (Text(ruled.level, _LEVELS[ruled.level]),), (Text(ruled.why),)


def _describe_way_back(plan: Plan) -> Inline:
    """Describe the rollback, and the first step that no statement undoes."""
    number = plan.point_of_no_return
    made = next((step for step in plan.steps if step.kind == "create-table"), None)
    if number is None and made is not None:
        return (
            Text("The table is new. To undo this, drop the table by hand if you do not need its rows: "),
            Text(f"{made.undo}", code=True),
        )
    if plan.phase is not None and plan.phase.name == "fill" and plan.steps:
        return (
            Text("The rows go to a new table; the old one stays. To undo this, drop the new one by hand: "),
            Text(f"{plan.steps[0].undo}", code=True),
        )
    if number is None:
        gated = plan.phase is not None and plan.phase.name in ("swap", "rekey")
        condition = ", unless a row that was written since then prevents it" if gated else ""
        return (
            Text("Every step can be undone", "good"),
            Text(f"{condition}: schemaman plan --rollback PLAN|RUN"),
        )
    step = plan.steps[number - 1]
    back = "none"
    if step.reversible == "time-travel":
        back = "the table's own time travel, until rows are written"
    elif not any(each.undo is None and not describe_staying(each) for each in plan.steps):
        back = "the other steps; what holds more than before stays"
    return (Text("The point of no return is step "), Text(str(number), "danger"), Text(f"; rollback: {back}"))


def _build_rows(plan: Plan) -> Iterator[tuple[Inline, ...]]:
    for number, step in enumerate(plan.steps, 1):
        tone = _CLASSES[step.step_class]
        yield (
            (Text(str(number)),),
            (Text(step.kind),),
            (Text(step.step_class, tone),),
            (Text(_WAYS_BACK[step.reversible]),),
            (Text("; ".join(step.hurts)),),
        )
