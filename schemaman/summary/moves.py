"""What commands that move say: plans, migrations, their status, drift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemaman.applying import Migration
from schemaman.documents import lake as documents
from schemaman.documents.lake import Drift, RunState
from schemaman.plan import Plan
from schemaman.report import Block, Grid, Inline, Notice, Paragraph, Report, Text, Tone
from schemaman.summary import words
from schemaman.summary.plans import plan_blocks
from schemaman.summary.stories import told

_STATES: dict[str, Tone] = {
    "applied": "good", "unchanged": "good", "refused": "break",
    "finished": "good", "running": "note", "failed": "break",
}  # fmt: skip


def plan_report(plans: Sequence[Plan], data: Mapping[str, object]) -> Report:
    """What `plan` says: every plan, then what comes next."""
    blocks: list[Block] = [block for plan in plans for block in plan_blocks(plan)]
    refused = sum(len(p.refusals) for p in plans)
    steps = sum(len(p.steps) for p in plans)
    if not plans:
        blocks.append(Paragraph((Text("no table is to be planned for", "muted"),)))
    elif refused:
        blocks.append(
            Paragraph((Text(words.count(refused, "refusal"), "break"), Text("; nothing was changed")))
        )
    elif steps:
        text = f"{words.count(steps, 'step')} to be made with schemaman apply PLAN; nothing was changed"
        blocks.append(Paragraph((Text(text),)))
    return Report("Plan", tuple(blocks), dict(data))


def apply_report(done: Migration) -> Report:
    """What `apply` says: each step, and whether the table is what the plan promised."""
    blocks: list[Block] = []
    if done.outcomes:
        rows = tuple(
            (
                (Text(str(o.number + 1)),),
                (Text(o.state, "good" if o.state == "done" else "muted"),),
                (Text(o.version),),
                (Text(o.statement, code=True),),
            )
            for o in done.outcomes
        )
        blocks.append(Grid(f"Run {done.run}", ("step", "state", "version", "statement"), rows))
    blocks += [Notice("refused", "break", done.table, reason) for reason in done.reasons]
    blocks.append(Paragraph(_outcome(done)))
    blocks += [Paragraph((Text("differs: "), *words.change(c))) for c in told(done.differences)]
    return Report("Apply", tuple(blocks), dict(documents.apply(done)))


def status_report(runs: Sequence[RunState]) -> Report:
    """What `status` says: a line a run."""
    rows = tuple(
        (
            (Text(r.run, code=True),),
            (Text(r.target, code=True),),
            (Text(r.state, _STATES[r.state]),),
            (Text(str(r.steps_done)),),
            (Text(words.time(r.last_ms)),),
            (Text(r.error),),
        )
        for r in runs
    )
    header = ("run", "target", "state", "steps done", "last line", "error")
    grid = Grid(f"{words.count(len(rows), 'run')}, newest last", header, rows)
    nothing = Paragraph((Text("no plan has been applied yet: schemaman apply PLAN", "muted"),))
    return Report("Status", (grid,) if rows else (nothing,), dict(documents.status(runs)))


def drift_report(looked_at: Sequence[Drift]) -> Report:
    """What `drift` says: every table that was migrated, and what someone else changed since."""
    blocks: list[Block] = []
    for drift in looked_at:
        if drift.gone:
            blocks.append(Notice("gone", "break", drift.table, "The table is there no more."))
        elif drift.changes:
            lines: tuple[tuple[str, Inline], ...] = tuple(("", words.change(c)) for c in told(drift.changes))
            message = "Someone else changed the table since the last migration."
            blocks.append(Notice("drift", "danger", drift.table, message, lines))
    found = sum(d.found for d in looked_at)
    text = f"{words.count(found, 'table')} of {len(looked_at)} drifted"
    tone: Tone = "danger" if found else "good"
    blocks.append(
        Paragraph((Text(text if found else f"no drift in {words.count(len(looked_at), 'table')}", tone),))
    )
    return Report("Drift", tuple(blocks), dict(documents.drift(looked_at)))


def _outcome(done: Migration) -> Inline:
    if done.state == "refused":
        return (Text("refused", "break"), Text(f": nothing was done to {done.table}"))
    if done.differences:
        return (Text("differs", "danger"), Text(f": {done.table} is not what the plan promised"))
    what = "as the plan promised" if done.state == "applied" else "as it was: every step had been done before"
    return (Text(done.state, _STATES[done.state]), Text(f": {done.table} is {what}"))
