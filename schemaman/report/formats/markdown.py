"""A report as GitHub-flavoured Markdown, for pull requests and pages; never raw HTML.

Source: GitHub Flavored Markdown Spec 0.29: backslash escapes (2.4), code spans (6.3),
tables (4.10: a pipe is escaped also inside a code span).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

from schemaman.model.printable import escape_invisible
from schemaman.report.document import (
    Block,
    Code,
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
from schemaman.report.formats._characters import SIGNS

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]#!|~<>&@^$]|(?<=www)\.|:(?=//)|:(?=[a-z_+-]+:))", re.IGNORECASE)
_OPENING = re.compile(r"^(\s*(?:\d+(?=[.)]))?)([-+=.)])")
"""Characters that begin a list or underline a heading at the start of a line."""


@dataclass(frozen=True, slots=True)
class MarkdownFormat:
    """Renders headings, tables, lists and code; names are escaped."""

    name: str = "markdown"

    def render(self, report: Report) -> str:
        """Render the whole report."""
        return "\n\n".join("\n".join(_format_block(block)) for block in report.blocks) + "\n"


def _format_block(block: Block) -> list[str]:
    match block:
        case Heading(text, level, _):
            return [f"{'#' * level} {_escape_text(text)}"]
        case Paragraph(text):
            return [_format_inline(text)]
        case FactsBlock(rows):
            return [f"- {_escape_text(name)}: {_format_inline(value)}" for name, value in rows]
        case Grid():
            return _format_grid(block)
        case Code(text, language):
            return _fence_code(escape_invisible(text, lines=True), language)
        case TimelineBlock(caption, events):
            head = [f"*{_escape_edges(caption)}*", ""] if caption else []
            return head + [line for event in events for line in _format_event(event)]
        case Notice():
            return _format_notice(block)
        case _:
            assert_never(block)


def _format_grid(grid: Grid) -> list[str]:
    lines = [f"**{_escape_edges(grid.caption)}**", ""] if grid.caption else []
    lines.append(f"| {' | '.join(_escape_text(h) for h in grid.header)} |")
    lines.append(f"|{' --- |' * len(grid.header)}")
    lines += (f"| {' | '.join(_format_inline(cell, table=True) for cell in row)} |" for row in grid.rows)
    return lines


def _format_event(event: Event) -> list[str]:
    sign = SIGNS[event.tone] or "○"
    badges = "".join(f" · {_format_inline((badge,))}" for badge in event.badges)
    when = f" · {_escape_text(event.when)}" if event.when else ""
    return [
        f"- {sign} **{_escape_edges(event.label)}**{badges}{when}",
        *(f"  - {_format_inline(x)}" for x in event.lines),
    ]


def _format_notice(notice: Notice) -> list[str]:
    sign = SIGNS[notice.tone] or "○"
    word = "" if notice.tone in ("plain", "muted") else f"{notice.tone}: "
    place = f" · {_format_code(notice.place)}" if notice.place else ""
    head = f"{sign} **{_escape_edges(word + notice.title)}**{place}"
    facts = [f"- {_escape_text(name)}: {_format_inline(value)}" for name, value in notice.facts]
    return [head, "", _escape_text(notice.message), *(["", *facts] if facts else [])]


def _format_inline(inline: Inline, *, table: bool = False) -> str:
    return "".join(_format_text(text, table=table) for text in inline)


def _format_text(text: Text, *, table: bool) -> str:
    if not text.text:
        return ""
    words = _format_code(text.text, table=table) if text.code else _escape_text(text.text)
    sign = SIGNS[text.tone] if text.tone in ("good", "danger", "break") else ""
    return f"{sign} {words}" if sign else words


def _escape_text(text: str) -> str:
    return _OPENING.sub(r"\1\\\2", _PUNCTUATION.sub(r"\\\1", escape_invisible(text)))


def _escape_edges(text: str) -> str:
    """Format text between asterisks; blanks at its edges would prevent the emphasis."""
    shown = escape_invisible(text)
    inner = shown.strip()
    start = shown.index(inner)
    before, after = shown[:start], shown[start + len(inner) :]
    return _encode_entities(before) + _escape_text(inner) + _encode_entities(after)


def _encode_entities(text: str) -> str:
    return "".join(f"&#{ord(ch)};" for ch in text)


def _format_code(text: str, *, table: bool = False) -> str:
    """A code span, its fence longer than any run of back-ticks inside."""
    shown = escape_invisible(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    # One blank on both sides is taken away again; without it a back-tick at the edge would join the fence.
    blank = " " if shown[:1] in ("`", " ") or shown[-1:] in ("`", " ") else ""
    span = f"{fence}{blank}{shown}{blank}{fence}"
    return span.replace("|", "\\|") if table else span


def _fence_code(text: str, language: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.splitlines(), fence]


FORMAT = MarkdownFormat()
