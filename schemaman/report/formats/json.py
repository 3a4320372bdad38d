"""Renders a report as JSON: its whole data, without its blocks."""

from __future__ import annotations

import json
from dataclasses import dataclass

from schemaman.report.document import Report


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """Indented UTF-8 JSON, with members in the order of the documentation."""

    name: str = "json"

    def render(self, report: Report) -> str:
        """Render the data of the report."""
        # A lone surrogate is no Unicode text and could not be written as UTF-8.
        text = json.dumps(report.data, indent=2, ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace").decode() + "\n"


FORMAT = JsonFormat()
