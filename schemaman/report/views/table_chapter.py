"""Builds the chapter of one table: columns, history, affected readers, open questions, and plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemaman.compat.judge import READERS, Reader, Verdict
from schemaman.history.versions import (
    GRADE_WORDS,
    Disagreement,
    RenameCandidate,
    SchemaVersion,
    TableHistory,
)
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column
from schemaman.model.shell import build_command
from schemaman.report.document import (
    Block,
    Event,
    Grid,
    Heading,
    Inline,
    Issue,
    Notice,
    Paragraph,
    Text,
    TimelineBlock,
    Tone,
)
from schemaman.report.views import late_facts as late
from schemaman.report.views import words
from schemaman.report.views.findings import build_finding_notice
from schemaman.report.views.plans import build_plan_blocks
from schemaman.report.views.table_changes import (
    ChapterStage,
    JudgedFinding,
    TableChapter,
    find_first_version,
    find_worst,
    select_shown_changes,
)

_VERDICTS: dict[Verdict, Tone] = {"break": "break", "danger": "danger", "note": "note"}
_NOTHING = (Text("—", "muted"),)
PROVISIONAL = (Text(" "), Text("provisional", "note"))
READER_TITLES: dict[Reader, str] = {
    "avro-backward": "Avro backward", "avro-forward": "Avro forward", "spark": "Spark", "delta": "Delta",
    "iceberg": "Iceberg", "sql": "SQL", "merge-key": "Merge key",
}  # fmt: skip
MATRIX_HEADER = ("column", "version", "rule", *READER_TITLES.values())


def build_table_blocks(story: TableChapter, title: str, anchor: str) -> Iterator[Block]:
    """All blocks of one table, its heading first."""
    history = story.history
    yield Heading(title, 2, anchor)
    yield Paragraph(build_introduction(history))
    yield Heading("Columns now" if not history.is_dropped else "Columns at the end", 3, f"{anchor}-columns")
    yield build_columns_grid(history)
    yield Heading("History", 3, f"{anchor}-history")
    yield build_timeline(story, newest_first=True)
    if story.findings:
        yield Heading("Broken readers", 3, f"{anchor}-readers")
        yield build_matrix(story)
        yield from map(build_finding_notice, story.newest_findings)
    questions = tuple(build_questions(history))
    if questions:
        yield Heading("Open questions", 3, f"{anchor}-open")
        yield from (_name_table(block, history) for block in questions)
    for plan in story.plans:
        yield from build_plan_blocks(plan, anchor)


def _name_table(block: Block, history: TableHistory) -> Block:
    """Return a notice with the table that it is about, for formats that have no headings."""
    if not isinstance(block, Notice) or block.issue is not None:
        return block
    return replace(block, issue=Issue(str(history.table), (), "", block.tone))


def build_columns_grid(history: TableHistory) -> Grid:
    """Build the columns of the newest version, each with the version of its last change."""
    schema = history.latest.schema
    renamed = any(c.emitted_name not in (None, c.name) for c in schema.columns)
    commented = any(c.comment for c in schema.columns)
    header = ["column", *(["name in events"] if renamed else []), "type", "null", "default", "key", "since"]
    rows = []
    for column in schema.columns:
        cells: list[Inline] = [(Text(column.name, code=True),)]
        cells += [(Text(column.emitted_name or "not seen", code=column.emitted_name is not None),)] * renamed
        cells += _build_attributes(history, column)
        cells += [(Text(column.comment or ""),)] * commented
        rows.append(tuple(cells))
    latest = history.latest
    caption = f"Version {words.format_version(latest, latest.revision)}, id {latest.id}"
    return Grid(caption, tuple(header + ["comment"] * commented), tuple(rows))


def build_timeline(story: TableChapter, *, newest_first: bool = False) -> TimelineBlock:
    """Every version and revision with its interval of the source's log and what changed."""
    begun = {stage.version.incarnation: stage for stage in reversed(story.stages)}
    events = [
        _build_event(story.history, stage, stage is begun[stage.version.incarnation])
        for stage in story.stages
    ]
    ends = [e for e in story.history.events if e.kind in ("dropped", "renamed")]
    for event in ends[-1:] if story.history.has_ended else ():
        ended = "Dropped" if story.history.is_dropped else "Dropped and created again"
        label = "Renamed" if event.kind == "renamed" else ended
        other = ((Text("now "), Text(str(event.other), code=True)),) if event.other else ()
        severity = find_worst(story.ending)
        badges = () if severity == "off" else (Text(severity, words.SEVERITY_TONES[severity]),)
        events.append(
            Event(label, words.format_coordinates(event.at), words.SEVERITY_TONES[severity], other, badges)
        )
    return TimelineBlock("", tuple(events), newest_first)


def build_matrix(story: TableChapter) -> Grid:
    """Each finding once against the seven readers, newest first."""
    steps = {
        judged.anchor: words.format_version(stage.version, stage.revision.number)
        for stage in story.stages
        for judged in stage.findings
    }
    rows = []
    for judged in story.newest_findings:
        finding = judged.finding
        step = steps.get(judged.anchor, "end")
        subject = Text(words.join_path(finding.path) or "table", code=bool(finding.path))
        rule = Text(finding.rule, link=judged.anchor)
        rows.append(((subject,), (Text(step),), (rule,), *build_verdict_cells(judged)))
    return Grid("Verdict of each change for each reader", MATRIX_HEADER, tuple(rows))


