"""Each rule speaks where its examples say, and nowhere else; its page is complete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import pytest

from schemaman.compat.judge import READERS, RULES, Example, Finding, Rule, judge_transition
from schemaman.model.schema import Path
from tests.support.checkout import FIXTURES

ALL_RULES = RULES.load_all()
FIRST_RELEASE = {
    "avro-name-collision",
    "became-required",
    "column-added-required",
    "column-dropped",
    "column-rename-suspected",
    "column-renamed",
    "decimal-scale-changed",
    "integer-narrowed",
    "key-column-added",
    "key-column-removed",
    "table-dropped",
    "temporal-unit-changed",
}
each_rule = pytest.mark.parametrize("rule", ALL_RULES, ids=lambda r: r.name)


def all_examples() -> Iterator[tuple[Rule, int, Example]]:
    for rule in ALL_RULES:
        for number, example in enumerate(rule.examples, start=1):
            yield rule, number, example


def test_the_twelve_rules_are_there() -> None:
    assert set(RULES.names()) >= FIRST_RELEASE


@pytest.mark.parametrize("name", RULES.names())
def test_the_file_is_called_as_the_rule(name: str) -> None:
    assert RULES.get(name).name == name


@each_rule
def test_a_page_says_what_why_what_to_do_and_where_from(rule: Rule) -> None:
    first, *parts = rule.page.strip().split("\n\n")
    assert re.fullmatch(r"[A-Z].*\.", first)
    starts = [part.split(":")[0] for part in parts]
    assert starts == ["What happened", "Why it hurts", "What to do", "Sources"]
    assert rule.title
    assert rule.title[0].islower()


@each_rule
def test_a_rule_has_an_example_and_two_near_misses(rule: Rule) -> None:
    misses = [e for e in rule.examples if not e.fires]
    assert len(rule.examples) > len(misses) >= 2
    assert all(e.why for e in misses)
    assert not any(e.why for e in rule.examples if e.fires)


@pytest.mark.parametrize(
    ("rule", "example"), [pytest.param(r, e, id=f"{r.name}-{n}") for r, n, e in all_examples()]
)
def test_a_rule_fires_exactly_where_its_example_says(rule: Rule, example: Example) -> None:
    fired: list[Path] = []
    transition = example.build_transition()
    found: Iterable[Finding] = rule.check(transition)
    if rule.last_resort is not None:
        found = [f for f in judge_transition(transition, ALL_RULES) if f.rule == rule.name]
    for finding in found:
        fired.append(finding.path)
        assert finding.rule == rule.name
        assert set(finding.verdicts) <= set(READERS)
        assert finding.verdicts
        assert finding.fixes
        assert "\n" not in finding.message
        assert finding.before in finding.message or finding.after in finding.message or finding.path
    assert tuple(fired) == example.fires


def test_every_rule_looks_at_every_example(bless: bool) -> None:
    """What all rules say to all examples, so that a rule which speaks too much is seen."""
    lines: list[str] = []
    for rule, number, example in all_examples():
        lines.append(f"{rule.name} {number}: {example.old or 'no table'}  ->  {example.new or 'no table'}")
        for finding in judge_transition(example.build_transition(), ALL_RULES):
            verdicts = ", ".join(f"{r} {finding.verdicts[r]}" for r in READERS if r in finding.verdicts)
            lines.append(f"    {finding.rule} {'.'.join(finding.path) or '(table)'}: {verdicts}")
            lines.append(f"        {finding.message}")
            lines += [f"        witness: {finding.witness}"] * (finding.witness is not None)
            lines += [f"        evidence: {told}" for told in finding.evidence]
    text = "\n".join(lines) + "\n"
    golden = FIXTURES / "rules" / "fired.txt"
    if bless:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
