"""A report is a document of a few kinds of blocks; formats render blocks and depend on nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from schemaman.plugins import Plugins

Tone = Literal["plain", "good", "note", "danger", "break", "muted"]


@dataclass(frozen=True, slots=True)
class Text:
    """A text with a tone that a format may show in colour; the text alone must be clear.

    `link` is the anchor of a heading of the same report, empty for none.
    """

    text: str
    tone: Tone = "plain"
    code: bool = False
    link: str = ""


Inline = tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A title: level 1 once in a report, 2 for a table, 3 inside a table. `anchor` is its link target."""

    text: str
    level: int
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or two sentences."""

    text: Inline


@dataclass(frozen=True, slots=True)
class FactsBlock:
    """Names and values, one pair per line."""

    rows: tuple[tuple[str, Inline], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with a caption and a header row."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of code."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A point on a timeline; `badges` show its state in a few words."""

    label: str
    when: str
    tone: Tone
    lines: tuple[Inline, ...]
    badges: Inline = ()


@dataclass(frozen=True, slots=True)
class TimelineBlock:
    """Points in order, oldest first. A page shows them in reverse, lines of text only if `newest_first`."""

    caption: str
    events: tuple[Event, ...]
    newest_first: bool = False

    @property
    def shown(self) -> tuple[Event, ...]:
        """The events in the order of lines of text."""
        return self.events[::-1] if self.newest_first else self.events


@dataclass(frozen=True, slots=True)
class Issue:
    """What a notice is about, for formats that other programs read.

    `fingerprint` stays the same when words change. `tone` is the tone without a waiver; `waiver` describes a
    waiver, empty for none. `fails`: the gate fails because of it; `is_unknown`: it decides nothing because of
    it.
    """

    table: str
    path: tuple[str, ...]
    fingerprint: str
    tone: Tone
    waiver: str = ""
    fails: bool = False
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A message that needs attention: a finding, a refusal, a disagreement.

    `title` is short, `place` names table and path, `message` is one sentence. `facts` are more lines: before,
    after, and what to do. `file` and `line` are the place in a repository, empty and 0 without one.
    `issue` is None for a notice that only people read.
    """

    title: str
    tone: Tone
    place: str
    message: str
    facts: tuple[tuple[str, Inline], ...] = ()
    anchor: str = ""
    file: str = ""
    line: int = 0
    issue: Issue | None = None


Block = Heading | Paragraph | FactsBlock | Grid | Code | TimelineBlock | Notice


@dataclass(frozen=True, slots=True)
class RulePage:
    """The rule of some notices: the title of the notices, what happened in a few words, and its page."""

    name: str
    title: str
    page: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdict of a check: the checked tables, the rules that fired, and the command that shows it all.

    `verdict` is None for a report that decides nothing; `unknown` if records of a table could not be read.
    `is_comment`: Markdown has to fit into a comment.
    """

    verdict: Literal["pass", "fail", "unknown"] | None
    tables: tuple[str, ...] = ()
    rules: tuple[RulePage, ...] = ()
    command: str = "schemaman check"
    is_comment: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """A document: its title and its blocks; `data` is what the JSON format prints instead.

    `gate` is None unless the report has findings.
    """

    title: str
    blocks: tuple[Block, ...]
    data: dict[str, object]
    gate: Gate | None = None


class Format(Protocol):
    """A way to write a report. One file each in `report/formats/`."""

    name: str

    def render(self, report: Report) -> str:
        """Render the whole report as text."""


FORMATS: Plugins[Format] = Plugins("schemaman.report.formats", "FORMAT", ("schemaman.formats",))
"""The output formats, by name."""
