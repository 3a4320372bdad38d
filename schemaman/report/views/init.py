"""Builds the report of `init`: what was found, the file, and the next commands."""

from __future__ import annotations

from schemaman.report.document import Block, Code, FactsBlock, Inline, Notice, Paragraph, Report, Text
from schemaman.report.json.init import FileState, Initialized, build_init, list_connectors
from schemaman.report.views.words import format_count

_STATES: dict[FileState, str] = {
    "written": "written",
    "same": "was there already, with these settings",
    "differs": "is another one, and was not changed",
}


def build_init_report(done: Initialized) -> Report:
    """Build the facts, the differences from a file that was there, and the next commands."""
    facts: list[tuple[str, Inline]] = []
    if done.records:
        facts.append(("records", (Text(f"{format_count(done.records, 'record')} read as a sample"),)))
        facts.append(("topics", (Text(format_count(done.topics, "topic")),)))
    if done.tables:
        connectors = ", ".join(list_connectors(done.tables))
        facts.append(("tables", (Text(f"{format_count(len(done.tables), 'table')} of {connectors}"),)))
    facts += [("lake", (Text(f"{name}: {format_count(count, 'table')}"),)) for name, count in done.catalogs]
    facts.append(("file", (Text(done.file, code=True), Text(f" {_STATES[done.state]}"))))
    blocks: list[Block] = [FactsBlock(tuple(facts))]
    blocks += [Notice("note", "note", "init", note) for note in done.notes]
    if done.differences:
        blocks.append(Code("\n".join(done.differences), "diff"))
    if done.following:
        blocks.append(Paragraph((Text("Next:"),)))
        blocks.append(Code("\n".join(done.following), "sh"))
    return Report("Init", tuple(blocks), dict(build_init(done)))
