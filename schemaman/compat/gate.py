"""The gate judges every step of a table since its baseline, and passes or fails.

Laws: a table that did not change has no findings. A finding of a step stays, even if a later step undoes the
change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from schemaman.compat.affected_consumers import Readership
from schemaman.compat.check_result import CheckResult as CheckResult
from schemaman.compat.check_result import GateVerdict as GateVerdict
from schemaman.compat.counterexample import add_counterexamples
from schemaman.compat.judge import (
    LEVELS,
    READERS,
    SEVERITIES,
    Finding,
    Level,
    Reader,
    RejectedRecords,
    Rule,
    Severity,
    StepFact,
    Transition,
    judge_transition,
    merge_verdicts,
    rate_finding,
)
from schemaman.compat.rules._keys import KEY_RULES
from schemaman.compat.snapshots import Snapshot, remove_ids
from schemaman.errors import NoHistory, UnknownName
from schemaman.history.fold.key_history import PASSING_KEY
from schemaman.history.rename_detection import find_rename_candidates
from schemaman.history.step_facts import Occurrence, find_version_facts, list_occurrences, make_moment
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
from schemaman.model.display import count_noun
from schemaman.model.schema import TableId, TableSchema
from schemaman.model.types import Union

EXIT_CODES: Mapping[GateVerdict, int] = {"pass": 0, "fail": 1, "unknown": 3}
"""The exit code of each verdict: a check that could not read all records was not possible."""

UNREAD = "records-not-read"
"""The rule whose findings let no check pass."""

MAX_NAMED_TABLES = 20
"""As many tables of one shared finding are named; the others are counted."""
AVRO_READERS: tuple[Reader, ...] = ("avro-backward", "avro-forward")


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

    def is_failing(self, severity: Severity) -> bool:
        """Whether a finding of this severity fails."""
        return self.fail_on != "off" and SEVERITIES.index(severity) >= SEVERITIES.index(self.fail_on)

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
    unread: Mapping[TableId, tuple[RejectedRecords, ...]] | None = None,
    shared: Iterable[tuple[TableId, Disagreement]] = (),
) -> CheckResult:
    """Judges every step of the tables since their baseline.

    Args:
        histories: the histories of the tables to check.
        baseline: the accepted structure of each table; one without history is an error.
        rules: the rules to apply; they are taken only if there is a step.
        policy: the settings of the gate; by default all readers are declared, and a break fails.
        unread: the records behind the newest version of a table that could not be read.
        shared: the remarks about several tables; they count as the others.

    Raises:
        NoHistory: the baseline names tables that have no history.
        UnknownName: the policy names no known level.
    """
    tables, all_rules = {h.table: h for h in histories}, tuple[Rule, ...]()
    policy = policy or GatePolicy()
    level = policy.find_level()
    if missing := sorted(baseline.keys() - tables.keys()):
        raise NoHistory(
            f"the baseline contains {', '.join(map(str, missing))}, without a history",
            hint="ingest the records of these tables, or remove their snapshots if they are no longer yours",
        )
    findings: list[tuple[Finding, Severity]] = []
    remarks = list(shared)
    steps_judged = 0
    for table in sorted(tables):
        accepted = baseline.get(table)
        compared = list_steps(tables[table], accepted)
        steps_judged += len(compared)
        remarks += ((table, remark) for remark in _find_remarks(tables[table], accepted))
        totals = [t for t in (build_total(tables[table], accepted),) if t is not None]
        earlier = compare_with_earlier(tables[table]) if level is not None and level.transitive else ()
        if behind := (unread or {}).get(table):
            compared = (*compared, build_unread(tables[table], behind))
        if compared or earlier:
            all_rules = all_rules or tuple(rules)
        found = _collect_findings(compared, totals, earlier, all_rules)
        findings += ((f, policy.rate(f)) for f in found)
    findings = _merge_shared(findings)
    worst = _find_worst(findings, policy)
    unaccepted = tuple(t for t in sorted(tables) if t not in baseline)
    unmet = unaccepted if policy.named else ()
    worst = max(worst, SEVERITIES.index("danger") if unmet else 0)
    worst = max(worst, SEVERITIES.index("note") if remarks else 0)
    return CheckResult(
        verdict=_decide(worst, policy, findings),
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
    rated = tuple(_merge_shared((f, policy.rate(f)) for f in findings))
    verdict = _decide(_find_worst(rated, policy), policy)
    return CheckResult(
        verdict, rated, tuple(tables), steps, fail_on=policy.fail_on, readership=policy.readership
    )


def _find_worst(findings: Iterable[tuple[Finding, Severity]], policy: GatePolicy) -> int:
    """Finds the index of the worst severity that is not waived."""
    severities = [SEVERITIES.index(s) for f, s in findings if f.fingerprint not in policy.waived]
    return max(severities, default=0)


def _decide(worst: int, policy: GatePolicy, findings: Iterable[tuple[Finding, Severity]] = ()) -> GateVerdict:
    if policy.fail_on == "off":
        return "pass"
    if worst >= SEVERITIES.index(policy.fail_on):
        return "fail"
    unread = (f for f, severity in findings if f.rule == UNREAD and severity != "off")
    return "unknown" if any(f.fingerprint not in policy.waived for f in unread) else "pass"


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
        return (_list_structures(history)[-1].build_appearance(),) if not history.has_ended else ()
    start, rest = _split_at_baseline(history, baseline)
    return _compare_in_order(history, start, rest, _list_new_occurrences(history, baseline, rest))


def _list_new_occurrences(
    history: TableHistory, baseline: Snapshot, rest: Sequence[_Structure]
) -> tuple[Occurrence, ...]:
    """Lists what happened since the baseline; one without a count accepts all before the next version."""
    found = list_occurrences(history) if baseline.version else ()
    if baseline.occurrences is not None:
        return found[baseline.occurrences :]
    if not rest:
        return ()
    first = make_moment(rest[0].revision.at)
    return tuple(one for one in found if make_moment(one.at) >= first)


def list_all_steps(history: TableHistory) -> tuple[Transition, ...]:
    """Compares every version and revision of a table with the one before, from the first structure on."""
    first, *rest = _list_structures(history)
    return _compare_in_order(history, first, rest, list_occurrences(history))


def _compare_in_order(
    history: TableHistory, start: _Structure, rest: list[_Structure], occurrences: Sequence[Occurrence]
) -> tuple[Transition, ...]:
    """Compares each structure with the one before; what else happened is a step between them."""
    found: list[Transition] = []
    open_ones = deque(occurrences)
    for structure in _settle_passing_facts(start, rest):
        facts: tuple[StepFact, ...] = ()
        while open_ones and make_moment(open_ones[0].at) <= make_moment(structure.revision.at):
            occurrence = open_ones.popleft()
            if occurrence.at == structure.revision.at:
                facts += occurrence.facts
            else:
                found.append(start.build_occurrence(occurrence))
        if structure.incarnation == start.incarnation:
            step = start.compare_with(structure)
            found.append(replace(step, facts=(*step.facts, *facts)))
        else:
            found += (start.build_end(structure.schema), structure.build_appearance())
        start = structure
    found += (start.build_occurrence(occurrence) for occurrence in open_ones)
    if history.has_ended:
        found.append(start.build_end(None if history.is_dropped else TableSchema(())))
    return tuple(found)


def _list_structures(history: TableHistory) -> list[_Structure]:
    """Lists every structure that the table had: phantoms are none, if there is any other."""
    had = [v for v in history.versions if v.status != "phantom"] or history.versions
    facts = find_version_facts(history)
    return [_Structure.of(history, v, r, facts.get(v.number, ())) for v in had for r in v.revisions]


def _settle_passing_facts(start: _Structure, rest: list[_Structure]) -> Iterator[_Structure]:
    """Gives a fact that only the moment of a change shows back to the structure before.

    Rows that lack columns of a later key show a part of it, and no record confirms that key. Rows without
    schemas around a change of type show both types.
    """
    before = start
    passing = {n for d in start.history.disagreements if d.kind == PASSING_KEY for n in d.versions}
    for structure, following in zip_longest(rest, rest[1:]):
        if (
            following is not None
            and structure.version.number in passing
            and _has_passing_key(before, structure, following)
        ):
            structure = structure.keep_facts_of(before)
        if following is not None and before.incarnation == following.incarnation:
            structure = structure.keep_types_of(before, following)
        yield structure
        before = structure


def _has_passing_key(before: _Structure, structure: _Structure, following: _Structure) -> bool:
    """Returns whether a key in passing is another one than those before and after, and can be the former."""
    same = before.incarnation == structure.incarnation == following.incarnation
    keys = [s.schema.key for s in (before, structure, following)]
    return same and keys[0] not in keys[1:] and set(keys[0]) <= set(structure.schema.names)


def build_total(history: TableHistory, baseline: Snapshot | None) -> Transition | None:
    """Compares the baseline with the present structure; None unless one incarnation has several steps."""
    if baseline is None or history.has_ended:
        return None
    start, rest = _split_at_baseline(history, baseline)
    if len(rest) < 2 or rest[-1].incarnation != start.incarnation:
        return None
    return _compare_over_steps(start, rest)


def build_unread(history: TableHistory, unread: tuple[RejectedRecords, ...]) -> Transition:
    """Builds the step from the newest structure to records that could not be read."""
    last = _list_structures(history)[-1]
    return replace(last.compare_with(last), candidates=(), unconfirmed=(), unread_records=unread)


def list_all_totals(history: TableHistory) -> Iterator[Transition]:
    """Lists what a total may compare: each earlier structure of the newest incarnation with the present."""
    if history.has_ended:
        return
    structures = _list_structures(history)
    for index in reversed(range(len(structures) - 1)):
        if structures[index].incarnation != structures[-1].incarnation:
            return
        yield _compare_over_steps(structures[index], structures[index + 1 :])


def _compare_over_steps(start: _Structure, rest: Sequence[_Structure]) -> Transition:
    """Compares a structure with the last one after it; what the steps between are known to be counts, too."""
    suspects = tuple(c for structure in rest for c in structure.candidates)
    facts_of = {s.version.number: s.facts for s in rest if s.version.number != start.version.number}
    facts = (fact for found in facts_of.values() for fact in found)
    kept = tuple(fact for fact in facts if fact.kind != "dropped-earlier")
    return replace(start.compare_with(rest[-1]), candidates=suspects, facts=kept)


def compare_with_earlier(history: TableHistory) -> tuple[Transition, ...]:
    """Compares each earlier version of the newest incarnation with the present structure, newest first."""
    *earlier, latest = _list_structures(history)
    last_of = {s.version.number: s for s in earlier if s.incarnation == latest.incarnation}
    last_of.pop(latest.version.number, None)
    return tuple(
        replace(
            _compare_over_steps(structure, [*earlier[earlier.index(structure) + 1 :], latest]), candidates=()
        )
        for structure in reversed(last_of.values())
    )


@dataclass(frozen=True, slots=True)
class _Structure:
    """A structure of a table at one moment of its history, and the facts about the step to its version."""

    history: TableHistory
    version: SchemaVersion
    revision: Revision
    ref: str
    schema: TableSchema
    facts: tuple[StepFact, ...] = ()

    @staticmethod
    def of(
        history: TableHistory, version: SchemaVersion, revision: Revision, facts: tuple[StepFact, ...]
    ) -> _Structure:
        ref = f"{history.table}@{version.format_number(revision)}"
        return _Structure(history, version, revision, ref, revision.schema, facts)

    @property
    def incarnation(self) -> int:
        return self.version.incarnation

    @property
    def candidates(self) -> tuple[RenameCandidate, ...]:
        """The suspected renames of the step to this structure."""
        return self.version.candidates if self.revision.number == 0 else ()

    def keep_facts_of(self, before: _Structure) -> _Structure:
        """Returns the structure with the key before, and its unconfirmed columns as nullable as before."""
        columns = tuple(
            replace(c, nullable=old.nullable)
            if f"nullable:{c.name}" in self.version.unconfirmed and (old := before.schema.column(c.name))
            else c
            for c in self.schema.columns
        )
        return replace(self, schema=replace(self.schema, columns=columns, key=before.schema.key))

    def keep_types_of(self, before: _Structure, following: _Structure) -> _Structure:
        """Returns the structure with the types before, where it has those before and after at once."""
        columns = tuple(
            replace(c, type=old.type)
            if isinstance(c.type, Union)
            and (old := before.schema.column(c.name)) is not None
            and (new := following.schema.column(c.name)) is not None
            and old.type != new.type
            and {old.type, new.type} <= {*c.type.members}
            else c
            for c in self.schema.columns
        )
        return (
            self
            if columns == self.schema.columns
            else replace(self, schema=replace(self.schema, columns=columns))
        )

    def compare_with(self, other: _Structure) -> Transition:
        is_next = self.version.number != other.version.number
        answers = other.version.field_answers if is_next else ()
        renames = {answer.old: answer.new[-1] for answer in answers if answer.same}
        return Transition(
            table=self.history.table,
            old=self.schema,
            new=other.schema,
            changes=diff(self.schema, other.schema, field_renames=renames),
            candidates=other.candidates,
            unconfirmed=other.version.unconfirmed,
            old_ref=self.ref,
            new_ref=other.ref,
            at=other.revision.at,
            facts=other.facts if is_next else (),
        )

    def build_occurrence(self, occurrence: Occurrence) -> Transition:
        """Builds a step without another structure."""
        return Transition(
            self.history.table,
            self.schema,
            self.schema,
            old_ref=self.ref,
            new_ref=self.ref,
            at=occurrence.at,
            facts=occurrence.facts,
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
    structures = _list_structures(history)
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
        """List what findings are about: the rule, and the path with the column's id instead of its name.

        A key is one subject, whatever rule tells of it.
        """
        schemas = [s for s in (self.transition.old, self.transition.new) if s is not None]
        for finding in findings:
            if finding.rule in KEY_RULES:
                yield ("key",)
                continue
            columns = [s.column(finding.path[0]) for s in schemas] if finding.path else []
            ids = {c.id for c in columns if c is not None and c.id is not None}
            for subject in ids or finding.path[:1] or ((),):
                yield (finding.rule, subject, *finding.path[1:])


def _judge_step(transition: Transition, rules: tuple[Rule, ...]) -> _JudgedStep:
    return _JudgedStep(transition, add_counterexamples(transition, judge_transition(transition, rules)))


def _collect_findings(
    steps: Iterable[Transition],
    totals: Iterable[Transition],
    earlier: Iterable[Transition],
    rules: tuple[Rule, ...],
) -> list[Finding]:
    """Collects the findings of the steps, each once, and those that only a total shows.

    `earlier` are comparisons with earlier versions, which concern Avro's readers alone.
    """
    judged = [_judge_step(t, rules) for t in steps]
    found: dict[str, Finding] = {}
    for step in judged:
        for finding in step.findings:
            found.setdefault(finding.fingerprint, finding)
    more = [_judge_step(t, rules) for t in totals]
    more += [_restrict_to_avro(_judge_step(t, rules)) for t in earlier]
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


def _merge_shared(findings: Iterable[tuple[Finding, Severity]]) -> list[tuple[Finding, Severity]]:
    """Merges the findings of one cause that several tables have: the first one keeps it and names others."""
    merged: dict[str, tuple[Finding, Severity]] = {}
    tables: dict[str, set[TableId]] = {}
    for finding, severity in findings:
        key = finding.fingerprint if finding.scope else f"{len(merged)}"
        known = merged.get(key)
        tables.setdefault(key, set()).add(finding.table)
        if known is None:
            merged[key] = (finding, severity)
            continue
        first, worst = known
        named = len(tables[key]) <= MAX_NAMED_TABLES
        both = replace(
            first,
            evidence=tuple(dict.fromkeys((*first.evidence, *(finding.evidence if named else ())))),
            verdicts=merge_verdicts(first.verdicts, finding.verdicts),
        )
        merged[key] = (both, max(worst, severity, key=SEVERITIES.index))
    for key, concerned in tables.items():
        if len(concerned) > MAX_NAMED_TABLES:
            finding, severity = merged[key]
            text = f"and in {count_noun(len(concerned) - MAX_NAMED_TABLES, 'more table')}"
            merged[key] = (replace(finding, evidence=(*finding.evidence, text)), severity)
    return list(merged.values())


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
