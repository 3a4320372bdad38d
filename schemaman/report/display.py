"""Shows values as reports in a notebook and with `print`: a history, a plan, a check, a schema."""

from __future__ import annotations

from functools import singledispatch

from schemaman.compat.gate import CheckResult
from schemaman.compat.impact.impact import Impact
from schemaman.compat.judge import RULES, Transition, judge_transition, rate_finding
from schemaman.history.versions import TableHistory
from schemaman.ingest.ingest import Summary
from schemaman.migration.apply.run import Migration
from schemaman.migration.digest import Digest
from schemaman.migration.plan import Plan
from schemaman.migration.plan_file import to_document
from schemaman.report.document import Report
from schemaman.report.formats.html import HtmlFormat
from schemaman.report.formats.text import TextFormat
from schemaman.report.views.digest import build_digest_report
from schemaman.report.views.findings import build_check_report, list_judged, sort_by_severity
from schemaman.report.views.impact import build_impact_report
from schemaman.report.views.ingest import build_ingest_report
from schemaman.report.views.listings import build_history_report, build_show_report
from schemaman.report.views.migrations import build_apply_report, build_plan_report
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman.resolve import ResolvedSchema


def render(value: object, format: str) -> str:
    """Render the report of a value as an HTML fragment (`html`) or as text (`text`)."""
    report = build_value_report(value)
    if format == "html":
        return HtmlFormat().render_fragment(report)
    return TextFormat().render(report).rstrip("\n")


@singledispatch
def build_value_report(value: object) -> Report:
    """Build the report of a value. Raises `TypeError` for a value without a report."""
    raise TypeError(f"{type(value).__name__} has no report")


@build_value_report.register
def _(history: TableHistory) -> Report:
    rules = RULES.load_all()

    def judge(transition: Transition) -> tuple[JudgedFinding, ...]:
        found = judge_transition(transition, rules)
        return tuple(JudgedFinding(finding, rate_finding(finding)) for finding in found)

    return build_history_report(build_chapter(history, judge))


@build_value_report.register
def _(resolved: ResolvedSchema) -> Report:
    return build_show_report(resolved)


@build_value_report.register
def _(result: CheckResult) -> Report:
    judged = sort_by_severity(list_judged(result))
    return build_check_report(judged, result, result.fail_on, result.waivers)


@build_value_report.register
def _(impact: Impact) -> Report:
    return build_impact_report(impact)


@build_value_report.register
def _(plan: Plan) -> Report:
    return build_plan_report([plan], to_document(plan))


@build_value_report.register
def _(migration: Migration) -> Report:
    return build_apply_report([migration])


@build_value_report.register
def _(digest: Digest) -> Report:
    return build_digest_report(digest)


@build_value_report.register
def _(summary: Summary) -> Report:
    return build_ingest_report(summary, stream="", engine="", sources=(), tables={})
