"""Each rule speaks where its examples say, and nowhere else; its page is complete."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import permutations

import pytest

from schemaman.compat.judge import READERS, RULES, SEVERITIES, Example, Finding, Rule, judge_transition
from schemaman.compat.rules._kinds import TYPE_RULES
from schemaman.compat.rules._left_out import LEFT_OUT
from schemaman.model.diff import ChangeType
from schemaman.model.schema import Path
from tests.support.checkout import FIXTURES

ALL_RULES = RULES.load_all()
CATALOGUE, RULES_OF_THE_CATALOGUE = 148, 122
"""The rules of the catalogue of changes that are there; docs/rules.md names the others."""
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


def test_the_rules_are_there() -> None:
    assert set(RULES.names()) >= FIRST_RELEASE
    beyond = {
        "avro-incompatible", "decimal-to-integer", "emitted-name-changed", "floating-to-integer",
        "integer-to-decimal", "not-judged", "records-not-read", "statement-not-read",
    }  # fmt: skip
    assert len({*RULES.names()} - beyond) >= RULES_OF_THE_CATALOGUE
    assert LEFT_OUT.keys().isdisjoint(RULES.names())
    assert len({*RULES.names()} - beyond) + len(LEFT_OUT) == CATALOGUE


@each_rule
def test_a_rule_fires_exactly_where_its_examples_say_and_its_page_is_complete(rule: Rule) -> None:
    assert RULES.get(rule.name) is rule
    assert rule.family is not None
    assert re.fullmatch("[a-z].*[^.]", rule.title)
    first, *parts = rule.page.strip().split("\n\n")
    assert re.fullmatch(r"[A-Z].*\.", first)
    starts = [part.split(":")[0] for part in parts]
    assert starts == ["What happened", "Why it hurts", "What to do", "Sources"]
    misses = [e for e in rule.examples if not e.fires]
    assert len(rule.examples) > len(misses) >= 2
    for example in rule.examples:
        assert bool(example.why) != bool(example.fires)
        check_example(rule, example)


def check_example(rule: Rule, example: Example) -> None:
    """The rule fires at the paths of the example; a near miss names the rule that fires instead."""
    transition = example.build_transition()
    judged = judge_transition(transition, ALL_RULES)
    found: Iterable[Finding] = rule.check(transition)
    if rule.last_resort is not None:
        found = [f for f in judged if f.rule == rule.name]
    fired: list[Path] = []
    for finding in found:
        fired.append(finding.path)
        assert finding.rule == rule.name
        assert finding.verdicts
        assert set(finding.verdicts) <= set(READERS)
        assert finding.fixes
        assert "\n" not in finding.message
        assert finding.before in finding.message or finding.after in finding.message or finding.path
    assert tuple(fired) == example.fires, example
    instead = {f.rule for owner in judged for f in (owner, *owner.claimed)}
    named = {word for word in re.findall(r"[a-z]+(?:-[a-z]+)+", example.why) if word in RULES.names()}
    assert named <= instead, example
    assert rule.name not in named


TYPES = (
    "BOOLEAN", "TINYINT", "SMALLINT UNSIGNED", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED",
    "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(12,2)", "DECIMAL(12,4)", "DECIMAL(20,0)", "NUMERIC",
    "STRING", "VARCHAR(10)", "VARCHAR(20)", "CHAR(10)", "BINARY", "BINARY(16)", "BITS(1)", "BITS(8)",
    "BITS(9)", "DATE", "TIME(3)", "TIME(6)", "TIMETZ(6)", "TIMESTAMP_NTZ(3)", "TIMESTAMP_NTZ(4)",
    "TIMESTAMP_NTZ(6)",
    "TIMESTAMP(3)", "TIMESTAMP(6)", "INTERVAL", "INTERVAL DAY TO SECOND", "UUID", "JSON", "XML",
    "ENUM('a','b')", "ENUM('b','a')", "ENUM('a','b','c')", "ENUM('a','x')", "SET('a')", "SET('a','b')",
    "ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT>", "UNION<INT, STRING>", "UNION<BOOLEAN, INT, STRING>",
    "STRUCT<wkb: BINARY, srid: INT>", "UNION<ARRAY<INT>, INT>", "UNION<INT, STRUCT<x: INT>>",
    "UNKNOWN('box')", "UNKNOWN('circle')",
)  # fmt: skip
"""Types of each kind, and of each kind some that differ in a limit, a unit, a zone or a label."""

EXOTIC = {
    "BITS": {"numbers", "texts", "BINARY", "times", "INTERVAL"},
    "BOOLEAN": {"FLOAT", "DOUBLE", "DECIMAL", "NUMERIC", "texts", "BINARY", "times", "INTERVAL"},
    "BINARY": {"numbers", "times", "INTERVAL"},
    "clocks": {"moments"},
    "times": {"INTERVAL"},
    "UNKNOWN": {"anything"},
}
"""Pairs of kinds without a rule of their own, which `not-judged` reports, in one of both directions."""


def kinds_of(type: str) -> set[str]:
    word = re.split(r"[ (<]", type)[0]
    groups = {
        "numbers": {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "NUMERIC"},
        "texts": {"STRING", "VARCHAR", "CHAR", "UUID", "JSON", "XML", "ENUM", "SET"},
        "times": {"DATE", "TIME", "TIMETZ", "TIMESTAMP_NTZ", "TIMESTAMP"},
        "clocks": {"TIME", "TIMETZ"},
        "moments": {"DATE", "TIMESTAMP_NTZ", "TIMESTAMP"},
    }
    return {word, "anything"} | {group for group, words in groups.items() if word in words}


def is_exotic(old: str, new: str) -> bool:
    both = kinds_of(old), kinds_of(new)
    if "UNION" in both[0] | both[1]:
        return False
    return any(
        kind in one and others & other for kind, others in EXOTIC.items() for one, other in (both, both[::-1])
    )


PLACES = ("a {}", "s STRUCT<a: {}>", "a ARRAY<{}>", "a MAP<STRING, {}>")
OF_FACTS = {"binary-encoding-changed", "id-type-changed", "numeric-kind-widened"}
"""Rules about a change of type that the types alone do not show."""


def test_one_change_of_a_type_has_exactly_one_rule() -> None:
    ordinary = [rule for rule in ALL_RULES if rule.last_resort is None and rule.name in TYPE_RULES]
    fired: set[str] = set()
    for place in PLACES:
        for old, new in permutations(TYPES, 2):
            transition = Example(place.format(old), place.format(new)).build_transition()
            told = [f for rule in ordinary for f in rule.check(transition)]
            fired.update(f.rule for f in told)
            for change in transition.changes:
                if isinstance(change, ChangeType):
                    rules = [f.rule for f in told if f.path == change.path]
                    assert len(rules) == (not is_exotic(old, new)), (place, old, new, rules)
    assert fired == set(TYPE_RULES) - OF_FACTS - {"map-key-type-changed"}


def test_one_change_of_a_key_type_is_one_finding() -> None:
    for old, new in permutations([t for t in TYPES if "<" not in t][::2], 2):
        keyed = Example(f"a {old} NOT NULL, PRIMARY KEY (a)", f"a {new} NOT NULL, PRIMARY KEY (a)")
        plain = Example(f"a {old} NOT NULL", f"a {new} NOT NULL")
        found = judge_transition(keyed.build_transition(), ALL_RULES)
        assert len(found) == 1, (old, new, found)
        finding = found[0]
        (other,) = judge_transition(plain.build_transition(), ALL_RULES)
        assert finding.rule in ("key-column-type-changed", other.rule)
        for reader, verdict in other.verdicts.items():
            assert SEVERITIES.index(finding.verdicts[reader]) >= SEVERITIES.index(verdict)


def test_a_change_of_the_key_of_a_map_has_exactly_one_rule() -> None:
    for old, new in permutations(["INT", "BIGINT", "STRING", "UUID", "DATE", "DECIMAL(10,2)"], 2):
        for place in ("m MAP<{}, INT>", "m ARRAY<MAP<{}, INT>>", "m MAP<STRUCT<x: {}>, INT>"):
            transition = Example(place.format(old), place.format(new)).build_transition()
            assert [f.rule for f in judge_transition(transition, ALL_RULES)] == ["map-key-type-changed"]


def test_a_change_and_its_reverse_are_both_told(bless: bool) -> None:
    """The mirror of each rule: what the examples that fire say when they are read backwards."""
    mirrors: dict[str, set[str]] = {}
    for rule, _, example in all_examples():
        if not example.fires or not example.old or not example.new or example.old == example.new:
            continue
        back = {new: old for old, new in example.renames.items()}
        pairs = tuple(replace(c, old=c.new, new=c.old) for c in example.candidates)
        reverse = replace(
            example, old=example.new, new=example.old, renames=back, candidates=pairs, unconfirmed=()
        )
        findings = judge_transition(reverse.build_transition(), ALL_RULES)
        assert findings, (rule.name, example)
        mirrors.setdefault(rule.name, set()).update(f.rule for f in findings)
    text = "".join(f"{name}: {', '.join(sorted(mirrors[name]))}\n" for name in sorted(mirrors))
    golden = FIXTURES / "rules" / "mirrors.txt"
    if bless:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_rule_looks_at_every_example(bless: bool) -> None:
    """What all rules say to all examples, so that a rule which speaks too much is seen."""
    lines: list[str] = []
    for rule, number, example in all_examples():
        after = example.new or ", then ".join(["no table", *filter(None, [example.successor])])
        lines.append(f"{rule.name} {number}: {example.old or 'no table'}  ->  {after}")
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
