"""Renders a report as logging commands of Azure Pipelines: an issue of the log for each break and danger.

Source: Azure Pipelines, "Logging commands": `task.logissue` knows errors and warnings; `%` is `%AZP25`, and
`;` and `]` are escaped in properties. `task.complete` sets the result of the step.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.report.document import Report
from schemaman.report.formats._annotations import LONGEST, render_annotations
from schemaman.report.formats._characters import cut_text
from schemaman.report.formats._issues import ReportedIssue, list_issues

_TYPES = {"break": "error", "danger": "warning"}


@dataclass(frozen=True, slots=True)
class AzureFormat:
    """`##vso[task.logissue …]` for each break and danger, plain lines for notes, then `task.complete`.

    The step fails if the gate fails or is unknown. It succeeds with issues if it has unwaived breaks or
    dangers.
    """

    name: str = "azure"

    def render(self, report: Report) -> str:
        """Render the issues, the paragraphs, and the result of the step unless it is a plain success."""
        lines = render_annotations(report, _name_type, _format_command)
        verdict = report.gate.verdict if report.gate is not None else None
        if verdict in ("fail", "unknown"):
            text = "the check failed" if verdict == "fail" else "the check could not read all records"
            lines.append(f"##vso[task.complete result=Failed;]{text}")
        elif any(map(_name_type, list_issues(report))):
            lines.append("##vso[task.complete result=SucceededWithIssues;]the check passed with issues")
        return "\n".join(lines) + "\n"


def _name_type(found: ReportedIssue) -> str:
    return _TYPES.get(found.severity, "")


def _format_command(found: ReportedIssue) -> str:
    properties = [("type", _name_type(found))]
    if found.file:
        properties += [("sourcepath", escape_invisible(found.file)), ("linenumber", str(max(found.line, 1)))]
    properties.append(("code", found.rule))
    listed = "".join(f"{name}={_escape_property(value)};" for name, value in properties)
    text = "\n".join([f"{found.rule}: {found.subject}", found.message, *found.details])
    message = _escape_data(cut_text(text, LONGEST))
    return f"##vso[task.logissue {listed}]{message}"


def _escape_data(text: str) -> str:
    return escape_commands(text).replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace("]", "%5D").replace(";", "%3B")


FORMAT = AzureFormat()
