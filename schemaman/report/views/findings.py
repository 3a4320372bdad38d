"""Builds findings as notices, the gate's verdict as a report, and the page of a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from schemaman.compat.gate import UNREAD, CheckResult, GateVerdict
from schemaman.compat.impact.graph import Coverage
from schemaman.compat.judge import READERS, RULES, SEVERITIES, Finding, Rule, Severity
from schemaman.compat.waivers import Waiver
from schemaman.history.versions import Disagreement
from schemaman.model.schema import TableId
from schemaman.model.shell import PROGRAM, build_command, join_words
from schemaman.report.document import (
    Block,
    FactsBlock,
    Gate,
    Grid,
    Heading,
    Inline,
    Issue,
    Notice,
    Paragraph,
    Report,
    RulePage,
    Text,
    Tone,
)
from schemaman.report.json import changes as documents
from schemaman.report.json.impact import build_coverage
from schemaman.report.views import words
from schemaman.report.views.impact import build_affected_facts, build_coverage_line
from schemaman.report.views.table_changes import JudgedFinding

_VERDICT_TONES: Mapping[GateVerdict, Tone] = {"pass": "good", "fail": "break", "unknown": "danger"}


def build_finding_notice(judged: JudgedFinding) -> Notice:
    """Builds the notice of a finding: before and after, affected readers, and what to do.

    A waived finding is a note with its waiver.
    """
    finding = judged.finding
    path = ".".join((str(finding.table), *finding.path))
    step = f"{path}  {_format_step(judged)}" if finding.new_ref else path
    facts: list[tuple[str, Inline]] = []
    if finding.before or finding.after:
        before = Text(finding.before or "absent", code=bool(finding.before))
        after = Text(finding.after or "absent", code=bool(finding.after))
        facts.append(("change", (before, Text(" → "), after)))
    hurt = [f"{r} {finding.verdicts[r]}" for r in READERS if r in finding.verdicts]
    if hurt:
        facts.append(("affects", (Text(", ".join(hurt)),)))
    facts += build_affected_facts(judged.affected)
    if finding.witness:
        facts.append(("example", (Text(finding.witness),)))
    facts += [("evidence", (Text(line),)) for line in finding.evidence]
    facts += [("fix", _split_fix(fix, finding.commands)) for fix in finding.fixes]
    facts.append(("more", (Text(build_explain_command(finding), code=True),)))
    tone = words.SEVERITY_TONES[judged.severity]
    issue = Issue(str(finding.table), finding.path, finding.fingerprint, tone)
    if (waiver := judged.waiver) is not None:
        text = f"until {waiver.expires} by {waiver.owner}: {waiver.reason}"
        facts.insert(0, ("waived", (Text(text),)))
        tone = words.SEVERITY_TONES["note"]
        issue = replace(issue, waiver=text)
    return Notice(
        title=finding.rule,
        tone=tone,
        place=step,
        message=finding.message,
        facts=tuple(facts),
        anchor=judged.anchor,
        file=finding.file,
        line=finding.line,
        issue=issue,
    )


def build_explain_command(finding: Finding) -> str:
    """Build the command that explains a finding, with the arguments of the check that finds it again."""
    return join_words((PROGRAM, "explain", finding.fingerprint, *finding.arguments))


def _split_fix(fix: str, commands: Iterable[str]) -> Inline:
    """Split a fix into words and the command at its end, if it has one."""
    command = next((c for c in commands if fix.endswith(c)), "")
    if not command:
        return (Text(fix),)
    before = fix[: -len(command)]
    return (*((Text(before),) if before else ()), Text(command, code=True))


def build_check_report(
    judged: Sequence[JudgedFinding],
    result: CheckResult,
    fail_on: Severity,
    waivers: Mapping[str, Waiver] | None = None,
    command: str = "schemaman check",
) -> Report:
    """Build the report of `check`: every finding, a summary line, and tables without a snapshot.

    `waivers` are the valid waivers by fingerprint. `command` is the command line of this check.
    """
    judged = [replace(j, waiver=(waivers or {}).get(j.finding.fingerprint)) for j in judged]
    waived = {j.finding.fingerprint: j.waiver for j in judged if j.waiver is not None}
    data = documents.build_check(
        ((j.finding, j.severity) for j in judged),
        result.verdict,
        tables=[str(t) for t in result.tables],
        unaccepted=[str(t) for t in result.unaccepted],
        remarks=result.remarks,
        waiver_remarks=result.waiver_remarks,
        waivers=waived,
        affected={j.finding.fingerprint: j.affected for j in judged},
    )
    notices = [build_judged_notice(j, fail_on) for j in judged]
    notices += (_build_baseline_notice(table, fail_on) for table in result.without_baseline)
    notices += (build_remark_notice(found, str(table), fail_on) for table, found in result.remarks)
    notices += (Notice("waiver", words.SEVERITY_TONES["note"], "", r, ()) for r in result.waiver_remarks)
    notices += (Notice("consumer", words.SEVERITY_TONES["note"], "", r, ()) for r in result.consumer_remarks)
    blocks: list[Block] = [*notices]
    blocks.append(Paragraph(summarize_check(judged, result, fail_on, len(waived))))
    if (graph := result.readership.graph).coverage != Coverage():
        data["impact"] = build_coverage(graph)
        blocks.append(Paragraph(build_coverage_line(graph)))
    if others := [t for t in result.unaccepted if t not in result.without_baseline]:
        listed = ", ".join(str(t) for t in others)
        text = f"without a snapshot, so only the current schema was checked: {listed}"
        blocks.append(Paragraph((Text(text), Text("; schemaman accept TABLE writes a snapshot", "muted"))))
    tables = tuple(str(table) for table in result.tables)
    gate = Gate(result.verdict, tables, build_rule_pages(judged), command)
    return Report("check", tuple(blocks), dict(data), gate)


def build_rule_pages(judged: Iterable[JudgedFinding]) -> tuple[RulePage, ...]:
    """Build the pages of the rules of findings, by name; a rule that is not installed has none."""
    names = {j.finding.rule for j in judged if j.finding.rule in RULES}
    return tuple(
        RulePage(
            rule.name, rule.title, "\n\n".join(_list_paragraphs(rule)), _find_tone(rule.verdicts.values())
        )
        for rule in map(RULES.get, sorted(names))
    )


def _find_tone(verdicts: Iterable[Severity]) -> Tone:
    """Return the tone of the worst verdict."""
    return words.SEVERITY_TONES[max(verdicts, key=SEVERITIES.index, default="off")]


def _is_failing(severity: Severity, fail_on: Severity) -> bool:
    return fail_on != "off" and SEVERITIES.index(severity) >= SEVERITIES.index(fail_on)


def _build_baseline_notice(table: TableId, fail_on: Severity) -> Notice:
    """Builds the notice of a table that the user named and that has no baseline."""
    message = "the baseline does not contain this table: only its current schema was checked, not its changes"
    fix = (Text(build_command(("accept",), (str(table),)), code=True), Text(", and commit the file"))
    tone = words.SEVERITY_TONES["danger"]
    issue = Issue(str(table), (), "", tone, fails=_is_failing("danger", fail_on))
    return Notice("no baseline", tone, str(table), message, (("fix", fix),), issue=issue)


def build_remark_notice(found: Disagreement, subject: str = "", fail_on: Severity = "off") -> Notice:
    """Builds the notice of a remark: what the records do not decide or do not carry."""
    subject_and_versions = f"{subject}  version {', '.join(map(str, found.versions))}".strip()
    tone = words.SEVERITY_TONES["note"]
    issue = Issue(subject, (), "", tone, fails=_is_failing("note", fail_on))
    return Notice(found.kind, tone, subject_and_versions, found.message, issue=issue)


def build_explain_report(judged: JudgedFinding, rule: Rule) -> Report:
    """Build the report of `explain`: the finding, then the page of its rule."""
    data = documents.build_explain(judged.finding, judged.severity, rule, judged.affected, judged.waiver)
    shown = FactsBlock(tuple((w.reader, (Text(w.sentence),)) for w in judged.finding.counterexamples))
    blocks = (build_finding_notice(judged), *((shown,) if shown.rows else ()), *build_rule_blocks(rule))
    return Report(judged.finding.rule, blocks, dict(data))


def build_rules_report(catalogue: Sequence[Rule], *, whole: bool) -> Report:
    """Build the report of `rules`: one line a rule, or the page of each rule if `whole`."""
    data = documents.build_rules(catalogue)
    if whole:
        return Report("Rules", tuple(b for rule in catalogue for b in build_rule_blocks(rule)), dict(data))
    rows = tuple(
        ((Text(rule.name, code=True),), (Text(rule.title),), (Text(_list_verdicts(rule), "muted"),))
        for rule in catalogue
    )
    caption = f"{words.format_count(len(rows), 'rule')}; schemaman rules NAME prints the page of one"
    return Report("Rules", (Grid(caption, ("rule", "what happened", "affects"), rows),), dict(data))


def _list_verdicts(rule: Rule) -> str:
    return (
        ", ".join(f"{r} {rule.verdicts[r]}" for r in READERS if r in rule.verdicts) or "no reader by itself"
    )


def build_rule_blocks(rule: Rule) -> tuple[Block, ...]:
    """The page of a rule: its title, and each paragraph of its docstring."""
    return (
        Heading(f"{rule.name}: {rule.title}", 3),
        *(Paragraph((Text(text),)) for text in _list_paragraphs(rule)),
        Paragraph((Text(f"Affects: {_list_verdicts(rule)}."),)),
    )


def _list_paragraphs(rule: Rule) -> list[str]:
    return [" ".join(part.split()) for part in rule.page.split("\n\n") if part.strip()]


def _format_step(judged: JudgedFinding) -> str:
    old, new = judged.finding.old_ref, judged.finding.new_ref
    return f"{old.rpartition('@')[2]} → {new.rpartition('@')[2]}" if "@" in old and "@" in new else new


def build_judged_notice(judged: JudgedFinding, fail_on: Severity) -> Notice:
    """Builds the notice of a finding of a check: as `build_finding_notice`, and whether the gate fails."""
    notice = build_finding_notice(judged)
    if judged.waiver is not None or notice.issue is None:
        return notice
    fails = _is_failing(judged.severity, fail_on)
    is_unknown = judged.finding.rule == UNREAD and judged.severity != "off" and fail_on != "off" and not fails
    return replace(notice, issue=replace(notice.issue, fails=fails, is_unknown=is_unknown))


def summarize_check(
    judged: Sequence[JudgedFinding], result: CheckResult, fail_on: Severity, waived: int = 0
) -> Inline:
    """Describe the verdict of a check in a line; `waived` is the number of waived findings."""
    counts = [(s, sum(j.severity == s for j in judged)) for s in ("break", "danger", "note", "off")]
    parts = [", ".join(f"{number} {severity}" for severity, number in counts if number)]
    if waived:
        parts.append(f"{waived} waived")
    if result.without_baseline:
        parts.append(f"{words.format_count(len(result.without_baseline), 'table')} without baseline")
    if result.remarks:
        parts.append(words.format_count(len(result.remarks), "remark"))
    found = ", ".join(part for part in parts if part) or "no findings"
    changes = words.format_count(result.steps, "schema change")
    tables = words.format_count(len(result.tables), "table")
    verdict = Text(result.verdict, _VERDICT_TONES[result.verdict])
    return (verdict, Text(f" · {found} · {changes} in {tables} · --fail-on {fail_on}"))


def summarize_report(report: Report) -> str:
    """Return the first paragraph of a report as one line: the verdict of a check."""
    paragraphs = (block for block in report.blocks if isinstance(block, Paragraph))
    return "".join(text.text for paragraph in islice(paragraphs, 1) for text in paragraph.text)


def list_judged(result: CheckResult) -> Iterator[JudgedFinding]:
    """List the findings of a check with the consumers that they concern, and their waivers."""
    for finding, severity in result.findings:
        affected, waiver = result.readership.list_affected(finding), result.waivers.get(finding.fingerprint)
        yield JudgedFinding(finding, severity, affected, waiver)


def sort_by_severity(judged: Iterable[JudgedFinding]) -> tuple[JudgedFinding, ...]:
    """Sort findings by severity, table and path."""
    order = {"break": 0, "danger": 1, "note": 2, "off": 3}

    def sort_key(judged: JudgedFinding) -> tuple[int, str, tuple[str, ...], str]:
        finding = judged.finding
        return order[judged.severity], str(finding.table), finding.path, finding.rule

    return tuple(sorted(judged, key=sort_key))
