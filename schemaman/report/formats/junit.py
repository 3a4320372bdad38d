"""Renders a report as JUnit XML: a suite for each table, a test case for each issue.

Source: jenkinsci/xunit-plugin `junit-10.xsd`: counts are attributes of suites, and a test case has a name, a
class name and a time, but no file. XML 1.0 has no character for most control characters, U+FFFE and U+FFFF.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from schemaman.model.printable import escape_commands, escape_invisible
from schemaman.report.document import Report
from schemaman.report.formats._issues import ReportedIssue, list_issues

_NO_CHARACTER = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class JunitFormat:
    """An issue that fails the gate is a failure, a waived one is skipped, any other one passes.

    Records that could not be read are an error, as nothing is known of what they hold.
    A table without issues is one test that passes.
    """

    name: str = "junit"

    def render(self, report: Report) -> str:
        """Render the suites, in the order of the tables."""
        suites: dict[str, list[ReportedIssue]] = {t: [] for t in (report.gate.tables if report.gate else ())}
        for found in list_issues(report):
            suites.setdefault(found.issue.table, []).append(found)
        root = Element("testsuites", {"name": "schemaman"})
        for table, issues in suites.items():
            _add_suite(root, table, issues)
        for count in ("tests", "failures", "errors"):
            root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
        body = escape_commands(tostring(root, encoding="unicode"), number_sign="&#35;", colon="&#58;")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _add_suite(root: Element, table: str, issues: Sequence[ReportedIssue]) -> None:
    name = _escape_text(table) or "schemaman"
    suite = SubElement(root, "testsuite", {"name": name, "tests": str(len(issues) or 1)})
    suite.set("failures", str(sum(_is_failure(found) for found in issues)))
    suite.set("errors", str(sum(found.issue.is_unknown for found in issues)))
    suite.set("skipped", str(sum(bool(found.issue.waiver) for found in issues)))
    if not issues:
        SubElement(suite, "testcase", {"name": "no findings", "classname": name, "time": "0"})
    for found in issues:
        title = " ".join((found.rule, *found.issue.path, f"[{found.fingerprint}]"))
        case = SubElement(suite, "testcase", {"name": _escape_text(title), "classname": name, "time": "0"})
        place = [f"{found.file}:{max(found.line, 1)}"] if found.file else []
        text = "\n".join(map(_escape_text, (found.message, *found.details, *place)))
        if found.issue.waiver:
            SubElement(case, "skipped", {"message": _escape_text(f"waived {found.issue.waiver}")})
        if _is_failure(found) or found.issue.is_unknown:
            kind = "error" if found.issue.is_unknown else "failure"
            failure = SubElement(case, kind, {"message": _escape_text(found.message), "type": found.rule})
            failure.text = text
        else:
            SubElement(case, "system-out").text = text


def _is_failure(found: ReportedIssue) -> bool:
    return found.issue.fails and not found.issue.waiver


def _escape_text(text: str) -> str:
    return _NO_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", escape_invisible(text))


FORMAT = JunitFormat()
