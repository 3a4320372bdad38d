"""Looks up one finding by its fingerprint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemaman.api.judging import build_judge
from schemaman.api.readership import RegistryRelations, build_readership
from schemaman.api.unread_records import find_unread, group_rejects
from schemaman.compat.gate import CheckResult, build_unread, list_all_totals
from schemaman.errors import StoreUnavailable, UnknownName, UsageError
from schemaman.report.views.findings import list_judged
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman_cli.checking import run_check
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext


def find_finding(
    context: CommandContext,
    fingerprint: str,
    places: Sequence[str],
    against: str | None,
    base: str | None,
    sql: Sequence[str] = (),
    word: str | None = None,
) -> JudgedFinding:
    """Find the finding whose fingerprint starts with a text.

    With `places`, `against`, `base` or `sql` the check that they name is run. Else the branch is asked first,
    then the store; findings that only a total shows, and unread records, come last.

    Raises:
        UnknownName: none or several match.
    """
    if places or sql or against is not None or base is not None:
        result = run_check(context, places, against=against, base=base, sql=sql, word=word)
        return _select(fingerprint, _list_findings(result))
    of_branch = _list_branch_findings(context, fingerprint)
    if of_branch:
        return _select(fingerprint, of_branch)
    try:
        registry = open_registry(context)
    except StoreUnavailable as error:
        hint = f"the branch has no such finding; {_list_missing(fingerprint)}"
        raise StoreUnavailable(error.message, hint=f"{error.hint}; {hint}" if error.hint else hint) from error
    workspace = make_workspace(context)
    judge = build_judge(workspace, build_readership(workspace, RegistryRelations(workspace, registry)))
    found: dict[str, JudgedFinding] = {}
    histories = tuple(registry.select())
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
    return {judged.finding.fingerprint: judged for judged in list_judged(result)}


def _list_missing(fingerprint: str) -> str:
    """Say which arguments a fingerprint alone lacks, if its check had arguments."""
    return (
        f"a finding of check with arguments needs these here, too: {fingerprint} [TABLE|PATH]... "
        "[--against REF] [--base BRANCH] [--sql PATH]; the line `more` of that check has the whole command"
    )


def _select(fingerprint: str, known: Mapping[str, JudgedFinding]) -> JudgedFinding:
    """Select the only finding whose fingerprint starts with a text. Raises `UnknownName`."""
    found = {name: judged for name, judged in known.items() if name.startswith(fingerprint)}
    if len(found) != 1:
        problem = "several fingerprints start with" if found else "no fingerprint starts with"
        listed = ", ".join(found) or _list_missing(fingerprint)
        raise UnknownName(f"{problem} {fingerprint!r}", hint=listed)
    return next(iter(found.values()))
