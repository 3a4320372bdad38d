"""Builds the report of a round of `sync`: the records read, and the state of the lake tables."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.ingest.ingest import Summary
from schemaman.model.shell import quote_word
from schemaman.report.document import Block, FactsBlock, Grid, Notice, Paragraph, Report, Text, Tone
from schemaman.report.json import sync as documents
from schemaman.report.json.sync import FollowedTable, State
from schemaman.report.views import words

_TONES: dict[State, Tone] = {
    "current": "good", "applied": "good", "waiting": "note", "refused": "break", "failed": "break",
}  # fmt: skip


def build_sync_report(read: Summary, followed: Sequence[FollowedTable]) -> Report:
    """Build a line for each checked lake table, and the reasons of tables that are not current."""
    figures = f"{words.format_count(read.read, 'record')}, {words.format_number(read.new)} of them new"
    blocks: list[Block] = [FactsBlock((("read", (Text(figures),)),))]
    rows = tuple(
        (
            (Text(f.table, code=True),),
            (Text(f.lake_table, code=True),),
            (Text(f.state, _TONES[f.state]),),
            (Text(words.format_count(len(f.statements), "statement") if f.statements else ""),),
        )
        for f in followed
    )
    if rows:
        blocks.append(Grid("Lake tables", ("table", "lake table", "state", "applied"), rows))
    else:
        blocks.append(Paragraph((Text("no lake table to check", "muted"),)))
    for each in followed:
        tone: Tone = "danger" if each.is_current else _TONES[each.state]
        blocks += [Notice(each.state, tone, each.lake_table, reason) for reason in each.reasons]
        if each.state == "waiting":
            blocks.append(
                Paragraph(
                    (Text("approve it with "), Text(f"schemaman approve {quote_word(each.file)}", code=True))
                )
            )
    return Report("Sync", tuple(blocks), dict(documents.build_sync(read, followed)))
