"""A report for a terminal: aligned, coloured by tone if asked for, wrapped to a width, and never cut.

Law: without blanks and line ends, a wrapped report has the characters of one that is not wrapped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
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
    Tone,
)
from schemaman.report.formats._characters import SIGNS, measure_width

_CODES: dict[Tone, str] = {
    "plain": "", "good": "32", "note": "36", "danger": "33", "break": "31", "muted": "2",
}  # fmt: skip
_BOLD = "1"
_SIGNED = "\0signed"
"""Marks a text whose sign and escapes are in it already."""
_BLANK = re.compile(r" +")
_MARK = re.compile(r" +|(?<=[^\W_])[._/$,:@-](?=\w)")
"""Where a line may end in a table that is still too wide: also inside names, after a mark between words."""
_WIDEST = 60
"""The widest cell that widens its column; a longer cell overflows instead."""


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Plain text; with `color` the tones become ANSI colours.

    Lines are wrapped to `width` terminal cells, or not at all. A name is longer than a line at worst.
    """

    name: str = "text"
    color: bool = False
    width: int | None = None

    def render(self, report: Report) -> str:
        """Render the whole report as lines of text."""
        parts: list[str] = []
        for block in report.blocks:
            lines = self._block(block)
            if parts and not (isinstance(block, Notice) and not lines):
                parts.append("")
            parts += lines
        # A runner that executes commands in a log is no terminal, so its lines have no width.
        shown = "\n".join(parts) + "\n"
        return shown if self.width else escape_commands(shown)

    def _block(self, block: Block) -> list[str]:
        match block:
            case Heading(text, level, _):
                return self._heading(escape_invisible(text), level)
            case Paragraph(text):
                return self._lines(text, "")
            case FactsBlock(rows):
                return self._facts(rows, "")
            case Grid(caption, header, rows):
                return self._grid(caption, header, rows)
            case Code(text, _):
                return [f"    {line}" for line in escape_invisible(text, lines=True).splitlines()]
            case TimelineBlock(caption):
                head = [self._paint(escape_invisible(caption), "muted")] if caption else []
                return head + [line for event in block.shown for line in self._event(event)]
            case Notice():
                return self._notice(block)
            case _:
                assert_never(block)

    def _heading(self, text: str, level: int) -> list[str]:
        title = self._ansi(text, _BOLD)
        return (
            [title, {1: "═", 2: "─"}[level] * min(measure_width(text), self.width or 10_000)]
            if level < 3
            else [title]
        )

    def _facts(self, rows: tuple[tuple[str, Inline], ...], indent: str) -> list[str]:
        widest = max((measure_width(escape_invisible(name)) for name, _ in rows), default=0)
        lines: list[str] = []
        for name, value in rows:
            title = self._paint(_pad_text(escape_invisible(name), widest), "muted")
            hanging = indent + " " * (widest + 2)
            first, *more = self._lines(value, hanging) or [""]
            lines += [f"{indent}{title}  {first[len(hanging) :]}".rstrip(), *more]
        return lines

    def _grid(self, caption: str, header: tuple[str, ...], rows: tuple[tuple[Inline, ...], ...]) -> list[str]:
        titles = [escape_invisible(title) for title in header]
        cells = [[_format_plain(cell) for cell in row] for row in rows]
        widths = [
            max((w for row in [titles, *cells] if (w := measure_width(row[i])) <= _WIDEST), default=_WIDEST)
            for i in range(len(titles))
        ]
        lines = [*self._lines((Text(caption, "muted"),), "")] if caption else []
        if (
            rows
            and self.width is not None
            and (sum(_longest(titles, cells)) + 2 * len(titles) - 2 > self.width)
        ):
            return lines + self._narrow_grid(titles, header, rows)
        lines.append(
            self._paint(_join_cells([_pad_text(h, w) for h, w in zip(titles, widths, strict=True)]), "muted")
        )
        for row, plain in zip(rows, cells, strict=True):
            gaps = [" " * (w - measure_width(text)) for text, w in zip(plain, widths, strict=True)]
            lines.append(_join_cells([self._inline(cell) + gap for cell, gap in zip(row, gaps, strict=True)]))
        return lines

    def _narrow_grid(
        self, titles: list[str], header: tuple[str, ...], rows: tuple[tuple[Inline, ...], ...]
    ) -> list[str]:
        """Wrap the cells of a table; one that is still too wide becomes lists of facts."""
        heads: tuple[Inline, ...] = tuple((Text(title, "muted"),) for title in header)
        columns = list(zip(*(heads, *rows), strict=True))
        natural = [max(measure_width(_format_plain(cell)) for cell in column) for column in columns]
        room = (self.width or 0) - 2 * (len(titles) - 1)
        for breaks in (_BLANK, _MARK):
            least = [max(_measure_longest(cell, breaks) for cell in column) for column in columns]
            if sum(least) <= room:
                widths = _share_room(natural, least, room)
                return [line for row in (heads, *rows) for line in self._narrow_row(row, widths, breaks)]
        facts: list[str] = []
        for row in rows:
            facts += ["", *self._facts(tuple(zip(header, row, strict=True)), "  ")]
        return facts[1:]

    def _narrow_row(self, row: tuple[Inline, ...], widths: list[int], breaks: re.Pattern[str]) -> list[str]:
        cells = [wrap_inline(cell, width, breaks) for cell, width in zip(row, widths, strict=True)]
        lines = []
        for number in range(max(map(len, cells))):
            parts: list[Inline] = [cell[number] if number < len(cell) else () for cell in cells]
            gaps = [w - measure_width(_format_plain(p)) for p, w in zip(parts, widths, strict=True)]
            lines.append(_join_cells([self._inline(p) + " " * g for p, g in zip(parts, gaps, strict=True)]))
        return lines

    def _lines(self, text: Inline, indent: str) -> list[str]:
        """Return the lines of a text, each with the indent."""
        if self.width is None:
            return [f"{indent}{self._inline(text)}"]
        return [
            f"{indent}{self._inline(line)}" for line in wrap_inline(text, self.width - len(indent), _BLANK)
        ]

    def _event(self, event: Event) -> list[str]:
        sign = self._paint(SIGNS[event.tone] or "○", event.tone)
        badges = "".join(f"  {self._inline((b,))}" for b in event.badges)
        head = [f"{sign} {self._ansi(escape_invisible(event.label), _BOLD)}"]
        words = [f"{SIGNS[event.tone] or '○'} {event.label}", *map(_format_words, event.badges)]
        if self.width is None or measure_width("  ".join(words)) <= self.width:
            head = [head[0] + badges]
        else:
            spaced = (part for badge in event.badges for part in (badge, Text("  ")))
            head += self._lines(tuple(spaced), "  ")
        when = self._lines((Text(event.when, "muted"),), "  ") if event.when else []
        return [*head, *when, *(each for line in event.lines for each in self._lines(line, "    "))]

    def _notice(self, notice: Notice) -> list[str]:
        sign, tone = SIGNS[notice.tone] or "○", notice.tone
        word = "" if tone in ("plain", "muted") else f"{tone}: "
        head = self._ansi(self._paint(f"{sign} {word}{escape_invisible(notice.title)}", tone), _BOLD)
        place = self._paint(escape_invisible(notice.place), "muted")
        head = f"{head}  {place}" if notice.place else head
        message = self._lines((Text(notice.message),), "    ")
        if (
            notice.place
            and self.width
            and measure_width(f"{sign} {word}{notice.title}  {notice.place}") > self.width
        ):
            head = self._ansi(self._paint(f"{sign} {word}{escape_invisible(notice.title)}", tone), _BOLD)
            message = [*self._lines((Text(notice.place, "muted"),), "    "), *message]
        return [head, *message, *self._facts(notice.facts, "    ")]

    def _inline(self, inline: Inline) -> str:
        return "".join(self._paint(_format_words(text), text.tone) for text in inline)

    def _paint(self, text: str, tone: Tone) -> str:
        return self._ansi(text, _CODES[tone]) if _CODES[tone] else text

    def _ansi(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text


def wrap_inline(inline: Inline, width: int, breaks: re.Pattern[str]) -> list[Inline]:
    """Split a text into lines of at most `width` cells; a longer word has a line of its own.

    `breaks` matches the places where a line may end. Code is kept whole as long as it fits into a line.
    """
    shown = [_show_sign(text) for text in inline]
    plain = "".join(text.text for text in shown)
    if measure_width(plain) <= width:
        return [tuple(shown)]
    lines: list[Inline] = []
    start = end = 0
    for piece in _find_pieces(shown, width, breaks):
        if end > start and measure_width(plain[start:piece].rstrip()) > width:
            lines.append(_cut_inline(shown, start, end))
            start = end
        end = piece
    lines.append(_cut_inline(shown, start, len(plain)))
    return lines


def _find_pieces(shown: list[Text], width: int, breaks: re.Pattern[str]) -> list[int]:
    """List the positions where a line may end, and the end of the text."""
    found: list[int] = []
    at = 0
    for text in shown:
        whole = text.code and breaks is _BLANK and measure_width(text.text) <= width
        found += [] if whole else [at + match.end() for match in breaks.finditer(text.text)]
        at += len(text.text)
    return sorted({*found, at})


def _cut_inline(shown: list[Text], start: int, end: int) -> Inline:
    """Return the characters from `start` to `end`, without blanks at the end."""
    parts: list[Text] = []
    at = 0
    for text in shown:
        part = text.text[max(start - at, 0) : max(end - at, 0)]
        at += len(text.text)
        if part:
            parts.append(replace(text, text=part))
    while parts and not (stripped := parts[-1].text.rstrip()):
        parts.pop()
    return (*parts[:-1], replace(parts[-1], text=stripped)) if parts else ()


def _show_sign(text: Text) -> Text:
    """Return a text with its sign and escapes; the link of a text does not matter here, and marks it."""
    return replace(text, text=_format_words(text), link=_SIGNED)


def _measure_longest(inline: Inline, breaks: re.Pattern[str]) -> int:
    """Measure the longest piece that no line break splits."""
    plain = _format_plain(inline)
    ends = [match.end() for match in breaks.finditer(plain)]
    pieces = (plain[a:b].rstrip() for a, b in zip([0, *ends], [*ends, len(plain)], strict=True))
    return max(map(measure_width, pieces), default=0)


def _share_room(natural: list[int], least: list[int], room: int) -> list[int]:
    """Give each column its natural width up to a common limit, and at least its longest word."""
    widths, limit = least, 1
    while limit <= max(natural):
        wider = [min(n, max(m, limit)) for n, m in zip(natural, least, strict=True)]
        if sum(wider) > room:
            break
        widths, limit = wider, limit + 1
    return widths


def _longest(titles: list[str], cells: list[list[str]]) -> list[int]:
    return [max(measure_width(row[i]) for row in (titles, *cells)) for i in range(len(titles))]


def _format_words(text: Text) -> str:
    if text.link == _SIGNED:
        return text.text
    sign = SIGNS[text.tone] if text.tone in ("good", "danger", "break") and text.text else ""
    return f"{sign} {escape_invisible(text.text)}" if sign else escape_invisible(text.text)


def _format_plain(inline: Inline) -> str:
    return "".join(_format_words(text) for text in inline)


def _pad_text(text: str, cells: int) -> str:
    return text + " " * (cells - measure_width(text))


def _join_cells(cells: list[str]) -> str:
    return "  ".join(cells).rstrip()


FORMAT = TextFormat()
