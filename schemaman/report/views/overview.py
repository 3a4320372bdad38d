"""Builds the report: an overview of all tables, then a chapter for each table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from schemaman.history.references import name_distinctly
from schemaman.model.schema import TableId, quote_part
from schemaman.report.document import (
    Block,
    FactsBlock,
    Gate,
    Grid,
    Heading,
    Inline,
    Paragraph,
    Report,
    Text,
    Tone,
)
from schemaman.report.json import changes as change_documents
from schemaman.report.json import tables as table_documents
from schemaman.report.views import words
from schemaman.report.views.findings import build_rule_pages
from schemaman.report.views.table_changes import TableChapter, find_worst
from schemaman.report.views.table_chapter import MATRIX_HEADER, build_table_blocks, build_verdict_cells

CHAPTERS = 60
"""The largest number of tables with a chapter each; a report of more tables is a summary."""


def build_report(
    stories: Sequence[TableChapter], plans: Mapping[str, object] | None = None, *, full: bool = False
) -> Report:
    """Build the compatibility report of tables; `plans` are plan documents by lake table, for the JSON.

    More than `CHAPTERS` tables share one table of findings instead of a chapter each, unless `full`.
    """
    titles = shorten_names([s.history.table for s in stories])
    anchors = {s.history.table: f"t{number}" for number, s in enumerate(stories, 1)}
    chapters = stories if full or len(stories) <= CHAPTERS else ()
    blocks: list[Block] = [
        Heading("Schema report", 1),
        Paragraph(_build_lead(stories)),
        build_figures(stories),
    ]
    if len(stories) > 1:
        with_chapter = frozenset(s.history.table for s in chapters)
        blocks += [
            Heading("All tables", 2, "tables"),
            _build_tables_grid(stories, titles, anchors, with_chapter),
        ]
    if len(chapters) < len(stories):
        blocks += [Heading("Broken readers", 2, "readers"), _build_matrix(stories, titles)]
        advice = "Chapter of one table: schemaman report TABLE. Chapters of all: schemaman report --full."
        blocks.append(Paragraph((Text(advice, "muted"),)))
    for story in chapters:
        blocks += build_table_blocks(story, titles[story.history.table], anchors[story.history.table])
    rules = build_rule_pages(judged for story in stories for judged in story.findings)
    tables = tuple(str(story.history.table) for story in stories)
    gate = Gate(None, tables, rules, "schemaman report", is_comment=False)
    return Report("Schema report", tuple(blocks), _build_data(stories, plans or {}), gate)


def build_figures(stories: Sequence[TableChapter]) -> FactsBlock:
    """Build the figures that show whether a person has to act."""
    breaks = sum(f.severity == "break" for s in stories for f in s.newest_findings)
    dangers = sum(f.severity == "danger" for s in stories for f in s.newest_findings)
    facts = sum(len(s.history.latest.unconfirmed) for s in stories)
    disputes = sum(not d.is_remark for s in stories for d in s.history.disagreements)
    return FactsBlock(
        (
            ("tables", _format_number(len(stories), "plain")),
            ("versions", _format_number(sum(len(s.history.versions) for s in stories), "plain")),
            ("breaking changes", _format_number(breaks, "break")),
            ("dangerous changes", _format_number(dangers, "danger")),
            ("provisional facts", _format_number(facts, "note")),
            ("disagreements", _format_number(disputes, "danger")),
        )
    )


def shorten_names(tables: Iterable[TableId]) -> dict[TableId, str]:
    """Return the shortest unambiguous suffix of each table's name, as users may type it."""
    known = tuple(tables)
    suffixes = {table: _list_suffixes(table.parts) for table in known}
    counts = Counter(suffix for each in suffixes.values() for suffix in each)
    whole = name_distinctly(known)
    short = {t: next((s for s in each if counts[s] == 1), None) for t, each in suffixes.items()}
    return {t: str(whole[t]) if s is None else ".".join(map(quote_part, s)) for t, s in short.items()}


def _list_suffixes(parts: tuple[str, ...]) -> list[tuple[str, ...]]:
    """List the ends of a name, the shortest first."""
    return [parts[-length:] for length in range(1, len(parts) + 1)]


def _build_matrix(stories: Sequence[TableChapter], titles: Mapping[TableId, str]) -> Grid:
    rows: list[tuple[Inline, ...]] = []
    for story in stories:
        steps = {
            judged.anchor: words.format_version(stage.version, stage.revision.number)
            for stage in story.stages
            for judged in stage.findings
        }
        for judged in story.newest_findings:
            if judged.anchor in steps:
                path = ".".join((titles[story.history.table], *judged.finding.path))
                step, rule = Text(steps[judged.anchor]), Text(judged.finding.rule, code=True)
                rows.append(((Text(path, code=True),), (step,), (rule,), *build_verdict_cells(judged)))
    return Grid("Verdict of each change for each reader", MATRIX_HEADER, tuple(rows))


def _build_lead(stories: Sequence[TableChapter]) -> Inline:
    if not stories:
        return (Text("The history is empty: schemaman ingest SOURCE reads records"),)
    connectors = dict.fromkeys(words.name_connector(s.history.connector) for s in stories)
    breaking = sum(find_worst(s.findings) == "break" for s in stories)
    verdict = (
        f"{words.format_count(breaking, 'table')} changed so that a reader breaks."
        if breaking
        else ("No change breaks a reader.")
    )
    return (Text(f"Schema changes in {', '.join(connectors)}, and the readers they affect. {verdict}"),)


def _format_number(number: int, tone: Tone) -> Inline:
    return (Text(words.format_number(number), tone if number else "muted"),)


def _build_tables_grid(
    stories: Sequence[TableChapter],
    titles: Mapping[TableId, str],
    anchors: Mapping[TableId, str],
    with_chapter: frozenset[TableId],
) -> Grid:
    rows: list[tuple[Inline, ...]] = []
    for story in stories:
        history, table = story.history, story.history.table
        severity, latest = find_worst(story.findings), history.latest
        link = anchors[table] if table in with_chapter else ""
        rows.append(
            (
                (Text(titles[table], code=True, link=link),),
                (Text(words.name_connector(history.connector)),),
                (Text(f"v{words.format_version(latest, latest.revision)}"),),
                (Text(str(len(latest.schema.columns))),),
                tuple(_build_state(story)),
                (
                    Text(severity, words.SEVERITY_TONES[severity])
                    if severity != "off"
                    else Text("—", "muted"),
                ),
                (Text(words.format_time(latest.at.ts_ms), "muted"),),
            )
        )
    header = ("table", "source", "version", "columns", "state", "worst finding", "since")
    return Grid("All tables with their newest version", header, tuple(rows))


def _build_state(story: TableChapter) -> Iterator[Text]:
    history = story.history
    if history.is_dropped:
        yield Text(words.describe_end(history), "muted")
    elif history.is_disputed:
        yield Text("disputed", "danger")
    else:
        yield Text(history.latest.status, words.STATUS_TONES[history.latest.status])


def _build_data(stories: Sequence[TableChapter], plans: Mapping[str, object]) -> dict[str, object]:
    return {
        "schema_version": table_documents.SCHEMA_VERSION,
        "tables": [
            table_documents.build_history(s.history)
            | {
                "findings": [
                    change_documents.build_finding(f.finding, f.severity, f.waiver, f.affected)
                    for f in s.newest_findings
                ],
                "plans": [plans[p.table] for p in s.plans if p.table in plans],
            }
            for s in stories
        ],
    }
