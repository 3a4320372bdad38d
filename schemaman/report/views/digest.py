"""Builds the report of `digest`: what changed at the source, what was done to the lake, and what waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.migration.digest import Digest, RunDigest, SourceDigest, StepCost, StepDigest
from schemaman.model.shell import build_command
from schemaman.report.document import (
    Block,
    Event,
    Grid,
    Heading,
    Inline,
    Notice,
    Paragraph,
    Report,
    Text,
    TimelineBlock,
    Tone,
)
from schemaman.report.json import digest as documents
from schemaman.report.views import words
from schemaman.report.views.questions import build_questions_grid
from schemaman.report.views.table_changes import (
    TableChapter,
    build_chapter,
    select_shown_changes,
)
from schemaman.report.views.table_chapter import build_timeline

_STATES: dict[str, Tone] = {
    "finished": "good", "running": "note", "stopped": "danger", "failed": "break",
    "done": "good", "skipped": "muted", "sent": "danger",
}  # fmt: skip
_WAITING: dict[str, Tone] = {
    "approval": "note", "quarantine": "danger", "blocked": "danger", "refused": "break", "failed": "break",
    "bound": "note",
}  # fmt: skip
_SIZES = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def build_digest_report(digest: Digest) -> Report:
    """Build the report of a digest."""
    chapters = [(source, _build_chapter(source)) for source in digest.sources]
    blocks: list[Block] = [
        Heading("Digest", 1),
        Paragraph(_describe_extent(digest)),
        Heading("What waits", 2, "waiting"),
        *_build_waiting(digest),
        Heading("What was done to the lake", 2, "lake"),
        *_build_lake(digest),
        Heading("What changed at the source", 2, "source"),
        *_build_sources(chapters),
    ]
    stages = [
        (source, [(s.version.format_number(s.revision), select_shown_changes(s.changes)) for s in c.stages])
        for source, c in chapters
    ]
    return Report("Digest", tuple(blocks), dict(documents.build_digest(digest, stages)))


def _build_chapter(source: SourceDigest) -> TableChapter:
    """Build the chapter of a table with the stages of its new revisions alone."""
    chapter = build_chapter(source.history, lambda _: ())
    return chapter.select_stages([f"@{number}" for number in source.revisions])


def _describe_extent(digest: Digest) -> Inline:
    done = sum(step.state == "done" for run in digest.runs for step in run.steps)
    waiting = len(digest.waiting) + len(digest.questions) + len(documents.list_stopped(digest))
    counts = (
        f"{words.format_count(len(digest.sources), 'table')} changed at the source",
        f"{words.format_count(done, 'step')} done to the lake",
        f"{words.format_number(waiting)} waiting",
    )
    return (
        Text(f"{words.format_time(digest.since_ms)} to {words.format_time(digest.until_ms)}: ", "muted"),
        Text(", ".join(counts)),
    )


def _build_sources(chapters: Sequence[tuple[SourceDigest, TableChapter]]) -> Iterator[Block]:
    if not chapters:
        yield Paragraph((Text("no table changed", "muted"),))
    for source, chapter in chapters:
        yield Heading(str(source.history.table), 3)
        if chapter.stages:
            yield build_timeline(chapter)
        lines: list[Inline] = [(Text(f"version {number} is confirmed now"),) for number in source.confirmed]
        lines += [(Text(f"version {number} was removed by late evidence"),) for number in source.removed]
        lines += [
            (Text(event.kind), *((Text(" to "), Text(str(event.other), code=True)) if event.other else ()))
            for event in source.events
        ]
        yield from map(Paragraph, lines)


def _build_lake(digest: Digest) -> Iterator[Block]:
    if not digest.runs and not digest.foreign:
        yield Paragraph((Text("nothing was done", "muted"),))
        return
    cost = documents.sum_costs(step.cost for run in digest.runs for step in run.steps)
    if digest.runs:
        yield Paragraph((Text(f"{words.format_count(len(digest.runs), 'run')}: {describe_cost(cost)}"),))
    for run in digest.runs:
        yield from _build_run(run)
    for change in digest.foreign:
        text = (
            "The table is again as the last migration left it."
            if change.is_settled
            else f"Changed outside of schemaman: {change.text}."
        )
        yield Notice("drift", "muted" if change.is_settled else "danger", change.target, text)


def _build_run(run: RunDigest) -> Iterator[Block]:
    phase = f", {run.phase}" if run.phase else ""
    source = f" follows {run.source}" if run.source else ""
    yield Heading(f"{run.table}{source}{phase}", 3)
    when = f"run {run.run}, {words.format_time(run.began_ms)} to {words.format_time(run.last_ms)}, "
    cost = describe_cost(documents.sum_costs(step.cost for step in run.steps))
    yield Paragraph((Text(when, "muted"), Text(run.state, _STATES[run.state]), Text(f", {cost}", "muted")))
    if documents.is_untouched(run):
        yield Paragraph((Text("it changed nothing: a check before its first step did not let it begin"),))
    if run.earlier_steps:
        earlier = words.format_count(run.earlier_steps, "step")
        yield Paragraph((Text(f"{earlier} had been done before this time", "muted"),))
    if run.steps:
        yield TimelineBlock("", tuple(map(_build_step, run.steps)))
    if run.error:
        yield Notice("failed", "break", run.table, run.error)
    for asked in run.asked:
        yield Paragraph((Text("approved: ", "muted"), Text(asked)))
    for note in run.notes:
        yield Paragraph((Text("note: ", "muted"), Text(note)))
    if run.way_back is not None:
        yield Paragraph(_describe_way_back(run))


def _build_step(step: StepDigest) -> Event:
    lines: list[Inline] = [(Text(step.statement, code=True),)]
    lines += [
        (Text("checked: "), Text(check.query, code=True), Text(f" gives {words.format_number(check.result)}"))
        for check in step.checks
    ]
    if step.error:
        lines.append((Text(step.error, "break"),))
    if step.state == "sent":
        lines.append((Text("no line says whether it was committed", "danger"),))
    cost = describe_cost(step.cost)
    if step.rewrites and step.state == "done" and step.cost.rows is None and step.cost.bytes is None:
        cost += "; the format tells no rows and bytes"
    return Event(
        f"Step {step.number + 1}",
        f"{step.kind or 'step'}, {cost}",
        _STATES.get(step.state, "plain"),
        tuple(lines),
        (Text(step.state, _STATES.get(step.state, "break")),),
    )


def _describe_way_back(run: RunDigest) -> Inline:
    way = run.way_back
    assert way is not None
    if way.obstacle:
        return (Text("not taken back: ", "muted"), Text(way.obstacle, "danger"))
    later = (
        (Text(f", after {words.format_count(len(way.after), 'later run')}: {', '.join(way.after)}"),)
        if way.after
        else ()
    )
    return (Text("take it back with "), Text(documents.build_way_back(way), code=True), *later)


def _build_waiting(digest: Digest) -> Iterator[Block]:
    rows: list[tuple[Inline, ...]] = []
    for found in digest.waiting:
        each = found.waiting
        records = "" if each.records is None else words.format_count(each.records, "record")
        state = Text(each.state, _WAITING[each.state])
        rows.append(
            _build_row(each.source, each.target, state, records, found.since_ms, each.reason, each.command)
        )
    for run in documents.list_stopped(digest):
        source = run.source.rpartition("@")[0]
        reason = run.error or "the run stopped before its end"
        command = build_command(("resume",), (run.run,))
        rows.append(
            _build_row(
                source, run.target, Text(run.state, _STATES[run.state]), "", run.last_ms, reason, command
            )
        )
    if rows:
        header = ("table", "lake table", "state", "records", "since", "reason", "what settles it")
        yield Grid(f"{words.format_number(len(rows))} waiting", header, tuple(rows))
    yield from build_questions_grid(digest.questions)
    if not rows and not digest.questions:
        yield Paragraph((Text("nothing waits", "good"),))


def _build_row(
    source: str, target: str, state: Text, records: str, since_ms: int | None, reason: str, command: str
) -> tuple[Inline, ...]:
    since = "" if since_ms is None else words.format_time(since_ms)
    settled: Inline = (
        (Text(command, code=True),) if command else (Text("by itself, once the reason is gone", "muted"),)
    )
    return (
        (Text(source, code=bool(source)),),
        (Text(target, code=bool(target)),),
        (state,),
        (Text(records),),
        (Text(since),),
        (Text(reason),),
        settled,
    )


def describe_cost(cost: StepCost) -> str:
    """Describe a cost; what is unknown is left out, or said to be."""
    parts = [] if cost.ms is None else [f"{cost.ms / 1000:.1f} s"]
    parts += [] if cost.rows is None else [words.format_count(cost.rows, "row")]
    parts += [] if cost.bytes is None else [_format_size(cost.bytes)]
    return ", ".join(parts) or "cost unknown"


def _format_size(size: int) -> str:
    unit, least = next(((u, n) for u, n in _SIZES if size >= n), ("bytes", 1))
    return f"{size / least:.1f} {unit}" if least > 1 else f"{size} {unit}"
