"""One finding by its fingerprint."""

from __future__ import annotations

from schemaman.errors import UnknownName
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext


def find_finding(context: CommandContext, fingerprint: str) -> JudgedFinding:
    """The finding whose fingerprint begins so. Raises `UnknownName`: there is none, or several."""
    judge = make_workspace(context).build_judge()
    found: dict[str, JudgedFinding] = {}
    for history in open_registry(context).select():
        for judged in build_chapter(history, judge).findings:
            if judged.finding.fingerprint.startswith(fingerprint):
                found.setdefault(judged.finding.fingerprint, judged)
    if len(found) != 1:
        problem = "several findings begin with" if found else "no finding is called"
        listed = ", ".join(found) or "schemaman report lists them, as schemaman check does"
        raise UnknownName(f"{problem} {fingerprint!r}", hint=listed)
    return next(iter(found.values()))
