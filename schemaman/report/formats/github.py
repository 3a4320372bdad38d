"""A report as GitHub workflow commands: one annotation for each notice, then a line that sums up.

Source: GitHub, "Workflow commands for GitHub Actions"; escapes as `@actions/core` makes them
(`%`, CR and LF in messages, also `:` and `,` in properties).
"""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.report.document import Inline, Notice, Paragraph, Report, Tone
from schemaman.report.formats._characters import SIGNS, visible

_COMMANDS: dict[Tone, str] = {"break": "error", "danger": "warning"}


@dataclass(frozen=True, slots=True)
class GithubFormat:
    """`::error title=…::…` for a break, `::warning` for a danger, `::notice` for the rest."""

    name: str = "github"

    def render(self, report: Report) -> str:
        """One line a notice, and the paragraphs as plain lines that can hold no command."""
        lines = [_annotation(b) for b in report.blocks if isinstance(b, Notice)]
        lines += [_line(b.text) for b in report.blocks if isinstance(b, Paragraph)]
        return "\n".join(lines) + "\n"


def _annotation(notice: Notice) -> str:
    command = _COMMANDS.get(notice.tone, "notice")
    title = visible(f"{notice.title}: {notice.place}" if notice.place else notice.title)
    facts = [f"{visible(name)}: {_words(value)}" for name, value in notice.facts]
    message = "\n".join([visible(notice.message), *facts])
    return f"::{command} title={_property(title)}::{_data(message)}"


def _words(inline: Inline) -> str:
    return "".join(visible(text.text) for text in inline)


def _line(inline: Inline) -> str:
    # The runner reads any line that begins with `::`, also behind blanks, and the older `##[`.
    text = _words(inline)
    return f"{SIGNS['muted']} {text}" if text.lstrip().startswith(("::", "##[")) else text


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMAT = GithubFormat()
