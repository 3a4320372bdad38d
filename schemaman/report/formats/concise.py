"""Renders a report as one line for each issue, as compilers do: `file:line: severity rule place message`."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.model.printable import escape_commands
from schemaman.report.document import Report
from schemaman.report.formats._issues import format_line, list_issues


@dataclass(frozen=True, slots=True)
class ConciseFormat:
    """`file:line: severity rule table.path message [fingerprint]`; without a file the place is left out."""

    name: str = "concise"

    def render(self, report: Report) -> str:
        """Render one line for each issue; nothing else."""
        return "".join(f"{escape_commands(format_line(found))}\n" for found in list_issues(report))


FORMAT = ConciseFormat()
