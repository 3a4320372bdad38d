"""Renders a report as JSON: its whole data, without its blocks."""

from __future__ import annotations

from dataclasses import dataclass

from schemaman.model.printable import format_json
from schemaman.report.document import Report


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """Indented UTF-8 JSON, with members in the order of the documentation."""

    name: str = "json"

    def render(self, report: Report) -> str:
        """Render the data of the report."""
        return format_json(report.data) + "\n"


FORMAT = JsonFormat()
