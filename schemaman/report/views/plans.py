"""Plans, refusals and drift in words."""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.migration.plan import Level, Plan, Refusal, Reversible, Ruled
from schemaman.report.document import Block, Code, Grid, Heading, Inline, Notice, Paragraph, Text, Tone
from schemaman.report.views import words

_CLASSES: dict[str, Tone] = {
    "none": "muted", "additive": "good", "widening": "good", "metadata": "good", "capability-upgrade": "note",
    "needs-scan": "danger", "needs-rewrite": "danger",
}  # fmt: skip
_LEVELS: dict[Level, Tone] = {
    "auto": "good", "approve": "note", "ignore": "muted", "quarantine": "danger", "block": "break",
}  # fmt: skip


_WAYS: dict[Reversible, str] = {"reversible": "undo", "time-travel": "time travel", "no": "none"}


def plan_blocks(plan: Plan, anchor: str = "") -> Iterator[Block]:
    """A plan under a heading of the third level: what it is for, steps, statements, refusals."""
    name = f"{anchor}-plan-{plan.target}" if anchor else ""
    yield Heading(f"Plan for {plan.target}", 3, name)
    yield Paragraph(_head(plan))
    if plan.steps:
        header = ("step", "what", "class", "way back", "hurts")
        yield Grid("Steps, one commit each", header, tuple(_rows(plan)))
        yield Code("\n".join(f"{step.statement};" for step in plan.steps), "sql")
        yield Paragraph(_way_back(plan))
    yield from (refusal_notice(refusal, plan.table) for refusal in plan.refusals)
    if plan.rulings:
        yield Grid("Policy", ("change", "level", "why"), tuple(map(_ruling, plan.rulings)))
    yield from (Paragraph((Text("note: ", "muted"), Text(note))) for note in plan.notes)
    if plan.approvals_needed:
        yield Paragraph((Text("Needs approval: "), Text(", ".join(plan.approvals_needed))))


def refusal_notice(refusal: Refusal, table: str) -> Notice:
    """A change that is not made, why, and what a person could do instead."""
    instead: Inline = (Text(refusal.instead),)
    facts = (("instead", instead),) if refusal.instead else ()
    return Notice(f"refused: {refusal.change}", "break", table, refusal.reason, facts)


def _head(plan: Plan) -> Inline:
    source = plan.source
    base = "a new table" if plan.base_version is None else f"the table as of version {plan.base_version}"
    text = f" ({plan.format}) follows version {words_of(source.version, source.revision)}, from {base}. "
    return (Text(plan.table, code=True), Text(text), *_phase(plan), *_state(plan))


def _phase(plan: Plan) -> Inline:
    phase = plan.phase
    if phase is None:
        return ()
    return (Text(f"Phase {phase.number} of {phase.of}, {phase.name}"), Text(f"; gate: {phase.gate}. "))


def words_of(version: int, revision: int) -> str:
    """`3`, and `3.2` for its second revision."""
    return f"{version}.{revision}" if revision else str(version)


def _state(plan: Plan) -> Inline:
    steps, refused = words.count(len(plan.steps), "step"), words.count(len(plan.refusals), "refusal")
    if plan.refusals:
        return (Text(f"{refused}, {steps}", "break"),)
    return (Text(steps, "note"),) if plan.steps else (Text("nothing to do", "good"),)


def _ruling(ruled: Ruled) -> tuple[Inline, ...]:
    return (Text(ruled.change),), (Text(ruled.level, _LEVELS[ruled.level]),), (Text(ruled.why),)


def _way_back(plan: Plan) -> Inline:
    """From which step on there is no going back by statements."""
    number = plan.point_of_no_return
    made = next((step for step in plan.steps if step.kind == "create-table"), None)
    if number is None and made is not None:
        return (
            Text("The table is new: by hand alone, once nobody needs its rows: "),
            Text(f"{made.undo}", code=True),
        )
    if plan.phase is not None and plan.phase.name == "fill" and plan.steps:
        return (
            Text("The rows stand in a new table, the old one stays: by hand alone, once nobody needs them: "),
            Text(f"{plan.steps[0].undo}", code=True),
        )
    if number is None:
        gated = plan.phase is not None and plan.phase.name in ("swap", "rekey")
        told = ", as long as no row that was written since stands against it" if gated else ""
        return (Text("Every step can be undone", "good"), Text(f"{told}: schemaman plan --rollback PLAN|RUN"))
    step = plan.steps[number - 1]
    back = (
        "the table's own time travel, until rows are written" if step.reversible == "time-travel" else "none"
    )
    return (Text("The point of no return is step "), Text(str(number), "danger"), Text(f"; way back: {back}"))


def _rows(plan: Plan) -> Iterator[tuple[Inline, ...]]:
    for number, step in enumerate(plan.steps, 1):
        tone = _CLASSES[step.step_class]
        yield (
            (Text(str(number)),),
            (Text(step.kind),),
            (Text(step.step_class, tone),),
            (Text(_WAYS[step.reversible]),),
            (Text("; ".join(step.hurts)),),
        )
