"""Looks up one finding by its fingerprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemaman.api.unread_records import find_unread, group_rejects
from schemaman.compat.gate import CheckResult, build_unread, list_all_totals
from schemaman.errors import StoreUnavailable, UnknownName, UsageError
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman_cli.checking import run_check
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext


def find_finding(
    context: CommandContext, fingerprint: str, places: Sequence[str], against: str | None, base: str | None
) -> JudgedFinding:
    """Find the finding whose fingerprint starts with a text.

    With `places`, `against` or `base` the check that they name is run. Else the branch is asked first, then
    the store; findings that only a total shows, and unread records, come last.

    Raises:
        UnknownName: none or several match.
    """
    if places or against is not None or base is not None:
        result = run_check(context, places, against=against, base=base)
        return _select(fingerprint, _list_findings(result))
    of_branch = _list_branch_findings(context, fingerprint)
    if of_branch:
        return _select(fingerprint, of_branch)
    judge = make_workspace(context).build_judge()
    found: dict[str, JudgedFinding] = {}
    try:
        registry = open_registry(context)
    except StoreUnavailable as error:
        hint = f"the branch has no such finding; {_list_missing(fingerprint)}"
        raise StoreUnavailable(error.message, hint=f"{error.hint}; {hint}" if error.hint else hint) from error
    histories = registry.select()
    steps = (judged for history in histories for judged in build_chapter(history, judge).findings)
    totals = (judged for history in histories for t in list_all_totals(history) for judged in judge(t))
    behind = find_unread(registry, histories, group_rejects(registry))
    unread = (j for h in histories if h.table in behind for j in judge(build_unread(h, behind[h.table])))
    for candidates in (steps, totals, unread):
        for judged in candidates:
            if judged.finding.fingerprint.startswith(fingerprint):
                found.setdefault(judged.finding.fingerprint, judged)
        if found:
            break
    return _select(fingerprint, found)


def _list_branch_findings(context: CommandContext, fingerprint: str) -> dict[str, JudgedFinding]:
    """List the findings of the snapshots of the branch; none outside a repository or without snapshots."""
    try:
        result = run_check(context, ())
    except UsageError:
        return {}
    pairs = _list_findings(result)
    return {name: judged for name, judged in pairs.items() if name.startswith(fingerprint)}


def _list_findings(result: CheckResult) -> dict[str, JudgedFinding]:
    return {
        f.fingerprint: JudgedFinding(f, severity, result.waivers.get(f.fingerprint))
        for f, severity in result.findings
    }


def _list_missing(fingerprint: str) -> str:
    """Say which arguments a fingerprint alone lacks, if its check had arguments."""
    return (
        f"a finding of check with arguments needs these here, too: {fingerprint} [TABLE|PATH]... "
        "[--against REF] [--base BRANCH]; the line `more` of that check has the whole command"
    )


def _select(fingerprint: str, known: Mapping[str, JudgedFinding]) -> JudgedFinding:
    """Select the only finding whose fingerprint starts with a text. Raises `UnknownName`."""
    found = {name: judged for name, judged in known.items() if name.startswith(fingerprint)}
    if len(found) != 1:
        problem = "several fingerprints start with" if found else "no fingerprint starts with"
        listed = ", ".join(found) or _list_missing(fingerprint)
        raise UnknownName(f"{problem} {fingerprint!r}", hint=listed)
    return next(iter(found.values()))
