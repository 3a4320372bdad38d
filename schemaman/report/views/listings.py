"""Builds the reports of `tables`, `history`, `show`, `diff` and `rejects`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from schemaman.compat.snapshots import remove_ids
from schemaman.debezium.observation import (
    FILLED_LATE,
    UNORDERED,
    Note,
    Reject,
)
from schemaman.debezium.records import Coordinates
from schemaman.history.rename_detection import find_rename_candidates as suspected
from schemaman.history.summary import TableSummary
from schemaman.history.versions import (
    GRADE_WORDS,
    Disagreement,
    RenameCandidate,
    SchemaVersion,
    TableHistory,
)
from schemaman.model.ddl import format_type
from schemaman.model.diff import diff
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.report.document import (
    Block,
    Event,
    FactsBlock,
    Grid,
    Heading,
    Inline,
    Notice,
    Paragraph,
    Report,
    Text,
    TimelineBlock,
)
from schemaman.report.json import changes as change_documents
from schemaman.report.json import ingest as intake_documents
from schemaman.report.json import tables as table_documents
from schemaman.report.views import late_facts as late
from schemaman.report.views import words
from schemaman.report.views.coverage import NO_EXTENT, Extent, build_extent_grids
from schemaman.report.views.epochs import build_epochs_grid, build_keys_grid
from schemaman.report.views.findings import build_remark_notice
from schemaman.report.views.overview import shorten_names
from schemaman.report.views.registrations import (
    ShownRegistration,
    build_registered_document,
    build_registered_grids,
)
from schemaman.report.views.shared_topics import SharedTopics, find_shared_topics
from schemaman.report.views.table_changes import TableChapter, select_shown_changes
from schemaman.report.views.table_chapter import (
    PROVISIONAL,
    build_columns_grid,
    build_introduction,
    build_questions,
    build_timeline,
)
from schemaman.resolve import ResolvedSchema

_NOTHING = (Text("—", "muted"),)
_OPTIONAL_COLUMNS: dict[str, Callable[[Column], str | None]] = {
    "name in events": lambda c: None if c.emitted_name == c.name else c.emitted_name,
    "database type": lambda c: None if _is_same_type(c) else c.source_type,
    "comment": lambda c: c.comment,
}
"""Optional report columns: title, and the value for a column. Each is shown if any column has a value."""


def build_tables_report(
    summaries: Sequence[TableSummary],
    rejects: Iterable[Reject] = (),
    *,
    chosen: bool = False,
    every: Sequence[TableSummary] = (),
) -> Report:
    """Build the report of `tables`: one line a table; `rejects` are those of the same streams.

    `chosen` is set if the user selected the tables with patterns; `every` are all tables then.
    """
    titles = shorten_names(s.table for s in summaries)
    rejected = _count_rejected(summaries, tuple(rejects))
    shared = find_shared_topics(every or summaries)
    rows = tuple(_build_table_row(s, titles[s.table], rejected.get(s.table, 0), shared) for s in summaries)
    header = (
        "table", "full name", "version", "columns", "key", "records", "last seen", "state", "open questions",
    )  # fmt: skip
    total = words.format_count(len(summaries), "table")
    caption = f"{total}; commands accept any unambiguous end of a table's name"
    blocks: tuple[Block, ...] = (Grid(caption, header, rows),) if rows else (_build_empty_notice(chosen),)
    return Report(
        "Tables", blocks, dict(table_documents.build_tables(summaries, rejected, shared.list_topics))
    )


def _count_rejected(summaries: Sequence[TableSummary], rejects: Sequence[Reject]) -> dict[TableId, int]:
    """Counts the rejects of each table's topics."""
    counts: Counter[tuple[str, str]] = Counter()
    for reject in rejects:
        counts[reject.stream, reject.topic] += reject.count
    return {s.table: sum(counts[s.table.stream, topic] for topic in s.topics) for s in summaries}


def _build_table_row(
    summary: TableSummary, title: str, rejected: int, shared: SharedTopics
) -> tuple[Inline, ...]:
    state = words.describe_end(summary) or summary.status
    questions = ", ".join(
        words.format_count(number, what)
        for number, what in (
            (summary.disputes, "disagreement"),
            (len(summary.unconfirmed), "provisional fact"),
            (rejected, "reject"),
        )
        if number
    )
    if sharing := shared.describe(summary):
        questions = ", ".join(filter(None, (questions, sharing)))
    return (
        (Text(title, code=True),),
        (Text(str(summary.table), code=True),),
        (Text(f"v{words.format_version(summary, summary.revision)}"),),
        (Text(str(summary.columns)),),
        (
            Text("unknown" if summary.is_key_unknown else words.format_key(summary.key)),
            *(PROVISIONAL if "key" in summary.unconfirmed and not summary.is_key_unknown else ()),
        ),
        (Text(words.format_number(summary.records)),),
        (Text(words.format_time(_find_seen_ms(summary.last_record))),),
        (Text(state, "muted" if summary.is_dropped else "plain"),),
        (Text(questions, "note"),) if questions else _NOTHING,
    )


