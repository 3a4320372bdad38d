"""Renders a report as SARIF 2.1.0, for code scanning and editors.

Source: OASIS "Static Analysis Results Interchange Format (SARIF) Version 2.1.0"; GitHub "SARIF support for
code scanning": every result needs a physical location with a line, a run has at most 25,000 results, of which
the 5,000 worst are shown, and texts of rules have at most 1,024 characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from schemaman.compat.gate import EXIT_CODES
from schemaman.model.printable import escape_invisible, format_json
from schemaman.report.document import Gate, Report, RulePage, Tone
from schemaman.report.formats._characters import cut_text
from schemaman.report.formats._issues import ReportedIssue, list_issues

MOST_RESULTS = 25_000
MOST_SHOWN = 5_000
_LONGEST_TEXT = 1024
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Tone, str] = {"break": "error", "danger": "warning", "note": "note"}
_ORDER = ("error", "warning", "note", "none")

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class SarifFormat:
    """One run: the rules that fired with their pages, and a result for each issue, the worst first.

    A waived finding is a suppressed result.
    """

    name: str = "sarif"

    def render(self, report: Report) -> str:
        """Render the issues, and what a limit cuts as a notification of the run."""
        issues = sorted(list_issues(report), key=_rate_issue)
        kept = issues[:MOST_RESULTS]
        pages = {rule.name: rule for rule in (report.gate.rules if report.gate else ())}
        names = list(dict.fromkeys(found.rule for found in kept))
        run: Document = {
            "tool": {
                "driver": {
                    "name": "schemaman",
                    "rules": [_build_rule(name, pages.get(name), kept) for name in names],
                }
            },
            "automationDetails": {"id": "schemaman/check/"},
            "invocations": [_build_invocation(report.gate, len(issues))],
            "columnKind": "unicodeCodePoints",
            "results": [_build_result(found, names.index(found.rule)) for found in kept],
        }
        return format_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rate_issue(found: ReportedIssue) -> tuple[bool, int]:
    return bool(found.issue.waiver), _ORDER.index(_LEVELS.get(found.issue.tone, "none"))


def _build_invocation(gate: Gate | None, issues: int) -> Document:
    texts = []
    command = gate.command if gate else "schemaman check"
    if issues > MOST_RESULTS:
        texts.append(f"the {MOST_RESULTS} worst of {issues} findings are here; all of them: {command}")
    if issues > MOST_SHOWN:
        texts.append(f"GitHub shows the {MOST_SHOWN} worst of {issues} findings; all of them: {command}")
    notifications = [{"level": "warning", "message": _build_message(text)} for text in texts]
    invocation: Document = {"executionSuccessful": True, "toolExecutionNotifications": notifications}
    if gate is None or gate.verdict is None:
        return invocation
    decided = {"executionSuccessful": gate.verdict != "unknown", "exitCode": EXIT_CODES[gate.verdict]}
    return invocation | decided


def _build_rule(name: str, page: RulePage | None, issues: Sequence[ReportedIssue]) -> Document:
    """Build the metadata of a rule; what has no page is described by its name."""
    if page is None:
        tone = next(found.issue.tone for found in issues if found.rule == name)
        page = RulePage(name, name.replace("-", " "), "", tone)
    text = page.page or page.title
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("-")),
        "shortDescription": _build_message(cut_text(page.title, _LONGEST_TEXT)),
        "fullDescription": _build_message(cut_text(" ".join(text.split("\n\n")[0].split()), _LONGEST_TEXT)),
        "help": _build_message(text),
        "defaultConfiguration": {"level": _LEVELS.get(page.tone, "none")},
        "properties": {"tags": ["schema-change"]},
    }


def _build_result(found: ReportedIssue, index: int) -> Document:
    issue = found.issue
    names = [escape_invisible(part) for part in (issue.table, *issue.path)]
    logical = [{"name": names[-1], "fullyQualifiedName": found.subject, "kind": _name_kind(issue.path)}]
    location: Document = {
        "physicalLocation": {
            "artifactLocation": {"uri": _format_uri(found), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(found.line, 1)},
        }
    }
    level = _LEVELS.get(issue.tone, "none")
    waived = {"kind": "external", "status": "accepted", "justification": escape_invisible(issue.waiver)}
    return {
        "ruleId": found.rule,
        "ruleIndex": index,
        "kind": "informational" if level == "none" else "fail",
        "level": level,
        "message": _build_message("\n".join([found.message, *found.details])),
        "locations": [{**location, "logicalLocations": logical} if issue.table else location],
        "partialFingerprints": {"schemamanFinding/v1": found.fingerprint},
        "suppressions": [waived] if issue.waiver else [],
    }


def _name_kind(path: tuple[str, ...]) -> str:
    return "member" if path else "type"


def _format_uri(found: ReportedIssue) -> str:
    """Format the path as a URI reference; the path for a table is one already."""
    return quote(found.file, errors="replace") if found.file else found.path


def _build_message(text: str) -> Document:
    # A text may embed links, [text](target); an escaped bracket is only a bracket (SARIF 2.1.0, 3.11.6).
    return {"text": escape_invisible(text, lines=True).replace("](", "\\](")}


FORMAT = SarifFormat()
