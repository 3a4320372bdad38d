"""The gate judges every step of a table since its baseline, and passes or fails.

Laws: a table that did not change has no findings. A finding of a step stays, even if a later step undoes the
change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from schemaman.compat.consumers import Readership
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
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.versions import (
    Disagreement,
    RenameCandidate,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
    list_unresolved,
)
from schemaman.model.diff import diff
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import TableId, TableSchema

AVRO_READERS: tuple[Reader, ...] = ("avro-backward", "avro-forward")


@dataclass(frozen=True, slots=True)
class CheckResult(DisplayedValue):
    """The result of the gate.

    `findings` are pairs of a finding and its severity for the declared readers, in order of tables and steps.
    `tables` are the checked tables; `steps` is the number of judged steps.
    `unaccepted` are the tables without a baseline; only their present structure is judged.
    `without_baseline` are tables of `unaccepted` that the user named; they count as danger, too.
    `remarks` list what the records leave open or lose of each table since its baseline; they count as notes.
    `fail_on` is the mildest severity that fails; `waivers` are those that have not expired, by fingerprints;
    `waiver_remarks` tell of expired and unused ones. `readership` are the declared consumers, which say whom
    a finding concerns.
    """

    verdict: Literal["pass", "fail"]
    findings: tuple[tuple[Finding, Severity], ...]
    tables: tuple[TableId, ...]
    steps: int
    unaccepted: tuple[TableId, ...] = ()
    without_baseline: tuple[TableId, ...] = ()
    remarks: tuple[tuple[TableId, Disagreement], ...] = ()
    fail_on: Severity = "break"
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    waiver_remarks: tuple[str, ...] = ()
    readership: Readership = field(default_factory=Readership)

    def __repr__(self) -> str:
        counts = Counter(severity for _, severity in self.findings)
        found = ", ".join(f"{counts[s]} {s}" for s in reversed(SEVERITIES) if counts[s]) or "no findings"
        judged = f"{count_noun(self.steps, 'step')} of {count_noun(len(self.tables), 'table')}"
        return f"<CheckResult {self.verdict}: {found}, {judged}>"

    @property
    def passed(self) -> bool:
        """Whether nothing fails."""
        return self.verdict == "pass"


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The settings of the gate: declared readers, severities by rule name, the failing severity, the level.

    `readers` count for every table; the consumers of `readership` count for what they read. `level` is one of
    Avro's compatibility levels; with None the readers decide. `named` is True if the user named the tables.
    `waived` are the fingerprints of findings that do not fail the gate.
    """

    readers: tuple[Reader, ...] = READERS
    overrides: Mapping[str, Severity] | None = None
    fail_on: Severity = "break"
    level: str | None = None
    named: bool = False
    waived: Collection[str] = ()
    readership: Readership = field(default_factory=Readership)

    def find_level(self) -> Level | None:
        """Returns the compatibility level, or None. Raises `UnknownName`."""
        if self.level is not None and self.level not in LEVELS:
            raise UnknownName(f"no compatibility level {self.level!r}; there are: {', '.join(LEVELS)}")
        return LEVELS[self.level] if self.level is not None else None

    def rate(self, finding: Finding) -> Severity:
        """Return the severity of a finding: the worst verdict among readers and consumers that it concerns.

        Raises:
            UnknownName: there is no such level.
        """
        severity = rate_finding(finding, _choose_readers(self, self.find_level()), self.overrides)
        if self.overrides and finding.rule in self.overrides:
            return severity
        return max(severity, self.readership.rate(finding), key=SEVERITIES.index)


