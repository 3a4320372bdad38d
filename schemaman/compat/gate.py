"""The gate: every step of a table since the baseline, judged; pass or fail.

Laws: nothing changed, nothing found; what a step does shows, even if a later one undoes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from schemaman.compat.judge import (
    LEVELS,
    READERS,
    SEVERITIES,
    Finding,
    Level,
    Reader,
    Rule,
    Severity,
    Transition,
    judge_transition,
    rate_finding,
)
from schemaman.compat.snapshots import Snapshot, remove_ids
from schemaman.compat.waivers import Waiver
from schemaman.errors import NoHistory, UnknownName
from schemaman.history.rename_detection import candidates
from schemaman.history.versions import (
    Disagreement,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
    left_open,
)
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeNullable, ChangeType, diff
from schemaman.model.display import DisplayedValue
from schemaman.model.schema import Path, TableId, TableSchema
from schemaman.model.types import without_labels

AVRO_READERS: tuple[Reader, ...] = ("avro-backward", "avro-forward")


@dataclass(frozen=True, slots=True)
class CheckResult(DisplayedValue):
    """What the gate found.

    `findings` with the severity that each has for the declared readers, in order of tables and
    steps. `tables` were looked at, `steps` judged; `unaccepted` are tables without baseline, whose
    present structure is judged by itself. `unjudged` are changes that no rule speaks of: nobody knows
    whom they hurt, which counts as danger. `without_baseline` are those of `unaccepted` that were asked for by
    name: the question was how they changed, and there is no answer, which counts as danger, too. `remarks`
    are what the records leave open or lose, of each table since its baseline, which counts as a note.
    `fail_on` is the mildest severity that fails; `waivers` are those that have not expired, by fingerprints.
    """

    verdict: Literal["pass", "fail"]
    findings: tuple[tuple[Finding, Severity], ...]
    tables: tuple[TableId, ...]
    steps: int
    unaccepted: tuple[TableId, ...] = ()
    unjudged: tuple[UnjudgedChange, ...] = ()
    without_baseline: tuple[TableId, ...] = ()
    remarks: tuple[tuple[TableId, Disagreement], ...] = ()
    fail_on: Severity = "break"
    waivers: Mapping[str, Waiver] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = Counter(severity for _, severity in self.findings)
        found = ", ".join(f"{counts[s]} {s}" for s in reversed(SEVERITIES) if counts[s]) or "no findings"
        return f"<CheckResult {self.verdict}: {found}, {self.steps} steps of {len(self.tables)} tables>"

    @property
    def passed(self) -> bool:
        """Whether nothing fails."""
        return self.verdict == "pass"


@dataclass(frozen=True, slots=True)
class UnjudgedChange:
    """A change that may hurt somebody and that no rule speaks of: another type, or NULL allowed."""

    table: TableId
    path: Path
    before: str
    after: str
    old_ref: str
    new_ref: str


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """Who reads and what counts: the declared readers, severities by rule name, what fails, the level.

    `level` is one of Avro's compatibility levels; None leaves it to the readers. `named` tells that
    somebody asked for these very tables; `waived` are fingerprints of findings that fail nothing.
    """

    readers: tuple[Reader, ...] = READERS
    overrides: Mapping[str, Severity] | None = None
    fail_on: Severity = "break"
    level: str | None = None
    named: bool = False
    waived: Collection[str] = ()

    def find_level(self) -> Level | None:
        """The level in question. Raises `UnknownName`."""
        if self.level is not None and self.level not in LEVELS:
            raise UnknownName(f"no compatibility level {self.level!r}; there are: {', '.join(LEVELS)}")
        return LEVELS[self.level] if self.level is not None else None


def check(
    histories: Iterable[TableHistory],
    baseline: Mapping[TableId, Snapshot],
    rules: Iterable[Rule],
    policy: GatePolicy | None = None,
) -> CheckResult:
    """Judges every step of the tables since their baseline.

    Args:
        histories: what is known of each table that is to be checked.
        baseline: the accepted structure of each table; one without history is an error.
        rules: those that are asked.
        policy: who reads; by default everybody, and a break fails.

    Raises:
        NoHistory: tables of the baseline of which nothing is known.
        UnknownName: no such level.
    """
    tables, all_rules = {h.table: h for h in histories}, tuple(rules)
    policy = policy or GatePolicy()
    level = policy.find_level()
    if missing := sorted(baseline.keys() - tables.keys()):
        raise NoHistory(
            f"nothing is known of {', '.join(map(str, missing))}, which the baseline names",
            hint="ingest the records of these tables, or remove their snapshots if they are no longer yours",
        )
    readers = _choose_readers(policy, level)
    findings: list[tuple[Finding, Severity]] = []
    unjudged: list[UnjudgedChange] = []
    remarks: list[tuple[TableId, Disagreement]] = []
    steps_judged = 0
    for table in sorted(tables):
        accepted = baseline.get(table)
        walked = list_steps(tables[table], accepted)
        steps_judged += len(walked)
        remarks += ((table, one) for one in _find_remarks(tables[table], accepted))
        unjudged += (u for step in walked for u in _find_unjudged(step, judge_transition(step, all_rules)))
        found = _collect_findings(walked, build_total(tables[table], accepted), all_rules)
        if level is not None and level.transitive:
            found += _drop_repeats(
                found,
                _restrict_to_avro(
                    judge_transition(t, all_rules) for t in compare_with_earlier(tables[table])
                ),
            )
        findings += ((f, rate_finding(f, readers, policy.overrides)) for f in found)
    grave = SEVERITIES.index(policy.fail_on)
    open_ones = [s for f, s in findings if f.fingerprint not in policy.waived]
    worst = max([SEVERITIES.index(s) for s in open_ones], default=0)
    unaccepted = tuple(t for t in sorted(tables) if t not in baseline)
    unmet = unaccepted if policy.named else ()
    worst = max(worst, SEVERITIES.index("danger") if unjudged or unmet else 0)
    worst = max(worst, SEVERITIES.index("note") if remarks else 0)
    return CheckResult(
        verdict="fail" if policy.fail_on != "off" and worst >= grave else "pass",
        findings=tuple(findings),
        tables=tuple(sorted(tables)),
        steps=steps_judged,
        unaccepted=unaccepted,
        unjudged=tuple(unjudged),
        without_baseline=unmet,
        remarks=tuple(remarks),
        fail_on=policy.fail_on,
    )


def list_transitions(history: TableHistory, baseline: Snapshot | None) -> tuple[Transition, ...]:
    """Every step since the baseline, and last the total, where there were several."""
    whole = build_total(history, baseline)
    return list_steps(history, baseline) if whole is None else (*list_steps(history, baseline), whole)


def list_steps(history: TableHistory, baseline: Snapshot | None) -> tuple[Transition, ...]:
    """Every version and revision since the baseline, each compared with the one before.

    Without a baseline the present structure is the only step. A baseline that the history does
    not hold is compared with the present structure by names.
    """
    if baseline is None:
        last = _Structure.of(history, history.latest, history.latest.revisions[-1])
        return (last.appeared(),) if not history.ended else ()
    return _compare_in_order(history, *_split_at_baseline(history, baseline))


def list_all_steps(history: TableHistory) -> tuple[Transition, ...]:
    """Every version and revision of a table compared with the one before, from its first structure on."""
    first, *rest = [_Structure.of(history, v, r) for v in history.versions for r in v.revisions]
    return _compare_in_order(history, first, rest)


def _compare_in_order(
    history: TableHistory, start: _Structure, rest: Iterable[_Structure]
) -> tuple[Transition, ...]:
    found: list[Transition] = []
    for stand in rest:
        if stand.incarnation == start.incarnation:
            found.append(start.to(stand))
        else:
            found += (start.gone(), stand.appeared())
        start = stand
    if history.ended:
        found.append(start.gone())
    return tuple(found)


def build_total(history: TableHistory, baseline: Snapshot | None) -> Transition | None:
    """From the baseline straight to the present; None where there are not several steps of one table."""
    if baseline is None or history.ended:
        return None
    start, rest = _split_at_baseline(history, baseline)
    if len(rest) < 2 or rest[-1].incarnation != start.incarnation:
        return None
    suspects = tuple(c for stand in rest for c in stand.version.candidates if stand.revision.number == 0)
    return replace(start.to(rest[-1]), candidates=suspects)


def compare_with_earlier(history: TableHistory) -> tuple[Transition, ...]:
    """From each earlier version of the living table straight to the present, newest first."""
    latest = _Structure.of(history, history.latest, history.latest.revisions[-1])
    earlier = [v for v in history.versions[:-1] if v.incarnation == latest.incarnation]
    return tuple(
        replace(_Structure.of(history, v, v.revisions[-1]).to(latest), candidates=())
        for v in reversed(earlier)
    )


@dataclass(frozen=True, slots=True)
class _Structure:
    """A structure of a table at one moment of its history."""

    history: TableHistory
    version: SchemaVersion
    revision: Revision
    ref: str
    schema: TableSchema

    @staticmethod
    def of(history: TableHistory, version: SchemaVersion, revision: Revision) -> _Structure:
        ref = f"{history.table}@{version.numbered(revision)}"
        return _Structure(history, version, revision, ref, revision.schema)

    @property
    def incarnation(self) -> int:
        return self.version.incarnation

    def to(self, other: _Structure) -> Transition:
        return Transition(
            table=self.history.table,
            old=self.schema,
            new=other.schema,
            changes=diff(self.schema, other.schema),
            candidates=other.version.candidates if other.revision.number == 0 else (),
            unconfirmed=other.version.unconfirmed,
            old_ref=self.ref,
            new_ref=other.ref,
            at=other.revision.at,
        )

    def appeared(self) -> Transition:
        return Transition(
            self.history.table,
            None,
            self.schema,
            unconfirmed=self.version.unconfirmed,
            new_ref=self.ref,
            at=self.version.at,
        )

    def gone(self) -> Transition:
        event = self.ended()
        at = self.version.until if event is None else event.at
        return Transition(self.history.table, self.schema, None, old_ref=self.ref, at=at, event=event)

    def ended(self) -> TableEvent | None:
        mine = (e for e in self.history.events if e.incarnation == self.incarnation)
        ends = [e for e in mine if e.kind in ("dropped", "renamed")]
        return ends[-1] if ends else None


def _split_at_baseline(history: TableHistory, baseline: Snapshot) -> tuple[_Structure, list[_Structure]]:
    """Where the baseline stands, and everything after it."""
    stands = [_Structure.of(history, v, r) for v in history.versions for r in v.revisions]
    at = _find_baseline(stands, baseline)
    if at is None:
        return _match_foreign_baseline(stands[-1], baseline)
    found = stands[at]
    if remove_ids(found.schema) == remove_ids(baseline.schema):
        return found, stands[at + 1 :]
    # same shape, other attributes: late evidence refined them, which is a step of its own
    ids = {c.name: c.id for c in found.schema.columns}
    columns = tuple(replace(c, id=ids.get(c.name)) for c in baseline.schema.columns)
    return replace(found, schema=replace(baseline.schema, columns=columns)), stands[at:]


def _find_baseline(stands: list[_Structure], baseline: Snapshot) -> int | None:
    """The revision that the baseline holds: of its version's id, by preference also where it began."""
    alike = [i for i, s in enumerate(stands) if baseline.version and s.version.answers_to(baseline.version)]
    there = [i for i in alike if stands[i].version.at == baseline.at] or alike
    same = [i for i in there if remove_ids(stands[i].schema) == remove_ids(baseline.schema)]
    return next(iter(reversed(same or there)), None)


