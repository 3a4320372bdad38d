"""Builds the reports of `plan`, `apply`, `status` and `drift`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from schemaman.history.open_questions import OpenQuestion
from schemaman.migration.apply.run import Migration
from schemaman.migration.layout import LayoutChange
from schemaman.migration.plan import Plan
from schemaman.model.diff import Diff
from schemaman.model.shell import quote_word
from schemaman.report.document import Block, Grid, Inline, Notice, Paragraph, Report, Text, Tone
from schemaman.report.json import migrations as documents
from schemaman.report.json.migrations import Drift, FailedPlan
from schemaman.report.json.status import RunState, TargetState, build_status
from schemaman.report.json.tables import SCHEMA_VERSION
from schemaman.report.views import words
from schemaman.report.views.plans import build_plan_blocks
from schemaman.report.views.questions import build_questions_grid
from schemaman.report.views.table_changes import select_shown_changes
from schemaman.sink.waiting_records import WaitingRecords

_STATES: dict[str, Tone] = {
    "applied": "good", "unchanged": "good", "refused": "break", "checked": "note",
    "finished": "good", "running": "note", "stopped": "danger", "failed": "break",
}  # fmt: skip


def build_plan_report(plans: Sequence[Plan], data: Mapping[str, object], failed: int = 0) -> Report:
    """Build the report of `plan`: every plan, then the next step; `failed` counts tables without a plan."""
    blocks: list[Block] = [block for plan in plans for block in build_plan_blocks(plan)]
    refused = sum(len(p.refusals) for p in plans)
    steps = sum(len(p.steps) for p in plans)
    if not plans and failed:
        text = f"{words.format_count(failed, 'table')} could not be planned; nothing was changed"
        blocks.append(Paragraph((Text(text, "break"),)))
    elif not plans:
        blocks.append(Paragraph((Text("there is no table to plan", "muted"),)))
    elif refused:
        blocks.append(
            Paragraph((Text(words.format_count(refused, "refusal"), "break"), Text("; nothing was changed")))
        )
    elif steps:
        text = f"{words.format_count(steps, 'step')} planned; nothing was changed; next: schemaman apply PLAN"
        blocks.append(Paragraph((Text(text),)))
    return Report("Plan", tuple(blocks), dict(data))


def build_apply_report(done: Sequence[Migration | FailedPlan]) -> Report:
    """Build the report of `apply`: each step of each plan, and whether the tables match the plans."""
    blocks: list[Block] = []
    for one in done:
        if isinstance(one, FailedPlan):
            instead: Inline = (Text(one.hint),)
            blocks.append(
                Notice("failed", "break", one.table, one.message, (("hint", instead),) if one.hint else ())
            )
        else:
            blocks += _build_migration(one)
    if len(done) > 1:
        counts = (f"{n} {state}" for state, n in Counter(map(_find_state, done)).items())
        blocks.append(Paragraph((Text(f"{words.format_count(len(done), 'plan')}: {', '.join(counts)}"),)))
    documents_of_plans = [
        documents.build_failed(one) if isinstance(one, FailedPlan) else documents.build_apply(one)
        for one in done
    ]
    data = (
        documents_of_plans[0]
        if len(documents_of_plans) == 1
        else {"schema_version": SCHEMA_VERSION, "runs": documents_of_plans}
    )
    return Report("Apply", tuple(blocks), dict(data))


def _find_state(one: Migration | FailedPlan) -> str:
    return "failed" if isinstance(one, FailedPlan) else "differs" if one.differences else one.state


def _build_migration(done: Migration) -> Iterator[Block]:
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
        yield Grid(
            f"Run {done.run}" if done.run else done.table, ("step", "state", "version", "statement"), rows
        )
    yield from (Notice("refused", "break", done.table, reason) for reason in done.reasons)
    if done.foreign or done.foreign_layout:
        lines = _list_drift(done.foreign, done.foreign_layout)
        message = (
            "The table had changed outside of schemaman since the last migration; the plan includes that."
        )
        yield Notice("drift", "danger", done.table, message, lines)
    yield Paragraph(_describe_outcome(done))
    yield from (
        Paragraph((Text("differs: "), *words.describe_change(c)))
        for c in select_shown_changes(done.differences)
    )
    yield from (Paragraph((Text("note: ", "muted"), Text(note))) for note in done.notes)


def build_status_report(
    runs: Sequence[RunState],
    targets: Sequence[TargetState] = (),
    questions: Sequence[OpenQuestion] = (),
    waiting: Sequence[WaitingRecords] | None = None,
) -> Report:
    """Build the report of `status`: a line a target, a line a run, the open questions, then what waits."""
    rows = tuple(
        (
            (Text(r.run, code=True),),
            (Text(r.target, code=True),),
            (Text(r.state, _STATES[r.state]),),
            (Text(str(r.steps_done)),),
            (Text(words.format_time(r.last_ms)),),
            (Text(r.error),),
        )
        for r in runs
    )
    header = ("run", "target", "state", "steps done", "last update", "error")
    grid = Grid(f"{words.format_count(len(rows), 'run')}, newest last", header, rows)
    nothing = Paragraph((Text("no plan has been applied yet: schemaman apply PLAN applies one", "muted"),))
    blocks: tuple[Block, ...] = (
        (_build_targets_grid(targets), grid, *_build_advice(targets), *build_questions_grid(questions))
        if rows
        else (nothing,)
    )
    document = build_status(runs, targets, questions, waiting)
    return Report("Status", (*blocks, *_list_waiting(waiting)), dict(document))


def _list_waiting(waiting: Sequence[WaitingRecords] | None) -> Iterator[Block]:
    """What waits in the quarantine that was named."""
    if waiting is not None and not waiting:
        yield Paragraph((Text("no record waits in quarantine", "muted"),))
    for each in waiting or ():
        yield Paragraph((Text(str(each), "danger" if each.command else "note"),))


def _build_targets_grid(targets: Sequence[TargetState]) -> Grid:
    rows = tuple(
        (
            (Text(t.target, code=True),),
            (Text(t.source),),
            (Text(t.run.plan[:12], code=True),),
            (Text(t.run.state, _STATES[t.run.state]),),
            (Text(f"{t.run.steps_done} of {'?' if t.steps is None else t.steps}"),),
            (Text(_describe_holder(t)),),
            (Text(t.drift, "danger"),),
        )
        for t in targets
    )
    header = ("target", "source", "plan", "state", "steps", "lease", "drift")
    return Grid(words.format_count(len(rows), "target"), header, rows)


def _describe_holder(target: TargetState) -> str:
    lease = target.lease
    return (
        ""
        if lease is None
        else f"{lease.owner} until {words.format_time(lease.expires_ms)}, lease {lease.token}"
    )


def _build_advice(targets: Sequence[TargetState]) -> Iterator[Block]:
    """Advise how to continue runs that did not finish."""
    for target in targets:
        if target.run.state in ("stopped", "failed"):
            yield Paragraph((Text("next: "), Text(f"schemaman resume {target.run.run}", code=True)))


def build_drift_report(looked_at: Sequence[Drift]) -> Report:
    """Build the report of `drift`: migrated tables that changed outside of schemaman."""
    blocks: list[Block] = []
    for drift in looked_at:
        if drift.missing:
            way_out: Inline = (Text(f"schemaman drift --forget {quote_word(drift.table)}", code=True),)
            facts = (("if it was dropped on purpose", way_out),)
            blocks.append(Notice("gone", "break", drift.table, "The table no longer exists.", facts))
        elif drift.changes or drift.layout:
            lines = _list_drift(drift.changes, drift.layout)
            message = "The table was changed outside of schemaman since the last migration."
            blocks.append(Notice("drift", "danger", drift.table, message, lines))
        if drift.earlier_drift:
            message = (
                f"An earlier run found the table changed outside of schemaman, and continued: "
                f"{drift.earlier_drift}."
            )
            blocks.append(Notice("drift", "danger", drift.table, message))
    found = sum(d.is_drifted for d in looked_at)
    text = f"{words.format_count(found, 'table')} of {len(looked_at)} drifted"
    tone: Tone = "danger" if found else "good"
    blocks.append(
        Paragraph(
            (Text(text if found else f"no drift in {words.format_count(len(looked_at), 'table')}", tone),)
        )
    )
    return Report("Drift", tuple(blocks), dict(documents.build_drift(looked_at)))


def _list_drift(changes: Diff, layout: Sequence[LayoutChange]) -> tuple[tuple[str, Inline], ...]:
    """List what someone else changed: columns, then the layout and settings."""
    columns = (("", words.describe_change(c)) for c in select_shown_changes(changes))
    others = ((c.label, (Text(f"{c.before or 'none'} → {c.after or 'none'}"),)) for c in layout)
    return (*columns, *others)


def _describe_outcome(done: Migration) -> Inline:
    if done.state == "refused":
        return (Text("refused", "break"), Text(f": {done.table} was not changed"))
    if done.differences:
        return (Text("differs", "danger"), Text(f": {done.table} does not match the plan"))
    steps = [outcome.state for outcome in done.outcomes]
    if done.state == "checked":
        due = words.format_count(steps.count("pending"), "step")
        return (Text("checked", "note"), Text(f": {due} would run on {done.table}; nothing was changed"))
    if done.state == "unchanged":
        done_before = f": all steps were already done on {done.table}"
        text = done_before if steps else f": the plan has no steps for {done.table}"
        return (Text("unchanged", "good"), Text(text))
    ran, found = words.format_count(steps.count("done"), "step"), steps.count("skipped")
    before = f", {found} already done" if found else ""
    took = f" in {done.took_ms / 1000:.1f} s" if done.took_ms else ""
    text = f": {done.table} matches the plan: {ran} run{before}{took}"
    return (Text("applied", "good"), Text(text))