def check(
    histories: Iterable[TableHistory],
    baseline: Mapping[TableId, Snapshot],
    rules: Iterable[Rule],
    policy: GatePolicy | None = None,
) -> CheckResult:
    """Judges every step of the tables since their baseline.

    Args:
        histories: the histories of the tables to check.
        baseline: the accepted structure of each table; one without history is an error.
        rules: the rules to apply.
        policy: the settings of the gate; by default all readers are declared, and a break fails.

    Raises:
        NoHistory: the baseline names tables that have no history.
        UnknownName: the policy names no known level.
    """
    tables, all_rules = {h.table: h for h in histories}, tuple(rules)
    policy = policy or GatePolicy()
    level = policy.find_level()
    if missing := sorted(baseline.keys() - tables.keys()):
        raise NoHistory(
            f"the baseline contains {', '.join(map(str, missing))}, without a history",
            hint="ingest the records of these tables, or remove their snapshots if they are no longer yours",
        )
    findings: list[tuple[Finding, Severity]] = []
    remarks: list[tuple[TableId, Disagreement]] = []
    steps_judged = 0
    for table in sorted(tables):
        accepted = baseline.get(table)
        compared = list_steps(tables[table], accepted)
        steps_judged += len(compared)
        remarks += ((table, remark) for remark in _find_remarks(tables[table], accepted))
        totals = [t for t in (build_total(tables[table], accepted),) if t is not None]
        earlier = compare_with_earlier(tables[table]) if level is not None and level.transitive else ()
        found = _collect_findings(compared, totals, earlier, all_rules)
        findings += ((f, policy.rate(f)) for f in found)
    worst = _find_worst(findings, policy)
    unaccepted = tuple(t for t in sorted(tables) if t not in baseline)
    unmet = unaccepted if policy.named else ()
    worst = max(worst, SEVERITIES.index("danger") if unmet else 0)
    worst = max(worst, SEVERITIES.index("note") if remarks else 0)
    return CheckResult(
        verdict=_decide(worst, policy),
        findings=tuple(findings),
        tables=tuple(sorted(tables)),
        steps=steps_judged,
        unaccepted=unaccepted,
        without_baseline=unmet,
        remarks=tuple(remarks),
        fail_on=policy.fail_on,
        readership=policy.readership,
    )


def judge_files(
    tables: Iterable[TableId], steps: int, findings: Iterable[Finding], policy: GatePolicy
) -> CheckResult:
    """Judges the findings of schemas without a history. Raises `UnknownName` for an unknown level."""
    policy.find_level()
    rated = tuple((f, policy.rate(f)) for f in findings)
    verdict = _decide(_find_worst(rated, policy), policy)
    return CheckResult(
        verdict, rated, tuple(tables), steps, fail_on=policy.fail_on, readership=policy.readership
    )


def _find_worst(findings: Iterable[tuple[Finding, Severity]], policy: GatePolicy) -> int:
    """Finds the index of the worst severity that is not waived."""
    severities = [SEVERITIES.index(s) for f, s in findings if f.fingerprint not in policy.waived]
    return max(severities, default=0)


def _decide(worst: int, policy: GatePolicy) -> Literal["pass", "fail"]:
    fails = policy.fail_on != "off" and worst >= SEVERITIES.index(policy.fail_on)
    return "fail" if fails else "pass"


def list_transitions(history: TableHistory, baseline: Snapshot | None) -> tuple[Transition, ...]:
    """Lists every step since the baseline; the total comes last if there were several steps."""
    whole = build_total(history, baseline)
    return list_steps(history, baseline) if whole is None else (*list_steps(history, baseline), whole)


def list_steps(history: TableHistory, baseline: Snapshot | None) -> tuple[Transition, ...]:
    """Compares every version and revision since the baseline with the one before.

    Without a baseline the present structure is the only step. If the history does not hold the baseline,
    the baseline is compared with the present structure by column names.
    """
    if baseline is None:
        last = _Structure.of(history, history.latest, history.latest.revisions[-1])
        return (last.build_appearance(),) if not history.has_ended else ()
    return _compare_in_order(history, *_split_at_baseline(history, baseline))


def list_all_steps(history: TableHistory) -> tuple[Transition, ...]:
    """Compares every version and revision of a table with the one before, from the first structure on."""
    first, *rest = [_Structure.of(history, v, r) for v in history.versions for r in v.revisions]
    return _compare_in_order(history, first, rest)


def _compare_in_order(
    history: TableHistory, start: _Structure, rest: Iterable[_Structure]
) -> tuple[Transition, ...]:
    found: list[Transition] = []
    for structure in rest:
        if structure.incarnation == start.incarnation:
            found.append(start.compare_with(structure))
        else:
            found += (start.build_end(structure.schema), structure.build_appearance())
        start = structure
    if history.has_ended:
        found.append(start.build_end(None if history.is_dropped else TableSchema(())))
    return tuple(found)


