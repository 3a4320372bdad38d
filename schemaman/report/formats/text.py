"""A report for a terminal: aligned, coloured by tone if asked for, and never cut."""

from __future__ import annotations

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
    Tone,
)
from schemaman.report.formats._characters import SIGNS, measure_width

_CODES: dict[Tone, str] = {
    "plain": "", "good": "32", "note": "36", "danger": "33", "break": "31", "muted": "2",
}  # fmt: skip
_BOLD = "1"
_WIDEST = 60
"""The widest cell that widens its column; a longer cell overflows instead."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Plain text; with `color` the tones become ANSI colours."""

    name: str = "text"
    color: bool = False

    def render(self, report: Report) -> str:
        """Render the whole report as lines of text."""
        parts: list[str] = []
        for block in report.blocks:
            lines = self._block(block)
            if parts and not (isinstance(block, Notice) and not lines):
                parts.append("")
            parts += lines
        return "\n".join(parts) + "\n"

    def _block(self, block: Block) -> list[str]:
        match block:
            case Heading(text, level, _):
                return self._heading(escape_invisible(text), level)
            case Paragraph(text):
                return [self._inline(text)]
            case FactsBlock(rows):
                return self._facts(rows, "")
            case Grid(caption, header, rows):
                return self._grid(caption, header, rows)
            case Code(text, _):
                return [f"    {line}" for line in escape_invisible(text, lines=True).splitlines()]
            case TimelineBlock(caption, events):
                head = [self._paint(escape_invisible(caption), "muted")] if caption else []
                return head + [line for event in events for line in self._event(event)]
            case Notice():
                return self._notice(block)
            case _:
                assert_never(block)

    def _heading(self, text: str, level: int) -> list[str]:
        title = self._ansi(text, _BOLD)
        return [title, {1: "═", 2: "─"}[level] * measure_width(text)] if level < 3 else [title]

    def _facts(self, rows: tuple[tuple[str, Inline], ...], indent: str) -> list[str]:
        widest = max((measure_width(escape_invisible(name)) for name, _ in rows), default=0)
        return [
            f"{indent}{self._paint(_pad_text(name, widest), 'muted')}  {self._inline(value)}".rstrip()
            for name, value in ((escape_invisible(name), value) for name, value in rows)
        ]

    def _grid(self, caption: str, header: tuple[str, ...], rows: tuple[tuple[Inline, ...], ...]) -> list[str]:
        titles = [escape_invisible(title) for title in header]
        cells = [[_format_plain(cell) for cell in row] for row in rows]
        widths = [
            max((w for row in [titles, *cells] if (w := measure_width(row[i])) <= _WIDEST), default=_WIDEST)
            for i in range(len(titles))
        ]
        lines = [self._paint(escape_invisible(caption), "muted")] if caption else []
        lines.append(
            self._paint(_join_cells([_pad_text(h, w) for h, w in zip(titles, widths, strict=True)]), "muted")
        )
        for row, plain in zip(rows, cells, strict=True):
            gaps = [" " * (w - measure_width(text)) for text, w in zip(plain, widths, strict=True)]
            lines.append(_join_cells([self._inline(cell) + gap for cell, gap in zip(row, gaps, strict=True)]))
        return lines

    def _event(self, event: Event) -> list[str]:
        sign = self._paint(SIGNS[event.tone] or "○", event.tone)
        badges = "".join(f"  {self._inline((b,))}" for b in event.badges)
        head = f"{sign} {self._ansi(escape_invisible(event.label), _BOLD)}{badges}"
        when = [f"  {self._paint(escape_invisible(event.when), 'muted')}"] if event.when else []
        return [head, *when, *(f"    {self._inline(line)}" for line in event.lines)]

    def _notice(self, notice: Notice) -> list[str]:
        sign, tone = SIGNS[notice.tone] or "○", notice.tone
        word = "" if tone in ("plain", "muted") else f"{tone}: "
        head = self._ansi(self._paint(f"{sign} {word}{escape_invisible(notice.title)}", tone), _BOLD)
        place = self._paint(escape_invisible(notice.place), "muted")
        head = f"{head}  {place}" if notice.place else head
        return [head, f"    {escape_invisible(notice.message)}", *self._facts(notice.facts, "    ")]

    def _inline(self, inline: Inline) -> str:
        return "".join(self._paint(_format_words(text), text.tone) for text in inline)

    def _paint(self, text: str, tone: Tone) -> str:
        return self._ansi(text, _CODES[tone]) if _CODES[tone] else text

    def _ansi(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text


def _format_words(text: Text) -> str:
    sign = SIGNS[text.tone] if text.tone in ("good", "danger", "break") and text.text else ""
    return f"{sign} {escape_invisible(text.text)}" if sign else escape_invisible(text.text)


def _format_plain(inline: Inline) -> str:
    return "".join(_format_words(text) for text in inline)


def _pad_text(text: str, cells: int) -> str:
    return text + " " * (cells - measure_width(text))


def _join_cells(cells: list[str]) -> str:
    return "  ".join(cells).rstrip()


FORMAT = TextFormat()