def _match_foreign_baseline(latest: _Structure, baseline: Snapshot) -> tuple[_Structure, list[_Structure]]:
    """A baseline that is of no history: names tell what is what, and renames are only suspected."""
    old, new = remove_ids(baseline.schema), remove_ids(latest.schema)
    suspects = candidates(old, new, append_only=False)
    start = replace(latest, schema=old, ref="baseline")
    if old == new:
        return start, []
    present = replace(latest.version, candidates=suspects)
    return start, [replace(latest, schema=new, version=present, revision=replace(latest.revision, number=0))]


def _find_remarks(history: TableHistory, baseline: Snapshot | None) -> tuple[Disagreement, ...]:
    """What is open about the versions since the baseline, its own among them; without one, of the newest."""
    last = history.latest.number
    first = last if baseline is None else _split_at_baseline(history, baseline)[0].version.number
    return left_open(history, first, last)


def _collect_findings(
    walked: Iterable[Transition], whole: Transition | None, rules: tuple[Rule, ...]
) -> list[Finding]:
    """The findings of the steps, each once, and those that only the total shows."""
    found: dict[str, Finding] = {}
    for transition in walked:
        for finding in judge_transition(transition, rules):
            found.setdefault(finding.fingerprint, finding)
    told = list(found.values())
    return told if whole is None else [*told, *_drop_repeats(told, judge_transition(whole, rules))]