def build_total(history: TableHistory, baseline: Snapshot | None) -> Transition | None:
    """Compares the baseline with the present structure; None unless one incarnation has several steps."""
    if baseline is None or history.has_ended:
        return None
    start, rest = _split_at_baseline(history, baseline)
    if len(rest) < 2 or rest[-1].incarnation != start.incarnation:
        return None
    suspects = tuple(c for structure in rest for c in structure.candidates)
    return replace(start.compare_with(rest[-1]), candidates=suspects)


def list_all_totals(history: TableHistory) -> Iterator[Transition]:
    """Lists what a total may compare: each earlier structure of the newest incarnation with the present."""
    if history.has_ended:
        return
    *earlier, last = [_Structure.of(history, v, r) for v in history.versions for r in v.revisions]
    suspects: tuple[RenameCandidate, ...] = ()
    for start, following in reversed(list(pairwise([*earlier, last]))):
        if start.incarnation != last.incarnation:
            return
        suspects = (*following.candidates, *suspects)
        yield replace(start.compare_with(last), candidates=suspects)


def compare_with_earlier(history: TableHistory) -> tuple[Transition, ...]:
    """Compares each earlier version of the newest incarnation with the present structure, newest first."""
    latest = _Structure.of(history, history.latest, history.latest.revisions[-1])
    earlier = [v for v in history.versions[:-1] if v.incarnation == latest.incarnation]
    return tuple(
        replace(_Structure.of(history, v, v.revisions[-1]).compare_with(latest), candidates=())
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
        ref = f"{history.table}@{version.format_number(revision)}"
        return _Structure(history, version, revision, ref, revision.schema)

    @property
    def incarnation(self) -> int:
        return self.version.incarnation

    @property
    def candidates(self) -> tuple[RenameCandidate, ...]:
        """The suspected renames of the step to this structure."""
        return self.version.candidates if self.revision.number == 0 else ()

    def compare_with(self, other: _Structure) -> Transition:
        return Transition(
            table=self.history.table,
            old=self.schema,
            new=other.schema,
            changes=diff(self.schema, other.schema),
            candidates=other.candidates,
            unconfirmed=other.version.unconfirmed,
            old_ref=self.ref,
            new_ref=other.ref,
            at=other.revision.at,
        )

    def build_appearance(self) -> Transition:
        return Transition(
            self.history.table,
            None,
            self.schema,
            unconfirmed=self.version.unconfirmed,
            new_ref=self.ref,
            at=self.version.at,
        )

    def build_end(self, successor: TableSchema | None = None) -> Transition:
        event = self._find_end_event()
        at = self.version.until if event is None else event.at
        return Transition(
            self.history.table,
            self.schema,
            None,
            old_ref=self.ref,
            at=at,
            event=event,
            successor=successor,
        )

    def _find_end_event(self) -> TableEvent | None:
        events = (e for e in self.history.events if e.incarnation == self.incarnation)
        ends = [e for e in events if e.kind in ("dropped", "renamed")]
        return ends[-1] if ends else None


def _split_at_baseline(history: TableHistory, baseline: Snapshot) -> tuple[_Structure, list[_Structure]]:
    """Finds the structure of the baseline, and all structures after it."""
    structures = [_Structure.of(history, v, r) for v in history.versions for r in v.revisions]
    at = _find_baseline(structures, baseline)
    if at is None:
        return _match_foreign_baseline(structures[-1], baseline)
    found = structures[at]
    if remove_ids(found.schema) == remove_ids(baseline.schema):
        return found, structures[at + 1 :]
    # The shape is the same and the attributes differ: late evidence refined them, so this is a step.
    ids = {c.name: c.id for c in found.schema.columns}
    columns = tuple(replace(c, id=ids.get(c.name)) for c in baseline.schema.columns)
    return replace(found, schema=replace(baseline.schema, columns=columns)), structures[at:]


def _find_baseline(structures: list[_Structure], baseline: Snapshot) -> int | None:
    """Returns the index of the baseline: it has the id of its version, and preferably also its beginning."""
    same_id = [i for i, s in enumerate(structures) if baseline.version and s.version.has_id(baseline.version)]
    candidates = [i for i in same_id if structures[i].version.at == baseline.at] or same_id
    same_structure = [
        i for i in candidates if remove_ids(structures[i].schema) == remove_ids(baseline.schema)
    ]
    return next(iter(reversed(same_structure or candidates)), None)


def _match_foreign_baseline(latest: _Structure, baseline: Snapshot) -> tuple[_Structure, list[_Structure]]:
    """Compares a foreign baseline: columns match by name, and renames are only suspected."""
    old, new = remove_ids(baseline.schema), remove_ids(latest.schema)
    suspects = find_rename_candidates(old, new, append_only=False)
    start = replace(latest, schema=old, ref="baseline")
    if old == new:
        return start, []
    present = replace(latest.version, candidates=suspects)
    return start, [replace(latest, schema=new, version=present, revision=replace(latest.revision, number=0))]


def _find_remarks(history: TableHistory, baseline: Snapshot | None) -> tuple[Disagreement, ...]:
    """Finds the remarks about the baseline's version and later ones; without a baseline, the newest ones."""
    last = history.latest.number
    first = last if baseline is None else _split_at_baseline(history, baseline)[0].version.number
    return list_unresolved(history, first, last)


@dataclass(frozen=True, slots=True)
class _JudgedStep:
    """A step and what the rules found in it."""

    transition: Transition
    findings: tuple[Finding, ...]

    def list_subjects(self, *findings: Finding) -> Iterator[tuple[object, ...]]:
        """List what findings are about: the rule, and the path with the column's id instead of its name."""
        schemas = [s for s in (self.transition.old, self.transition.new) if s is not None]
        for finding in findings:
            columns = [s.column(finding.path[0]) for s in schemas] if finding.path else []
            ids = {c.id for c in columns if c is not None and c.id is not None}
            for subject in ids or finding.path[:1] or ((),):
                yield (finding.rule, subject, *finding.path[1:])


def _collect_findings(
    steps: Iterable[Transition],
    totals: Iterable[Transition],
    earlier: Iterable[Transition],
    rules: tuple[Rule, ...],
) -> list[Finding]:
    """Collects the findings of the steps, each once, and those that only a total shows.

    `earlier` are comparisons with earlier versions, which concern Avro's readers alone.
    """
    judged = [_JudgedStep(t, judge_transition(t, rules)) for t in steps]
    found: dict[str, Finding] = {}
    for step in judged:
        for finding in step.findings:
            found.setdefault(finding.fingerprint, finding)
    more = [_JudgedStep(t, judge_transition(t, rules)) for t in totals]
    more += [_restrict_to_avro(_JudgedStep(t, judge_transition(t, rules))) for t in earlier]
    return [*found.values(), *_drop_repeats(judged, more)]


def _drop_repeats(reported: Iterable[_JudgedStep], more: Iterable[_JudgedStep]) -> list[Finding]:
    """Returns the findings of `more` that no reported step has, as a finding or as a claimed one.

    A column is the same under each of its names.
    """
    known = {s for step in reported for f in step.findings for s in step.list_subjects(f, *f.claimed)}
    new: list[Finding] = []
    for step in more:
        for finding in step.findings:
            if known.isdisjoint(step.list_subjects(finding)):
                new.append(finding)
            known.update(step.list_subjects(finding, *finding.claimed))
    return new


def _restrict_to_avro(step: _JudgedStep) -> _JudgedStep:
    """Reduces findings to what hurts Avro's readers: only they read data of every earlier version."""
    kept: list[Finding] = []
    for finding in step.findings:
        verdicts = {r: v for r, v in finding.verdicts.items() if r in AVRO_READERS}
        if any(verdict != "note" for verdict in verdicts.values()):
            kept.append(replace(finding, verdicts=verdicts))
    return replace(step, findings=tuple(kept))


def _choose_readers(policy: GatePolicy, level: Level | None) -> tuple[Reader, ...]:
    if level is None:
        return policy.readers
    others = tuple(r for r in policy.readers if r not in AVRO_READERS)
    return (*level.readers, *others)
