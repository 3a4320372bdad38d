"""What programs read of a check: valid by the rules of each format, within its limits, whatever a name is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt

from schemaman.compat.gate import CheckResult, GateVerdict
from schemaman.compat.judge import Severity
from schemaman.compat.waivers import Waiver
from schemaman.history.versions import Disagreement
from schemaman.model.printable import escape_invisible
from schemaman.model.schema import TableId
from schemaman.report.document import FORMATS, Notice, Report
from schemaman.report.formats import markdown, sarif
from schemaman.report.views.findings import build_check_report
from schemaman.report.views.overview import build_report
from schemaman.report.views.table_changes import JudgedFinding
from tests.support.hostile_names import HOSTILE
from tests.support.report_example import ORDERS, judged, orders_story

STOCK = TableId("shop", "app", "public", "stock")
SEVERITIES: tuple[Severity, ...] = ("break", "danger", "note", "off")


def make_report(
    name: str = "sku", many: int = 1, fail_on: Severity = "break", path: str = "schemas/orders.json"
) -> Report:
    """A check with findings of each severity, one of them waived and one of a file, and with a remark."""
    orders, stock = (replace(table, table=f"{table.table}{name}") for table in (ORDERS, STOCK))
    dropped, scaled, renamed = judged(orders)
    found = [
        replace(dropped, finding=replace(dropped.finding, path=(f"{name}{n}",), message=f"{name} is gone"))
        for n in range(many)
    ]
    found[0] = replace(found[0], finding=replace(found[0].finding, file=path, line=7))
    found += [scaled, renamed, JudgedFinding(replace(renamed.finding, before=name), "note")]
    waivers = {scaled.finding.fingerprint: Waiver("", "", "", name, name, date(2026, 12, 1))}
    result = CheckResult(
        "fail",
        tuple((each.finding, each.severity) for each in found),
        (orders, stock),
        3,
        without_baseline=(orders,),
        remarks=((orders, Disagreement("lossy", (2,), name, ())),),
        waiver_remarks=(name,),
        fail_on=fail_on,
    )
    return build_check_report(found, result, fail_on, waivers)


def count_notices(report: Report) -> int:
    return sum(isinstance(block, Notice) for block in report.blocks)


def validate(schema: dict[str, Any], document: object) -> None:
    Draft202012Validator(schema).validate(document)


def closed(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": required | optional,
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}
MESSAGE = closed({"text": TEXT})
COUNT = {"type": "integer", "minimum": 1}
URI = {"type": "string", "pattern": r"^[A-Za-z0-9._~/%!$&'()*+,;=:@-]+$"}
LEVEL = {"enum": ["error", "warning", "note", "none"]}
NOTIFICATION = closed({"level": LEVEL, "message": MESSAGE})
SARIF_INVOCATION = closed(
    {"executionSuccessful": {"type": "boolean"}},
    exitCode={"type": "integer"},
    toolExecutionNotifications={"type": "array", "items": NOTIFICATION},
)
SARIF = closed(
    {
        "$schema": TEXT,
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": closed(
                {
                    "tool": closed({"driver": closed({"name": TEXT, "rules": {"type": "array"}})}),
                    "automationDetails": closed({"id": TEXT}),
                    "invocations": {"type": "array", "minItems": 1, "items": SARIF_INVOCATION},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"type": "array"},
                }
            ),
        },
    }
)
"""What the OASIS schema requires of the parts that are written here, and no member beside them.

