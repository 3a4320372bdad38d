"""A report as one HTML file: no script, no foreign request, light and dark, printable.

Law: whatever a name contains is shown as text; the template escapes everything by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count, takewhile

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.report.document import Block, FactsBlock, Heading, Notice, Paragraph, Report, Tone
from schemaman.report.formats._characters import SIGNS

_SEVERITY_ORDER: tuple[Tone, ...] = ("note", "danger", "break")
_FRAGMENT_IDS = count(1)
"""Fragments of one process share a page, so their ids differ."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of the second level and the blocks under it; `tone` is that of its worst notice."""

    heading: Heading
    blocks: tuple[Block, ...]
    tone: Tone


@dataclass(frozen=True, slots=True)
class HtmlFormat:
    """One self-contained page, with an index of its sections at the side."""

    name: str = "html"

    def render(self, report: Report) -> str:
        """Render the whole page."""
        front, sections = _split_sections(report)
        head = tuple(takewhile(_is_head, front))
        return _load_template("report.html.j2").render(
            title=report.title,
            css=Markup(_read_file("report.css")),
            heading=next((b.text for b in head if isinstance(b, Heading)), report.title),
            summary=tuple(b for b in head if isinstance(b, Paragraph)),
            figures=tuple(row for b in head if isinstance(b, FactsBlock) for row in b.rows),
            lead=front[len(head) :],
            sections=sections,
            signs=SIGNS,
            number=count(1).__next__,
        )

    def render_fragment(self, report: Report) -> str:
        """Render the blocks of a report as a fragment of a page, such as the output of a notebook's cell."""
        return _load_template("fragment.html.j2").render(
            css=Markup(_read_file("fragment.css")),
            blocks=report.blocks,
            signs=SIGNS,
            number=_FRAGMENT_IDS.__next__,
        )


def _split_sections(report: Report) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
    """Split the blocks before the first second-level heading from the sections."""
    starts = [i for i, b in enumerate(report.blocks) if isinstance(b, Heading) and b.level == 2]
    sections: list[Section] = []
    for start, end in zip(starts, [*starts, len(report.blocks)][1:], strict=True):
        heading, blocks = report.blocks[start], report.blocks[start + 1 : end]
        if isinstance(heading, Heading):
            sections.append(Section(heading, blocks, _find_worst(blocks)))
    return report.blocks[: starts[0] if starts else None], tuple(sections)


def _find_worst(blocks: tuple[Block, ...]) -> Tone:
    tones = [b.tone for b in blocks if isinstance(b, Notice) and b.tone in _SEVERITY_ORDER]
    return max(tones, key=_SEVERITY_ORDER.index, default="plain")


def _is_head(block: Block) -> bool:
    """Whether a block belongs to the head of the page: title, text, figures."""
    return isinstance(block, Paragraph | FactsBlock) or (isinstance(block, Heading) and block.level == 1)


@cache
def _load_template(page: str) -> Template:
    environment = Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_escape_value,
    )
    environment.filters["kind"] = _name_kind
    return environment.from_string(_read_file("blocks.html.j2") + _read_file(page))


def _escape_value(value: object) -> object:
    """Convert a value for the template: escape invisible characters in text, keep markup unchanged."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    shown = str(escape(escape_invisible(value, lines=True)))
    return Markup(escape_commands(shown, number_sign="&#35;", colon="&#58;"))


def _name_kind(block: Block) -> str:
    return type(block).__name__.removesuffix("Block").lower()


def _read_file(name: str) -> str:
    return files("schemaman.report.formats").joinpath(name).read_text(encoding="utf-8")


FORMAT = HtmlFormat()
