"""Looks up one finding by its fingerprint."""

from __future__ import annotations

from schemaman.compat.gate import list_all_totals
from schemaman.errors import UnknownName
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext


def find_finding(context: CommandContext, fingerprint: str) -> JudgedFinding:
    """Find the finding whose fingerprint starts with a text; those that only a total shows come last.

    Raises:
        UnknownName: none or several match.
    """
    judge = make_workspace(context).build_judge()
    found: dict[str, JudgedFinding] = {}
    histories = tuple(open_registry(context).select())
    steps = (judged for history in histories for judged in build_chapter(history, judge).findings)
    totals = (judged for history in histories for t in list_all_totals(history) for judged in judge(t))
    for candidates in (steps, totals):
        for judged in candidates:
            if judged.finding.fingerprint.startswith(fingerprint):
                found.setdefault(judged.finding.fingerprint, judged)
        if found:
            break
    if len(found) != 1:
        problem = "several fingerprints start with" if found else "no fingerprint starts with"
        listed = ", ".join(found) or "schemaman report and schemaman check list the findings"
        raise UnknownName(f"{problem} {fingerprint!r}", hint=listed)
    return next(iter(found.values()))