Source: OASIS, `sarif-schema-2.1.0.json`, whose objects allow no other members, either.
"""
SARIF_RULE = closed(
    {
        "id": TEXT, "name": TEXT, "shortDescription": MESSAGE, "fullDescription": MESSAGE, "help": MESSAGE,
        "defaultConfiguration": closed({"level": LEVEL}), "properties": {"type": "object"},
    }
)  # fmt: skip
SARIF_LOCATION = closed(
    {
        "physicalLocation": closed(
            {
                "artifactLocation": closed({"uri": URI, "uriBaseId": {"const": "%SRCROOT%"}}),
                "region": closed({"startLine": COUNT}),
            }
        )
    },
    logicalLocations={
        "type": "array",
        "items": closed({"name": TEXT, "fullyQualifiedName": TEXT, "kind": {"enum": ["type", "member"]}}),
    },
)
SUPPRESSION = closed(
    {"kind": {"const": "external"}, "status": {"const": "accepted"}, "justification": {"type": "string"}}
)
SARIF_RESULT = closed(
    {
        "ruleId": TEXT, "ruleIndex": {"type": "integer", "minimum": 0}, "level": LEVEL, "message": MESSAGE,
        "kind": {"enum": ["fail", "informational"]},
        "locations": {"type": "array", "minItems": 1, "items": SARIF_LOCATION},
        "partialFingerprints": {"type": "object", "additionalProperties": TEXT},
        "suppressions": {"type": "array", "items": SUPPRESSION},
    }
)  # fmt: skip
RELATIVE = {"type": "string", "pattern": "^[^/.]"}
GITLAB = {
    "type": "array",
    "items": closed(
        {
            "description": TEXT, "check_name": TEXT, "fingerprint": TEXT,
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": closed({"path": RELATIVE, "lines": closed({"begin": COUNT})}),
        }
    ),
}  # fmt: skip


def read_sarif(text: str, report: Report) -> Any:
    document = json.loads(text)
    validate(SARIF, document)
    (run,) = document["runs"]
    validate({"type": "array", "items": SARIF_RULE, "uniqueItems": True}, run["tool"]["driver"]["rules"])
    validate({"type": "array", "items": SARIF_RESULT}, run["results"])
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    assert not [r for r in run["results"] if re.search(r"(?<!\\)]\(", r["message"]["text"])]
    assert len(run["results"]) == count_notices(report)
    return run


def read_junit(text: str, report: Report) -> ElementTree.Element:
    """Source of the rules: jenkinsci/xunit-plugin, `junit-10.xsd`."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    assert [*root.keys()] == ["name", "tests", "failures", "errors"]
    for suite in root:
        assert suite.tag == "testsuite"
        assert suite.keys() == ["name", "tests", "failures", "errors", "skipped"]
        cases = suite.findall("testcase")
        assert len(cases) == len(suite) == int(suite.get("tests", ""))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures", ""))
        assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped", ""))
        for case in cases:
            assert case.keys() == ["name", "classname", "time"]
            assert [part.tag for part in case] in (["failure"], ["skipped", "system-out"], ["system-out"], [])
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(names) == len(set(names))
    return root


def read_gitlab(text: str, report: Report) -> Any:
    document = json.loads(text)
    validate(GITLAB, document)
    assert len({entry["fingerprint"] for entry in document}) == len(document) == count_notices(report)
    return document


def read_json_lines(text: str, report: Report) -> list[Any]:
    found = [json.loads(line) for line in text.splitlines()]
    data: Any = report.data["findings"]
    assert [finding | {"schema_version": 1} for finding in data] == found
    return found


def read_concise(text: str, report: Report) -> list[str]:
    lines = text.splitlines()
    assert len(lines) == count_notices(report)
    return lines


def read_markdown(text: str, report: Report) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    kinds = {t.type for token in tokens for t in (token, *(token.children or ()))}
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image", "heading_open"})
    assert "@org" not in re.sub(r"`[^`]*`", "", text)


def read_anything(text: str, report: Report) -> None:
    assert text


READERS: dict[str, Callable[[str, Report], object]] = {
    "sarif": read_sarif, "junit": read_junit, "gitlab": read_gitlab, "jsonl": read_json_lines,
    "concise": read_concise, "markdown": read_markdown, "json": lambda text, _: json.loads(text),
}  # fmt: skip
COMMANDS = {"github": "::", "azure": "##vso["}


@pytest.mark.parametrize("format", sorted(FORMATS.names()))
def test_a_hostile_name_is_only_text(format: str) -> None:
    """No name runs a command of a CI service, moves a cursor, or makes a file that its parser refuses."""
    for name in (*HOSTILE, "y" * 10_000):
        check_hostile_name(format, name)


def check_hostile_name(format: str, name: str) -> None:
    report = make_report(name, path=f"schemas/{name}.json")
    text = FORMATS.get(format).render(report)
    text.encode()
    assert all(ch == "\n" or escape_invisible(ch) == ch for ch in text)
    READERS.get(format, read_anything)(text, report)
    commands = [
        line
        for line in re.split("[\r\n]", text)
        if line.strip().startswith("::") or re.search(r"##\w*\[", line)
    ]
    beginning = COMMANDS.get(format, "-")
    assert all(line.startswith(beginning) and line.count("##") <= 1 for line in commands)
    assert len(commands) == {"github": 7, "azure": 4}.get(format, 0)


