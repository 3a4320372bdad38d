"""Builds the report of what changed since the accepted state: newest first, each finding once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemaman.compat.gate import CheckResult
from schemaman.migration.plan import Plan
from schemaman.model.schema import TableId
from schemaman.report.document import Block, Gate, Grid, Heading, Inline, Paragraph, Report, Text
from schemaman.report.json import changes as change_documents
from schemaman.report.json import tables as table_documents
from schemaman.report.views import words
from schemaman.report.views.findings import (
    build_judged_notice,
    build_rule_pages,
    list_judged,
    summarize_check,
)
from schemaman.report.views.overview import shorten_names
from schemaman.report.views.table_changes import JudgedFinding, TableChapter
from schemaman.report.views.table_chapter import build_introduction, build_timeline

ACCEPTED = "accepted"
"""The baseline of the snapshots in git."""


@dataclass(frozen=True, slots=True)
class ChangedTable:
    """A table, the REFs of its revisions since the baseline, and the expected plan of each target.

    `faults` say for which targets there is no plan, and why.
    """

    chapter: TableChapter
    refs: tuple[str, ...]
    plans: tuple[Plan, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangesSinceAccepted:
    """The result of the gate since a baseline, and the tables that it checked."""

    result: CheckResult
    against: str
    tables: tuple[ChangedTable, ...]


def build_since_report(found: ChangesSinceAccepted) -> Report:
    """Build the report: the verdict, then each table that changed."""
    result = found.result
    judged = tuple(reversed([*list_judged(result)]))
    waivers = {j.finding.fingerprint for j in judged if j.waiver is not None}
    changed = [t for t in found.tables if t.refs or any(j.finding.table == _name(t) for j in judged)]
    title = f"Changes since {'the accepted state' if found.against == ACCEPTED else found.against}"
    titles = shorten_names(map(_name, found.tables))
    blocks: list[Block] = [
        Heading(title, 1),
        Paragraph(summarize_check(judged, result, result.fail_on, len(waivers))),
    ]
    unchanged = len(found.tables) - len(changed)
    if unchanged:
        blocks.append(Paragraph((Text(f"{words.format_count(unchanged, 'table')} did not change", "muted"),)))
    for number, table in enumerate(changed, 1):
        own = [j for j in judged if j.finding.table == _name(table)]
        blocks.append(Heading(titles[_name(table)], 2, f"t{number}"))
        blocks.append(Paragraph(build_introduction(table.chapter.history)))
        if table.refs:
            blocks.append(build_timeline(table.chapter.select_stages(table.refs), newest_first=True))
        blocks += (build_judged_notice(j, result.fail_on) for j in own)
        blocks += _build_effects(table)
    gate = Gate(result.verdict, tuple(map(str, result.tables)), build_rule_pages(judged), is_comment=False)
    return Report(title, tuple(blocks), _build_data(found, judged), gate)


def _name(table: ChangedTable) -> TableId:
    return table.chapter.history.table


def _build_effects(table: ChangedTable) -> Iterator[Block]:
    """Build what each target does about the changes, as far as the accepted schema tells."""
    for fault in table.faults:
        yield Paragraph((Text("not known in the lake: ", "danger"), Text(fault)))
    if not table.plans:
        return
    rows: list[tuple[Inline, ...]] = []
    for plan in table.plans:
        head = ((Text(f"{plan.target} ({plan.format})"),), (Text(plan.table, code=True),))
        rows.append((*head, _describe_steps(plan), _describe_refusals(plan)))
    caption = "Expected in the lake; schemaman plan reads the tables themselves"
    yield Grid(caption, ("target", "lake table", "steps", "refused"), tuple(rows))


def _describe_steps(plan: Plan) -> Inline:
    shown = [step for step in plan.steps if step.kind != "set-properties"]
    if not shown:
        return (Text("none", "muted"),)
    count = len(plan.approvals_needed)
    approvals = f"; {words.format_count(count, 'approval')} needed" if count else ""
    return (Text("; ".join(step.statement for step in shown), code=True), Text(approvals))


def _describe_refusals(plan: Plan) -> Inline:
    if not plan.refusals:
        return (Text("—", "muted"),)
    return (Text("; ".join(f"{r.change}: {r.reason}" for r in plan.refusals), "break"),)


def _build_data(found: ChangesSinceAccepted, judged: tuple[JudgedFinding, ...]) -> dict[str, object]:
    waivers = found.result.waivers
    return {
        "schema_version": table_documents.SCHEMA_VERSION,
        "against": found.against,
        "verdict": found.result.verdict,
        "tables": [
            table_documents.build_history(t.chapter.history)
            | {
                "since": list(t.refs),
                "findings": [
                    change_documents.build_finding(j.finding, j.severity, waivers.get(j.finding.fingerprint))
                    for j in judged
                    if j.finding.table == _name(t)
                ],
                "plans": [],
                "expected": [_build_expected(plan) for plan in t.plans],
                "not_expected": list(t.faults),
            }
            for t in found.tables
        ],
    }


def _build_expected(plan: Plan) -> dict[str, object]:
    return {
        "target": plan.target,
        "format": plan.format,
        "table": plan.table,
        "steps": [{"kind": step.kind, "statement": step.statement} for step in plan.steps],
        "refusals": [{"change": r.change, "reason": r.reason, "instead": r.instead} for r in plan.refusals],
        "approvals_needed": list(plan.approvals_needed),
    }