def _find_seen_ms(found: Coordinates) -> int | None:
    return next((t for t in (found.ts_ms, found.read_ms, found.timestamp_ms) if t is not None), None)


def build_history_report(
    story: TableChapter,
    whole: TableHistory | None = None,
    notes: Sequence[Note] = (),
    extent: Extent = NO_EXTENT,
    registered: Sequence[ShownRegistration] = (),
) -> Report:
    """Build the report of `history TABLE`; `whole` is the whole history if the chapter has the last versions.

    `notes` are the notes about its records; `extent` has the unread offsets and the renumbered versions;
    `registered` are the event schemas that clients registered.
    """
    history, every = story.history, whole or story.history
    earlier = len(every.versions) - len(history.versions)
    left_out = (Paragraph((Text(f"{words.format_count(earlier, 'earlier version')} not shown", "muted"),)),)
    blocks: list[Block] = [
        Heading(str(history.table), 1),
        Paragraph(build_introduction(every)),
        *(left_out if earlier else ()),
        build_timeline(story),
        build_columns_grid(every),
        *build_keys_grid(history),
        *build_epochs_grid(history),
        *build_questions(history),
        *build_extent_grids(extent),
        *build_registered_grids(registered),
        *([_build_notes_grid(notes)] if notes else []),
    ]
    return replace(build_history_data(history, notes, extent, every, registered), blocks=tuple(blocks))


def build_history_data(
    history: TableHistory,
    notes: Sequence[Note] = (),
    extent: Extent = NO_EXTENT,
    whole: TableHistory | None = None,
    registered: Sequence[ShownRegistration] = (),
) -> Report:
    """Build the JSON document of `history TABLE`, without diffs and findings.

    `whole` is the whole history if `history` has only its last versions.
    """
    data = table_documents.build_history(history, whole) | {
        "notes": [table_documents.build_note(n) for n in notes]
    }
    more = extent.build_document() | build_registered_document(registered)
    return Report(str(history.table), (), dict(data | more))


