"""Helpers for formats that other programs read: the issues of a report, each with a place and a line."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from urllib.parse import quote

from schemaman.model.printable import escape_invisible
from schemaman.report.document import Inline, Issue, Notice, Report, Tone

SEVERITIES: dict[Tone, str] = {"break": "break", "danger": "danger", "note": "note"}
"""The words of the tones; every other tone is `off`."""


@dataclass(frozen=True, slots=True)
class ReportedIssue:
    """An issue and its notice; every text is printable.

    `rule` has no blanks. `subject` is the table with its path, empty for none. `details` are the facts of the
    notice as lines. `fingerprint` is unique in the report.
    """

    issue: Issue
    rule: str
    subject: str
    message: str
    details: tuple[str, ...]
    fingerprint: str
    file: str
    line: int

    @property
    def severity(self) -> str:
        """The severity in a word; `waived` for a waived one."""
        return "waived" if self.issue.waiver else SEVERITIES.get(self.issue.tone, "off")

    @property
    def path(self) -> str:
        """The path of its file, else a stable one for its table: some programs need a path."""
        name = quote(self.issue.table or self.rule, safe="", errors="backslashreplace")
        return self.file or f"schemaman/{name}.table"


def list_issues(report: Report) -> tuple[ReportedIssue, ...]:
    """List the notices of a report as issues, in order."""
    found: list[ReportedIssue] = []
    used: set[str] = set()
    for notice in report.blocks:
        if not isinstance(notice, Notice):
            continue
        issue = notice.issue or Issue("", (), "", notice.tone)
        fingerprint = issue.fingerprint or _hash_texts(notice.title, notice.place, notice.message)
        while fingerprint in used:
            fingerprint = _hash_texts(fingerprint, notice.file, notice.place)
        used.add(fingerprint)
        subject = ".".join((issue.table, *issue.path)) if issue.table else notice.place
        details = tuple(f"{escape_invisible(name)}: {format_words(value)}" for name, value in notice.facts)
        found.append(
            ReportedIssue(
                issue=replace(issue, fingerprint=fingerprint),
                rule="-".join(escape_invisible(notice.title).split()) or "notice",
                subject=escape_invisible(subject),
                message=escape_invisible(notice.message),
                details=details,
                fingerprint=fingerprint,
                file=notice.file,
                line=notice.line,
            )
        )
    return tuple(found)


def format_line(found: ReportedIssue) -> str:
    """Format an issue as a line: `file:line: severity rule table.path message [fingerprint]`."""
    place = f"{escape_invisible(found.file)}:{max(found.line, 1)}: " if found.file else ""
    waiver = f" (waived {escape_invisible(found.issue.waiver)})" if found.issue.waiver else ""
    words = (found.severity, found.rule, found.subject, f"{found.message}{waiver}", f"[{found.fingerprint}]")
    return place + " ".join(word for word in words if word)


def format_words(inline: Inline) -> str:
    """Format a text without its tones."""
    return "".join(escape_invisible(text.text) for text in inline)


def _hash_texts(*texts: str) -> str:
    joined = "\x00".join(texts).encode("utf-8", "surrogatepass")
    return "0" + hashlib.sha256(joined).hexdigest()[:15]