def test_a_waived_finding_and_a_remark_fail_nothing() -> None:
    report = make_report()
    run = read_sarif(FORMATS.get("sarif").render(report), report)
    assert [r["level"] for r in run["results"]].count("error") == 2
    (waived,) = [r for r in run["results"] if r["suppressions"]]
    assert (waived["level"], waived["ruleId"]) == ("error", "decimal-scale-changed")
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    assert run["invocations"][0]["exitCode"] == 1
    helps = {rule["id"]: rule["help"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert "Why it hurts" in helps["column-dropped"]
    root = read_junit(FORMATS.get("junit").render(report), report)
    assert (root.get("tests"), root.get("failures")) == ("8", "1")
    severities = [entry["severity"] for entry in read_gitlab(FORMATS.get("gitlab").render(report), report)]
    assert severities == ["critical", "info", "major", "minor", "major", "minor", "minor"]
    lines = FORMATS.get("concise").render(report).splitlines()
    assert lines[0].startswith("schemas/orders.json:7: break column-dropped shop.app.public.orderssku.sku0 ")
    assert lines[1].startswith("waived decimal-scale-changed ")


@pytest.mark.parametrize("fail_on", SEVERITIES)
def test_what_fails_is_what_reaches_the_threshold(fail_on: Severity) -> None:
    failures = {"break": 1, "danger": 3, "note": 5, "off": 0}[fail_on]
    report = make_report(fail_on=fail_on)
    assert read_junit(FORMATS.get("junit").render(report), report).get("failures") == str(failures)


@pytest.mark.parametrize("format", ["github", "azure"])
def test_what_a_step_does_not_show_is_a_line_of_its_log(format: str) -> None:
    lines = FORMATS.get(format).render(make_report(many=14)).splitlines()
    commands = [line for line in lines if line.startswith(COMMANDS[format])]
    assert sum("error" in line.partition("sku")[0] for line in commands) == 10
    assert any(line.startswith("4 more errors: a step shows 10") for line in lines)
    assert sum(line.startswith("break column-dropped ") for line in lines) == 4


@pytest.mark.parametrize("format", ["github", "azure"])
def test_a_message_is_no_longer_than_a_runner_forwards(format: str) -> None:
    report = make_report("😀" * 5_000)
    for line in FORMATS.get(format).render(report).splitlines():
        if line.startswith(COMMANDS[format]):
            message = re.sub(r"%0A", "\n", line.rpartition("::" if format == "github" else ";]")[2])
            assert len(message.encode("utf-16-le")) <= 2 * 4096


def test_a_comment_holds_whole_findings_and_names_the_command_for_the_rest() -> None:
    report = make_report(many=400)
    text = FORMATS.get("markdown").render(report)
    assert len(text) <= markdown.COMMENT_LIMIT
    assert text.startswith("✗ fail · 401 break")
    shown = text.count("✗ **break: column-dropped**")
    assert shown == text.count("sku is gone") > 100
    rest = 406 - shown
    assert text.splitlines()[-1].startswith(f"{rest} more findings do not fit here ({400 - shown} break, ")
    assert text.endswith("All of them: `schemaman check`\n")


def test_what_code_scanning_does_not_take_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 20)
    monkeypatch.setattr(sarif, "MOST_SHOWN", 10)
    run = json.loads(FORMATS.get("sarif").render(make_report(many=30)))["runs"][0]
    assert [r["level"] for r in run["results"]] == ["error"] * 20
    told = [n["message"]["text"] for n in run["invocations"][0]["toolExecutionNotifications"]]
    assert told[0] == "the 20 worst of 36 findings are here; all of them: schemaman check"
    assert told[1].startswith("GitHub shows the 10 worst of 36 findings")


def test_azure_ends_a_step_with_its_result() -> None:
    report = make_report()
    assert report.gate is not None
    results: dict[GateVerdict, str] = {"fail": "Failed", "unknown": "Failed", "pass": "SucceededWithIssues"}
    for verdict, result in results.items():
        each = replace(report, gate=replace(report.gate, verdict=verdict))
        assert (
            FORMATS.get("azure")
            .render(each)
            .splitlines()[-1]
            .startswith(f"##vso[task.complete result={result};]")
        )


def test_a_report_tells_a_finding_of_several_steps_once_and_the_newest_first() -> None:
    chapter = orders_story()
    first, second, *rest = chapter.stages
    (old, *_), (new, *_) = (stage.findings or judged() for stage in (first, second))
    twice = (replace(first, findings=(old, new)), replace(second, findings=(new, old)), *rest)
    story = replace(chapter, stages=twice)
    report = build_report([story])
    shown = [block.anchor for block in report.blocks if isinstance(block, Notice) and block.anchor]
    assert shown == [each.anchor for each in story.newest_findings]
    fingerprints = [each.finding.fingerprint for each in story.newest_findings]
    assert len(set(fingerprints)) == len(fingerprints) < len(story.findings)
    lines = map(json.loads, FORMATS.get("jsonl").render(report).splitlines())
    assert [line["fingerprint"] for line in lines] == fingerprints
