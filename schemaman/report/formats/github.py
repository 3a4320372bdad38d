"""Renders a report as GitHub workflow commands: one annotation for each issue, then a summary line.

Source: GitHub, "Workflow commands for GitHub Actions"; escapes as `@actions/core` makes them
(`%`, CR and LF in messages, also `:` and `,` in properties).
"""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.report.document import Report
from schemaman.report.formats._annotations import LONGEST, render_annotations
from schemaman.report.formats._characters import cut_text
from schemaman.report.formats._issues import ReportedIssue

_COMMANDS = {"break": "error", "danger": "warning"}
_LONGEST_TITLE = 255
"""The longest title of an annotation. Source: GitHub REST API, "Update a check run"."""


@dataclass(frozen=True, slots=True)
class GithubFormat:
    """`::error file=…,line=…,title=…::…` for a break, `::warning` for a danger, `::notice` for the rest.

    A step shows ten annotations of each kind; further issues are plain lines of the log.
    """

    name: str = "github"

    def render(self, report: Report) -> str:
        """Render the issues, and the paragraphs as plain lines without commands."""
        return "\n".join(render_annotations(report, _name_command, _format_annotation)) + "\n"


def _name_command(found: ReportedIssue) -> str:
    return _COMMANDS.get(found.severity, "notice")


def _format_annotation(found: ReportedIssue) -> str:
    title = cut_text(f"{found.rule}: {found.subject}" if found.subject else found.rule, _LONGEST_TITLE)
    message = cut_text("\n".join([found.message, *found.details]), LONGEST)
    place = [("file", escape_invisible(found.file))] if found.file else []
    place += [("line", str(found.line))] if found.file and found.line else []
    properties = [f"{name}={_escape_property(value)}" for name, value in (*place, ("title", title))]
    return f"::{_name_command(found)} {','.join(properties)}::{_escape_data(message)}"


def _escape_data(text: str) -> str:
    return escape_commands(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


FORMAT = GithubFormat()