def _find_unjudged(step: Transition, findings: Iterable[Finding]) -> Iterator[UnjudgedChange]:
    """The changes of type and to nullable at whose place no rule has anything to say."""
    spoken = {f.path for f in findings}
    for change in step.changes:
        match change:
            case ChangeType(path, old, new) if path not in spoken:
                if without_labels(old) != without_labels(new):
                    yield UnjudgedChange(
                        step.table, path, format_type(old), format_type(new), step.old_ref, step.new_ref
                    )
            case ChangeNullable(path, False, True) if path not in spoken:
                yield UnjudgedChange(step.table, path, "NOT NULL", "nullable", step.old_ref, step.new_ref)
            case _:
                continue


def _drop_repeats(told: list[Finding], more: Iterable[Finding]) -> list[Finding]:
    """What of `more` no finding has said yet of the same place."""
    known = {(f.rule, f.path) for f in told}
    new: list[Finding] = []
    for finding in more:
        if (finding.rule, finding.path) not in known:
            known.add((finding.rule, finding.path))
            new.append(finding)
    return new


def _restrict_to_avro(judged: Iterable[tuple[Finding, ...]]) -> Iterator[Finding]:
    """Findings reduced to Avro's readers, who alone meet data of every earlier version."""
    for findings in judged:
        for finding in findings:
            verdicts = {r: v for r, v in finding.verdicts.items() if r in AVRO_READERS}
            if verdicts:
                yield replace(finding, verdicts=verdicts)


def _choose_readers(policy: GatePolicy, level: Level | None) -> tuple[Reader, ...]:
    if level is None:
        return policy.readers
    others = tuple(r for r in policy.readers if r not in AVRO_READERS)
    return (*level.readers, *others)