def build_verdict_cells(judged: JudgedFinding) -> tuple[Inline, ...]:
    """One cell a reader."""
    return tuple(_build_verdict(judged.finding.verdicts.get(reader)) for reader in READERS)


def build_introduction(history: TableHistory) -> Inline:
    """Describes the table in one line."""
    table, latest = history.table, history.latest
    records = history.records
    parts = [
        f"  {words.name_connector(history.connector)}",
        f"stream {table.stream}",
        words.format_count(len(history.versions), "version"),
        words.format_count(records, "record"),
    ]
    if latest.incarnation > 1:
        parts.append(f"created {words.format_count(latest.incarnation, 'time')} under this name")
    if history.identity == "weak":
        parts.append("identified only by its topic")
    names = [a.name for a in history.aliases if a.kind == "topic"]
    topics = f"topic {', '.join(dict.fromkeys(names))}" if names else ""
    text = " · ".join([*parts, *([topics] if topics else [])])
    end = words.describe_end(history)
    ended = (Text("  "), Text(end, "danger")) if end else ()
    return (Text(str(table), code=True), Text(text, "muted"), *ended)


def _build_attributes(history: TableHistory, column: Column) -> list[Inline]:
    schema = history.latest.schema
    key_position = schema.key.index(column.name) + 1 if column.name in schema.key else 0
    in_key = "" if not key_position else "key" if len(schema.key) == 1 else f"key {key_position}"
    unconfirmed = history.latest.unconfirmed
    is_unconfirmed = f"nullable:{column.name}" in unconfirmed
    open_default = PROVISIONAL if f"default:{column.name}" in unconfirmed else ()
    null = "null" if column.nullable else "not null"
    has_default = column.default is not None
    return [
        (Text(format_type(column.type), code=True),),
        (
            Text(null, "muted" if column.nullable else "plain"),
            *(PROVISIONAL if is_unconfirmed else ()),
        ),
        (Text(words.format_default(column.default), code=True), *open_default) if has_default else _NOTHING,
        (Text(in_key), *(PROVISIONAL if "key" in unconfirmed else ())) if in_key else _NOTHING,
        (Text(f"v{find_first_version(history, column)}"),),
    ]


def _build_event(history: TableHistory, stage: ChapterStage, earliest: bool) -> Event:
    """A revision as an event; the `earliest` of an incarnation lists its first columns."""
    version, revision = stage.version, stage.revision
    number = words.format_version(version, revision.number)
    first = revision.number == 0
    lines = list(words.describe_changes(select_shown_changes(stage.changes)))
    if first and earliest and not stage.changes:
        columns = words.format_count(len(version.schema.columns), "column")
        again = "created again: " if version.incarnation > 1 else ""
        lines.append((Text(f"{again}{columns}, key {words.format_version_key(history, version)}"),))
    if first and stage.repeats is not None:
        lines.append((Text(f"as version {stage.repeats} again"),))
    if not lines:
        lines.append((Text("only other attributes changed", "muted"),))
    lines += late.build_lines(version, revision.number)
    badges: list[Text] = []
    if stage.findings and stage.severity != "off":
        badges.append(Text(stage.severity, words.SEVERITY_TONES[stage.severity]))
    if first and version.status != "confirmed":
        badges.append(Text(version.status, words.STATUS_TONES[version.status]))
    if first and (evidence := words.describe_evidence(version)):
        badges.append(Text(evidence, "muted"))
    when = (
        late.describe_begin(version, stage.changes)
        if first
        else late.describe_revision(version, revision, stage.changes)
    )
    tone = words.SEVERITY_TONES[stage.severity] if stage.severity != "off" else _choose_calm_tone(stage)
    return Event(f"Version {number}", when, tone, tuple(lines), tuple(badges))


def _choose_calm_tone(stage: ChapterStage) -> Tone:
    return "good" if stage.revision.number == 0 else "muted"


def _build_verdict(verdict: Verdict | None) -> Inline:
    return _NOTHING if verdict is None else (Text(verdict, _VERDICTS[verdict]),)


def build_questions(history: TableHistory) -> Iterator[Block]:
    """Builds the open questions: disagreements, suspected renames, provisional facts."""
    for found in history.disagreements:
        yield _build_disagreement(found)
    for version in history.versions:
        for candidate in version.candidates:
            if candidate.grade != "stated":
                yield _build_candidate(history, version, candidate)
    if history.latest.unconfirmed:
        yield late.build_provisional_notice(history.latest, history.latest.revision)


def _build_disagreement(found: Disagreement) -> Notice:
    numbers = ", ".join(str(v) for v in found.versions)
    coordinates = tuple(f"{m.topic}[{m.partition}]@{m.offset}" for m in found.coordinates[:3])
    records: Inline = (Text(", ".join(coordinates), code=True),)
    facts = (("records", records),) if coordinates else ()
    return Notice(
        found.kind,
        "note" if found.is_remark else "danger",
        f"version {numbers}" if numbers else "",
        found.message,
        facts,
    )


def _build_candidate(history: TableHistory, version: SchemaVersion, found: RenameCandidate) -> Notice:
    evidence = "; ".join(found.evidence)
    names = (f"{history.table}@{version.number}", found.old, found.new)
    return Notice(
        "possible rename",
        "note",
        f"version {version.number}",
        f"{found.old} was dropped and {found.new} was added: {GRADE_WORDS[found.grade]}"
        + (f" ({evidence})." if evidence else "."),
        (
            ("yes", (Text(build_command(("decide", "rename"), names), code=True),)),
            ("no", (Text(build_command(("decide", "not-rename"), names), code=True),)),
        ),
    )
