"""Renders the findings of a report as JSON lines, one finding a line.

Each line is a finding as in the JSON of `check`, and carries the number of the schema. Remarks and the
verdict are no findings: the JSON format has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemaman.model.printable import format_json
from schemaman.report.document import Report


@dataclass(frozen=True, slots=True)
class JsonLinesFormat:
    """One line for each finding; no line if there is none."""

    name: str = "jsonl"

    def render(self, report: Report) -> str:
        """Render the findings in the data of the report, of all its tables."""
        version = {"schema_version": report.data.get("schema_version")}
        return "".join(f"{format_json(version | each, None)}\n" for each in _list_findings(report.data))


def _list_findings(data: dict[str, object]) -> Iterator[dict[str, object]]:
    """List the findings of a check, or those of each table of a report."""
    for name in ("findings", "tables"):
        entries = data.get(name)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                yield from [entry] if name == "findings" else _list_findings(entry)


FORMAT = JsonLinesFormat()
