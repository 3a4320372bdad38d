"""The findings over all recordings: a reviewed list, no cause twice, and no break without a true change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from schemaman.compat.gate import check, list_all_steps
from schemaman.compat.judge import RULES, Finding, Transition, judge_transition, rate_finding
from schemaman.compat.snapshots import take_snapshot
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import TableHistory
from tests.support import chain
from tests.support.checkout import FIXTURES
from tests.support.findings import FAMILIES, find_repeated
from tests.truth.compare import TypeOf, last_mark, true_table
from tests.truth.scoreboard import recordings, records_of, truth_of, type_of
from tests.truth.tables import TrueTable
from tests.truth.truth import place_of

ALL_RULES = RULES.load_all()
RUNS = recordings()
STEPPED = [run for run in RUNS if not run.startswith("mongodb/") and "/documented" not in run]
"""The recordings whose truth is a list of steps."""
OF_EVENTS = {
    "avro-name-collision", "connector-major-upgrade", "emitted-name-changed", "name-adjustment-changed",
    "record-name-changed", "routing-changed", "table-truncated", "table-renamed", "field-type-conflict",
    "field-type-drift",
}  # fmt: skip
"""Rules about events or whole tables, of which the catalogue of the database tells nothing."""
Change = tuple[str, str]
"""What changed, and the column; empty for the key and the table."""


@cache
def judge_recording(run: str) -> tuple[tuple[Finding, str], ...]:
    """The findings of the gate since the first structure of each table, with severities."""
    histories = chain.histories(run)
    kept = {h.table: replace(take_snapshot(h, h.versions[0], 0), occurrences=0) for h in histories}
    return check(histories, kept, ALL_RULES).findings


def write_line(finding: Finding, severity: str) -> str:
    """One line of the list: where, how severe, what, and what it takes along."""
    steps = "→".join(ref.rpartition("@")[2] for ref in (finding.old_ref, finding.new_ref))
    where = ".".join((*finding.table.parts[-2:], *finding.path))
    claimed = Counter(f.rule for f in finding.claimed)
    also = ", ".join(f"{rule} ×{n}" if n > 1 else rule for rule, n in claimed.items())
    text = f"{where} {steps} {severity} {finding.rule}: {finding.before or '∅'} → {finding.after or '∅'}"
    return f"{text} [{also}]" if also else text


def test_the_findings_of_all_recordings_are_reviewed(bless: bool) -> None:
    """Recordings with the same findings share them, so that a reviewer reads each once."""
    runs: dict[str, list[str]] = {}
    for run in RUNS:
        text = "\n".join(sorted(write_line(*pair) for pair in judge_recording(run)))
        runs.setdefault(text, []).append(run)
    text = "\n".join(f"# {', '.join(names)}\n{lines}\n" for lines, names in runs.items() if lines)
    golden = FIXTURES / "rules" / "recordings.txt"
    if bless:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("run", RUNS)
def test_no_cause_is_told_twice(run: str) -> None:
    found = judge_recording(run)
    assert [n for n in Counter((f.fingerprint, f.new_ref) for f, _ in found).values() if n > 1] == []
    for history in chain.histories(run):
        for step in list_all_steps(history):
            judged = judge_transition(step, ALL_RULES)
            assert find_repeated(step, judged) == set(), [f.message for f in judged]
            if step.changes:
                assert judged or step.old is None, step


@pytest.mark.parametrize("run", STEPPED)
def test_each_break_has_a_true_change(run: str) -> None:
    false = [
        write_line(finding, "break")
        for history in chain.histories(run)
        for step in list_all_steps(history)
        for finding in judge_transition(step, ALL_RULES)
        if rate_finding(finding) == "break" and finding.rule not in OF_EVENTS
        if not is_true(finding, step, set(list_true_changes(run, history, step)))
    ]
    assert false == []


def is_true(finding: Finding, step: Transition, changes: set[Change]) -> bool:
    """Whether the database says that the table, the key or the column changed."""
    if ("table", "") in changes or step.new is None:
        return True
    if finding.rule in ("table-recreated", "table-swapped"):
        return False
    subjects = {finding.path[0] if finding.path else "", *(f.path[0] for f in finding.claimed if f.path)}
    if FAMILIES[finding.rule] == "keys" and ("key", "") in changes:
        return True
    return any(name in subjects for _, name in changes)


def list_true_changes(run: str, history: TableHistory, step: Transition) -> Iterator[Change]:
    """What the database says that changed between two structures, where they began or were last seen."""
    truth, facts = truth_of(run), records_of(run)
    marks: list[set[Coordinates]] = []
    for ref in (step.old_ref, step.new_ref):
        found = [
            (v, r) for v in history.versions for r in v.revisions if ref.endswith(f"@{v.format_number(r)}")
        ]
        marks.append({m for v, r in found for m in (r.at, v.proven_from or r.at, last_mark(v))})
    tables: list[list[TrueTable | None]] = [
        [
            true_table(truth.at(fact), history.table)
            for mark in sorted(found, key=place_of)
            if (fact := facts.get(place_of(mark))) is not None
        ]
        for found in marks
    ]
    for old in tables[0]:
        for new in tables[1]:
            yield from compare_tables(old, new, type_of(run))


def compare_tables(old: TrueTable | None, new: TrueTable | None, types: TypeOf) -> Iterator[Change]:
    """What differs between two tables as the database describes them."""
    if old is None or new is None or old.identity != new.identity:
        yield ("table", "")
        return
    numbered = any(c.number for c in old.columns)
    before, after = ({c.number if numbered else c.name: c for c in t.columns} for t in (old, new))
    for number in before.keys() | after.keys():
        one, other = before.get(number), after.get(number)
        if one is None or other is None or one.name != other.name:
            yield from (("column", column.name) for column in (one, other) if column is not None)
        elif types(one) != types(other) or one.labels != other.labels:
            yield ("type", one.name)
        elif (one.nullable, one.default) != (other.nullable, other.default):
            yield ("column", one.name)
    if old.key != new.key:
        yield ("key", "")
