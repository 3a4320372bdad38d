"""Renders a report as GitHub workflow commands: one annotation for each notice, then a summary line.

Source: GitHub, "Workflow commands for GitHub Actions"; escapes as `@actions/core` makes them
(`%`, CR and LF in messages, also `:` and `,` in properties).
"""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.model.printable import escape_invisible
from schemaman.report.document import Inline, Notice, Paragraph, Report, Tone
from schemaman.report.formats._characters import SIGNS

_COMMANDS: dict[Tone, str] = {"break": "error", "danger": "warning"}


@dataclass(frozen=True, slots=True)
class GithubFormat:
    """`::error file=…,line=…,title=…::…` for a break, `::warning` for a danger, `::notice` for the rest."""

    name: str = "github"

    def render(self, report: Report) -> str:
        """Render one line per notice, and the paragraphs as plain lines without commands."""
        lines = [_format_annotation(b) for b in report.blocks if isinstance(b, Notice)]
        lines += [_format_line(b.text) for b in report.blocks if isinstance(b, Paragraph)]
        return "\n".join(lines) + "\n"


def _format_annotation(notice: Notice) -> str:
    command = _COMMANDS.get(notice.tone, "notice")
    title = escape_invisible(f"{notice.title}: {notice.place}" if notice.place else notice.title)
    facts = [f"{escape_invisible(name)}: {_format_words(value)}" for name, value in notice.facts]
    message = "\n".join([escape_invisible(notice.message), *facts])
    place = [("file", notice.file)] if notice.file else []
    place += [("line", str(notice.line))] if notice.file and notice.line else []
    properties = [f"{name}={_escape_property(value)}" for name, value in (*place, ("title", title))]
    return f"::{command} {','.join(properties)}::{_escape_data(message)}"


def _format_words(inline: Inline) -> str:
    return "".join(escape_invisible(text.text) for text in inline)


def _format_line(inline: Inline) -> str:
    # The runner interprets lines that begin with `::`, also after blanks, and the older `##[`.
    text = _format_words(inline)
    return f"{SIGNS['muted']} {text}" if text.lstrip().startswith(("::", "##[")) else text


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


FORMAT = GithubFormat()
