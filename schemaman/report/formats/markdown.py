"""A report as GitHub-flavoured Markdown, for pull requests and pages; never raw HTML.

The result of a check fits into a comment: it begins with the verdict, and whole findings are left out at the
end.

Source: GitHub Flavored Markdown Spec 0.29: backslash escapes (2.4), code spans (6.3),
tables (4.10: a pipe is escaped also inside a code span).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from schemaman.model.printable import escape_commands, escape_invisible
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
_REFERENCE = re.compile(r"((?<!\w)\\@|\\#)(?=\w)")
"""Escaped signs that GitHub takes for a mention or an issue; it looks for these in the rendered text."""
COMMENT_LIMIT = 65_536
"""The longest comment in characters. Source: GitHub's answer to a longer one, "body is too long"."""
_REMARK = 200
"""Characters for the remark about what was left out, without its command."""


@dataclass(frozen=True, slots=True)
class MarkdownFormat:
    """Renders headings, tables, lists and code; names are escaped."""

    name: str = "markdown"

    def render(self, report: Report) -> str:
        """Render the whole report, or as many findings of a check as fit into a comment."""
        if report.gate is None or not report.gate.is_comment:
            return _join_blocks(map(_render_block, report.blocks))
        heads = [b for b in report.blocks if not isinstance(b, Notice)]
        notices = [b for b in report.blocks if isinstance(b, Notice)]
        parts = [*map(_render_block, heads), *map(_render_block, notices)]
        if len(whole := _join_blocks(parts)) <= COMMENT_LIMIT:
            return whole
        kept, size = [], sum(len(part) + 2 for part in parts[: len(heads)])
        for part in parts[len(heads) :]:
            size += len(part) + 2
            if size > COMMENT_LIMIT - _REMARK - len(report.gate.command):
                break
            kept.append(part)
        remark = _describe_rest(notices[len(kept) :], report.gate.command)
        return _join_blocks([*parts[: len(heads)], *kept, remark])


def _describe_rest(rest: Sequence[Notice], command: str) -> str:
    """Describe the notices that a comment has no room for."""
    counts = Counter(notice.tone for notice in rest)
    listed = ", ".join(f"{counts[tone]} {tone}" for tone in ("break", "danger", "note") if counts[tone])
    return f"{len(rest)} more findings do not fit here ({listed}). All of them: {_format_code(command)}"


def _join_blocks(parts: Iterable[str]) -> str:
    return escape_commands("\n\n".join(parts), colon="\\:") + "\n"


def _render_block(block: Block) -> str:
    return "\n".join(_format_block(block))


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
        case TimelineBlock(caption):
            head = [f"*{_escape_edges(caption)}*", ""] if caption else []
            return head + [line for event in block.shown for line in _format_event(event)]
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
    escaped = _OPENING.sub(r"\1\\\2", _PUNCTUATION.sub(r"\\\1", escape_invisible(text)))
    return _REFERENCE.sub(r"\1&#8203;", escaped)


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
