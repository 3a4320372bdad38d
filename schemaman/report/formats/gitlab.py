"""Renders a report as a GitLab code quality report.

Source: GitLab, "Code Quality", "Code Quality report format": `description`, `check_name`, `fingerprint`
(unique), `severity` (info, minor, major, critical, blocker), `location.path` (relative, without `./`),
`location.lines.begin`.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.model.printable import escape_invisible, format_json
from schemaman.report.document import Report
from schemaman.report.formats._issues import ReportedIssue, list_issues

_SEVERITIES = {"break": "critical", "danger": "major", "note": "minor"}


@dataclass(frozen=True, slots=True)
class GitlabFormat:
    """A JSON array of issues. An issue without a file has the path `schemaman/TABLE.table`."""

    name: str = "gitlab"

    def render(self, report: Report) -> str:
        """Render every issue; a waived one is `info`."""
        return format_json([_build_entry(found) for found in list_issues(report)]) + "\n"


def _build_entry(found: ReportedIssue) -> dict[str, object]:
    waiver = f" (waived {escape_invisible(found.issue.waiver)})" if found.issue.waiver else ""
    return {
        "description": f"{found.subject}: {found.message}{waiver}"
        if found.subject
        else found.message + waiver,
        "check_name": found.rule,
        "fingerprint": found.fingerprint,
        "severity": _SEVERITIES.get(found.severity, "info"),
        "location": {"path": escape_invisible(found.path), "lines": {"begin": max(found.line, 1)}},
    }


FORMAT = GitlabFormat()
