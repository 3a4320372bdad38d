"""A report as GitHub-flavoured Markdown, for pull requests and pages; never raw HTML.

Source: GitHub Flavored Markdown Spec 0.29: backslash escapes (2.4), code spans (6.3),
tables (4.10: a pipe is escaped also inside a code span).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

from schemaman.report.document import (
    Block,
    Code,
    Event,
    Facts,
    Grid,
    Heading,
    Inline,
    Notice,
    Paragraph,
    Report,
    Text,
    Timeline,
)
from schemaman.report.formats._characters import SIGNS, visible

_PUNCTUATION = re.compile(r"([\\`*_{}\[\]#!|~<>&@^$]|(?<=www)\.|:(?=//)|:(?=[a-z_+-]+:))", re.IGNORECASE)
_OPENING = re.compile(r"^(\s*(?:\d+(?=[.)]))?)([-+=.)])")
"""What would begin a list or underline a heading at the start of a line."""


@dataclass(frozen=True, slots=True)
class MarkdownFormat:
    """Headings, tables, lists and code; what a name contains stays text."""

    name: str = "markdown"

    def render(self, report: Report) -> str:
        """The whole report."""
        return "\n\n".join("\n".join(_block(block)) for block in report.blocks) + "\n"


def _block(block: Block) -> list[str]:
    match block:
        case Heading(text, level, _):
            return [f"{'#' * level} {_escape(text)}"]
        case Paragraph(text):
            return [_inline(text)]
        case Facts(rows):
            return [f"- {_escape(name)}: {_inline(value)}" for name, value in rows]
        case Grid():
            return _grid(block)
        case Code(text, language):
            return _fenced(visible(text, lines=True), language)
        case Timeline(caption, events):
            head = [f"*{_edged(caption)}*", ""] if caption else []
            return head + [line for event in events for line in _event(event)]
        case Notice():
            return _notice(block)
        case _:
            assert_never(block)


def _grid(grid: Grid) -> list[str]:
    lines = [f"**{_edged(grid.caption)}**", ""] if grid.caption else []
    lines.append(f"| {' | '.join(_escape(h) for h in grid.header)} |")
    lines.append(f"|{' --- |' * len(grid.header)}")
    lines += (f"| {' | '.join(_inline(cell, table=True) for cell in row)} |" for row in grid.rows)
    return lines


def _event(event: Event) -> list[str]:
    sign = SIGNS[event.tone] or "○"
    badges = "".join(f" · {_inline((badge,))}" for badge in event.badges)
    when = f" · {_escape(event.when)}" if event.when else ""
    return [f"- {sign} **{_edged(event.label)}**{badges}{when}", *(f"  - {_inline(x)}" for x in event.lines)]


def _notice(notice: Notice) -> list[str]:
    sign = SIGNS[notice.tone] or "○"
    word = "" if notice.tone in ("plain", "muted") else f"{notice.tone}: "
    place = f" · {_code(notice.place)}" if notice.place else ""
    head = f"{sign} **{_edged(word + notice.title)}**{place}"
    facts = [f"- {_escape(name)}: {_inline(value)}" for name, value in notice.facts]
    return [head, "", _escape(notice.message), *(["", *facts] if facts else [])]


def _inline(inline: Inline, *, table: bool = False) -> str:
    return "".join(_text(text, table=table) for text in inline)


def _text(text: Text, *, table: bool) -> str:
    if not text.text:
        return ""
    words = _code(text.text, table=table) if text.code else _escape(text.text)
    sign = SIGNS[text.tone] if text.tone in ("good", "danger", "break") else ""
    return f"{sign} {words}" if sign else words


def _escape(text: str) -> str:
    return _OPENING.sub(r"\1\\\2", _PUNCTUATION.sub(r"\\\1", visible(text)))


def _edged(text: str) -> str:
    """Text for between asterisks: a blank at its edge would keep them from being emphasis."""
    shown = visible(text)
    inner = shown.strip()
    start = shown.index(inner)
    before, after = shown[:start], shown[start + len(inner) :]
    return _entities(before) + _escape(inner) + _entities(after)


def _entities(text: str) -> str:
    return "".join(f"&#{ord(ch)};" for ch in text)


def _code(text: str, *, table: bool = False) -> str:
    """A code span, its fence longer than any run of back-ticks inside."""
    shown = visible(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * (longest + 1)
    # One blank on both sides is taken away again; without it a back-tick at the edge would join the fence.
    blank = " " if shown[:1] in ("`", " ") or shown[-1:] in ("`", " ") else ""
    span = f"{fence}{blank}{shown}{blank}{fence}"
    return span.replace("|", "\\|") if table else span


def _fenced(text: str, language: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *text.splitlines(), fence]


FORMAT = MarkdownFormat()