def select_notes(history: TableHistory, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Select the notes about a table, or about a topic with evidence of the table."""
    evidence = [e for v in history.versions for e in v.evidence]
    topics = {(e.kind == "declared", at.topic) for e in evidence for at in (e.first, e.last)}
    of_topics = {UNORDERED: (True,), FILLED_LATE: (True, False)}
    return tuple(
        note
        for note in notes
        if note.table == history.table
        or any((declared, note.topic) in topics for declared in of_topics.get(note.kind, ()))
    )


def build_show_report(found: ResolvedSchema, event: Coordinates | None = None) -> Report:
    """Build the report of `show REF`; `event` is the event with the schema, if it is an event schema."""
    version, schema = found.version, found.schema
    more = {
        title: read_value
        for title, read_value in _OPTIONAL_COLUMNS.items()
        if any(read_value(c) for c in schema.columns)
    }
    rows = tuple(
        (*_build_structure_cells(schema, c), *((Text(read_value(c) or ""),) for read_value in more.values()))
        for c in schema.columns
    )
    caption = found.ref if version is None else f"{found.ref}, id {version.id}, {version.status}"
    if event is not None:
        caption = f"{caption}, in the event {event.topic}[{event.partition}]@{event.offset}"
    header = ("column", "type", "null", "default", "key", *more)
    blocks: list[Block] = [Grid(caption, header, rows)]
    if schema.comment:
        blocks.append(FactsBlock((("comment", (Text(schema.comment),)),)))
    if version is not None and version.unconfirmed and event is None:
        blocks.append(late.build_provisional_notice(version, found.revision or 0))
    data = table_documents.build_show(found.ref, schema, found.table, version, found.revision, event)
    return Report(found.ref, tuple(blocks), dict(data))


def _is_same_type(column: Column) -> bool:
    return (column.source_type or "").upper().replace(" ", "") == format_type(column.type).replace(" ", "")


def _build_structure_cells(schema: TableSchema, column: Column) -> tuple[Inline, ...]:
    key_position = schema.key.index(column.name) + 1 if column.name in schema.key else 0
    default = Text(words.format_default(column.default), code=True)
    return (
        (Text(column.name, code=True),),
        (Text(format_type(column.type), code=True),),
        (Text("null" if column.nullable else "not null", "muted" if column.nullable else "plain"),),
        _NOTHING if column.default is None else (default,),
        (Text(f"key {key_position}"),) if key_position else _NOTHING,
    )


def build_diff_report(
    old: ResolvedSchema,
    new: ResolvedSchema,
    candidates: Iterable[RenameCandidate] = (),
    remarks: Sequence[Disagreement] = (),
    repeated: SchemaVersion | None = None,
) -> Report:
    """Build the report of `diff A B`; `candidates` are the suspected renames in the history.

    `remarks` are what the records of these versions do not decide or do not carry. `repeated` is the earlier
    version with the new schema.

    Column ids are valid only inside one table. A table that was created again shares no column with the
    dropped one. Other schemas are matched by names, and renames between them are only suspected.
    """
    if _is_of_one_table(old, new):
        known, changes = tuple(candidates), diff(old.schema, new.schema)
    else:
        before, after = remove_ids(old.schema), remove_ids(new.schema)
        known, changes = suspected(before, after, append_only=False), diff(before, after)
    lines = tuple(words.describe_changes(select_shown_changes(changes)))
    event = Event(f"{old.ref} → {new.ref}", "", "plain", lines or ((Text("no difference", "muted"),),))
    blocks: list[Block] = [TimelineBlock("", (event,))]
    if repeated is not None:
        blocks.append(Paragraph((Text(f"{new.ref} is as version {repeated.number} again"),)))
    if _is_recreated(old, new):
        message = f"{new.ref} is a table that was created again: it shares no column with {old.ref}"
        blocks.append(Notice("table created again", "danger", "", message))
    for candidate in known:
        if candidate.grade != "stated":
            evidence = "; ".join(candidate.evidence)
            message = (
                f"{candidate.old} was dropped and {candidate.new} was added: "
                f"{GRADE_WORDS[candidate.grade]} ({evidence})"
            )
            blocks.append(Notice("possible rename", "note", "", message))
    blocks += map(build_remark_notice, remarks)
    unconfirmed = tuple(() if side.version is None else side.version.unconfirmed for side in (old, new))
    for side in (old, new):
        if side.version is not None and side.version.unconfirmed:
            blocks.append(late.build_provisional_notice(side.version, side.revision or 0, side.ref))
    number = None if repeated is None else repeated.number
    data = change_documents.build_diff(old.ref, new.ref, changes, known, remarks, unconfirmed, number)
    return Report("diff", tuple(blocks), dict(data))


def build_only_version_report(found: ResolvedSchema, remarks: Sequence[Disagreement] = ()) -> Report:
    """Build the report of `diff TABLE` for a table without any known change."""
    message = (
        f"{found.ref} is the only version of this table, and has no revisions: there is nothing to compare"
    )
    data = change_documents.build_diff(found.ref, found.ref, (), (), remarks)
    return Report("diff", (Paragraph((Text(message),)), *map(build_remark_notice, remarks)), dict(data))


def _is_recreated(old: ResolvedSchema, new: ResolvedSchema) -> bool:
    if old.version is None or new.version is None or old.table != new.table:
        return False
    return old.version.incarnation != new.version.incarnation


def _is_of_one_table(old: ResolvedSchema, new: ResolvedSchema) -> bool:
    return old.version is not None and new.version is not None and old.table == new.table


def build_rejects_report(rejects: Sequence[Reject], notes: Sequence[Note] = ()) -> Report:
    """Build the report of `rejects`: rejected records with the reason, then notes about decoded records."""
    rows = tuple(
        (
            (Text(r.topic or r.stream, code=True),),
            (Text(str(r.partition)),),
            (Text(str(r.offset)),),
            (Text(words.format_number(r.count)),),
            (Text(r.reason),),
        )
        for r in rejects
    )
    total = words.format_count(sum(r.count for r in rejects), "record")
    caption = f"{total} could not be decoded"
    grid = Grid(caption, ("topic", "partition", "offset", "records", "reason"), rows)
    blocks: tuple[Block, ...] = (grid,) if rows else (Paragraph((Text("no rejects", "good"),)),)
    if notes:
        blocks += (_build_notes_grid(notes),)
    return Report("Rejects", blocks, dict(intake_documents.build_rejects(rejects, notes)))


def _build_notes_grid(notes: Sequence[Note]) -> Grid:
    rows = tuple(
        (
            (Text(f"{n.topic}[{n.partition}]@{n.offset}", code=True),),
            (Text("" if n.table is None else str(n.table), code=True),),
            (Text(n.kind, code=True),),
            (Text(n.message),),
        )
        for n in notes
    )
    caption = f"{words.format_count(len(rows), 'note')} about records"
    return Grid(caption, ("record", "table", "kind", "note"), rows)


def _build_empty_notice(chosen: bool) -> Paragraph:
    if chosen:
        return Paragraph((Text("No table matches: schemaman tables lists the known tables"),))
    return Paragraph((Text("The history is empty: schemaman ingest SOURCE reads records"),))
