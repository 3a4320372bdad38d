"""Helpers for the logs of CI services: what is annotated, and what is only a line in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from schemaman.model.printable import escape_commands
from schemaman.report.document import Paragraph, Report
from schemaman.report.formats._issues import ReportedIssue, format_line, format_words, list_issues

LIMIT = 10
"""The annotations of a kind that a service keeps of one step.

Source: actions/runner ExecutionContext, `_maxCountPerIssueType`; azure-pipelines-agent ExecutionContext,
`_maxIssueCount`.
"""
LONGEST = 4096
"""The longest message in UTF-16 units. Source: actions/runner ExecutionContext, `_maxIssueMessageLength`."""


def render_annotations(
    report: Report, kind_of: Callable[[ReportedIssue], str], format_command: Callable[[ReportedIssue], str]
) -> list[str]:
    """Render issues as commands, up to `LIMIT` of each kind, and the others as plain lines under a remark.

    `kind_of` names the kind of an issue; an empty kind is never annotated. Paragraphs come last.
    """
    counts: Counter[str] = Counter()
    commands: list[str] = []
    rest: list[ReportedIssue] = []
    for found in list_issues(report):
        kind = kind_of(found)
        if kind and counts[kind] < LIMIT:
            commands.append(format_command(found))
        else:
            rest.append(found)
        counts[kind] += 1
    plain = [escape_commands(format_line(found)) for found in rest]
    over = ", ".join(f"{n - LIMIT} more {kind}s" for kind, n in counts.items() if kind and n > LIMIT)
    remark = [f"{over}: a step shows {LIMIT} annotations of a kind, the lines below show the others"]
    paragraphs = [format_words(b.text) for b in report.blocks if isinstance(b, Paragraph)]
    return [*commands, *(remark if over else []), *plain, *map(escape_commands, paragraphs)]
