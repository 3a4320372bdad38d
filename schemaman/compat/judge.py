"""Verdicts say which reader a change breaks: the port `Rule`, and the judge that applies every rule.

Laws: the severity of a finding is the worst verdict among the declared readers, nothing else. A finding that
another one claims is shown as evidence of that one and never lost, and neither is any of its verdicts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from schemaman.compat.verdicts import LEVELS as LEVELS
from schemaman.compat.verdicts import READERS as READERS
from schemaman.compat.verdicts import SEVERITIES as SEVERITIES
from schemaman.compat.verdicts import Level as Level
from schemaman.compat.verdicts import Reader as Reader
from schemaman.compat.verdicts import Severity as Severity
from schemaman.compat.verdicts import Verdict as Verdict
from schemaman.compat.verdicts import Verdicts as Verdicts
from schemaman.compat.verdicts import cap_verdicts as cap_verdicts
from schemaman.compat.verdicts import parse_verdicts as parse_verdicts
from schemaman.debezium.records import Coordinates
from schemaman.history.step_facts import FactKind as FactKind
from schemaman.history.step_facts import StepFact as StepFact
from schemaman.history.versions import RenameCandidate, TableEvent
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import Diff, diff
from schemaman.model.schema import Path, TableId, TableSchema
from schemaman.plugins import Plugins


@dataclass(frozen=True, slots=True)
class RejectedRecords:
    """Records of a table's topic that could not be read, and that no later record of the table replaces.

    `offset` and `reason` are those of the first one.
    """

    topic: str
    partition: int
    offset: int
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Transition:
    """Two consecutive structures of one table, and the facts about the step between them.

    `old` is None for a table that appears, `new` for a table that ends. `changes` is the diff of both; both
    structures are equal if only `facts` changed. `unconfirmed` names facts of `new` that may be newer than
    the record (`key`, `nullable:<column>`). `event` is the event that ended the table, if there is one;
    `successor` is the first structure of a table of the same name that followed; it has no columns if no
    record shows it. `unread_statements` are pairs of the beginning of a statement about the table that was
    not read, and why. `unread_records` are records after the step, which may hold another one.
    """

    table: TableId
    old: TableSchema | None
    new: TableSchema | None
    changes: Diff = ()
    candidates: tuple[RenameCandidate, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    old_ref: str = ""
    new_ref: str = ""
    at: Coordinates | None = None
    event: TableEvent | None = None
    successor: TableSchema | None = None
    unread_statements: tuple[tuple[str, str], ...] = ()
    unread_records: tuple[RejectedRecords, ...] = ()
    facts: tuple[StepFact, ...] = ()

    def list_facts(self, kind: FactKind) -> tuple[StepFact, ...]:
        """Lists the facts of one kind."""
        return tuple(fact for fact in self.facts if fact.kind == kind)

    def has_fact(self, kind: FactKind, column: str | None = None) -> bool:
        """Returns whether the step has a fact of a kind, about a column if one is given."""
        return any(column is None or column in fact.columns for fact in self.list_facts(kind))

    def has_key_column(self, *names: str) -> bool:
        """Returns whether one of the columns is part of the old or the new key."""
        keys = [*(self.old.key if self.old else ()), *(self.new.key if self.new else ())]
        return any(name in keys for name in names)

    def is_unconfirmed(self, fact: str) -> bool:
        """Returns whether a fact of the new structure may be newer than the record."""
        return fact in self.unconfirmed


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A datum, as JSON, that shows what a finding says of a reader; without a datum, `sentence` says why.

    `written` is the structure that wrote it: `old` or `new`. `effect` is what the reader makes of it.
    """

    reader: Reader
    written: str
    datum: str
    effect: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired: table and path, the state before and after, and a verdict for each affected reader.

    `claims` are pairs (rule, path) of findings with the same cause, or `EVERYTHING`. The judge lists those
    that it found as `claimed`, adds their text to the evidence, and takes over their worse verdicts.
    `scope` names what has the cause in common if it concerns several tables: they have one fingerprint.
    `commands` are the command lines at the ends of fixes, as a shell reads them.
    `witness` is a sentence with one value that the readers misread; `counterexamples` has one for each reader
    that breaks. `file` is the path of the schema file in its repository, and `line` the line of the column in
    it, from 1; empty and 0 without a file.
    `arguments` are those of the check that finds it again; empty if the store or the snapshots show it.
    """

    rule: str
    table: TableId
    path: Path
    before: str
    after: str
    message: str
    verdicts: Verdicts
    fixes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    witness: str | None = None
    counterexamples: tuple[Counterexample, ...] = ()
    old_ref: str = ""
    new_ref: str = ""
    claims: tuple[tuple[str, Path], ...] = ()
    file: str = ""
    line: int = 0
    arguments: tuple[str, ...] = ()
    claimed: tuple[Finding, ...] = ()
    scope: str = ""

    @property
    def fingerprint(self) -> str:
        """The id: rule, table or scope, path, before and after; rewording does not change it."""
        place = f"scope {self.scope}" if self.scope else str(self.table)
        subject = "\x00".join([self.rule, place, *self.path, "", self.before, self.after])
        return "1" + hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:15]


@dataclass(frozen=True, slots=True)
class Example:
    """A pair of structures as column lists, and the paths at which the rule fires on them.

    `old`, `new` and `successor` are column lists as `column_list.parse_columns` reads them, empty for no
    table. `table` is None for an ordinary table.
    A near miss has no `fires`; its `why` names the rule that fires instead, or why none does.
    """

    old: str
    new: str
    fires: tuple[Path, ...] = ()
    why: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)
    candidates: tuple[RenameCandidate, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    event: TableEvent | None = None
    successor: str = ""
    unread_statements: tuple[tuple[str, str], ...] = ()
    unread_records: tuple[RejectedRecords, ...] = ()
    facts: tuple[StepFact, ...] = ()
    table: TableId | None = None

    def build_transition(self) -> Transition:
        """Builds the step that the example describes, of an example table."""
        old = parse_columns(self.old) if self.old else None
        new = parse_columns(self.new) if self.new else None
        changes = diff(old, new, self.renames) if old and new else ()
        return Transition(
            self.table or EXAMPLE_TABLE,
            old,
            new,
            changes,
            self.candidates,
            self.unconfirmed,
            event=self.event,
            successor=parse_columns(self.successor) if self.successor else None,
            unread_statements=self.unread_statements,
            unread_records=self.unread_records,
            facts=self.facts,
        )


EXAMPLE_TABLE = TableId("shop", "app", "public", "orders")

EVERYTHING: tuple[str, Path] = ("*", ())
"""The claim of a finding that is the cause of all others of its step."""

Family = Literal[
    "columns", "types", "meanings", "nullability", "defaults", "keys", "names", "tables", "values",
    "generated", "comments", "connector", "documents",
]  # fmt: skip
"""What a rule is about: columns come and go, types, meanings of one type, and so on."""

Check = Callable[[Transition], Iterator[Finding]]
LastResort = Callable[[Transition, Finding, Sequence[Finding]], Finding | None]
"""Reduces a finding to what the other findings of the step leave unexplained; None for nothing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of change, the readers that it breaks, and why; one file each in `compat/rules/`.

    `verdicts` is the row of the catalogue; a finding of a milder case may have fewer or other verdicts.
    `page` is the docstring of the module. A rule with `last_resort` reports only what no other rule explains.
    """

    name: str
    title: str
    verdicts: Verdicts
    check: Check
    examples: tuple[Example, ...]
    page: str = ""
    last_resort: LastResort | None = None
    family: Family | None = None


def judge_transition(transition: Transition, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Applies every rule to one step; findings come in the order of the rules, claimed ones as evidence.

    Rules of last resort come last.
    """
    all_rules = tuple(rules)
    found = [f for rule in all_rules if rule.last_resort is None for f in rule.check(transition)]
    found += [
        rest
        for rule in all_rules
        if rule.last_resort is not None
        for finding in rule.check(transition)
        if (rest := rule.last_resort(transition, finding, found)) is not None
    ]
    found = [replace(f, old_ref=transition.old_ref, new_ref=transition.new_ref) for f in found]
    owner_of: dict[_FindingKey, _FindingKey] = {}
    for finding in found:
        claims = finding.claims
        if EVERYTHING in claims:
            claims = tuple(_finding_key(f) for f in found if f is not finding)
        for claim in claims:
            if _find_owner(_finding_key(finding), owner_of) != claim:
                owner_of.setdefault(claim, _finding_key(finding))
    claimed: dict[_FindingKey, list[Finding]] = {}
    for finding in found:
        if (key := _finding_key(finding)) in owner_of:
            claimed.setdefault(_find_owner(key, owner_of), []).append(finding)
    return tuple(
        add_claimed(f, claimed.pop(_finding_key(f), [])) for f in found if _finding_key(f) not in owner_of
    )


def merge_verdicts(*rows: Verdicts) -> Verdicts:
    """Returns the worst verdict of each reader, in the order of the readers."""
    return {
        reader: max((row[reader] for row in rows if reader in row), key=SEVERITIES.index)
        for reader in READERS
        if any(reader in row for row in rows)
    }


def add_claimed(finding: Finding, claimed: Sequence[Finding]) -> Finding:
    """Returns a finding that lists others with the same cause as evidence, with the worse verdicts."""
    if not claimed:
        return finding
    lines = [f"{f.rule} at {'.'.join(f.path) or 'the table'}: {f.message}" for f in claimed]
    return replace(
        finding,
        verdicts=merge_verdicts(finding.verdicts, *(f.verdicts for f in claimed)),
        evidence=(*finding.evidence, *lines),
        claimed=tuple(claimed),
    )


_FindingKey = tuple[str, Path]


def _finding_key(finding: Finding) -> _FindingKey:
    return finding.rule, finding.path


def _find_owner(key: _FindingKey, owner_of: Mapping[_FindingKey, _FindingKey]) -> _FindingKey:
    """Follows the claims to the finding that lists a claimed one as evidence."""
    while key in owner_of:
        key = owner_of[key]
    return key


def rate_finding(
    finding: Finding, readers: Iterable[Reader] = READERS, overrides: Mapping[str, Severity] | None = None
) -> Severity:
    """Returns the severity of a finding: the worst verdict among the declared readers.

    `overrides` gives another severity by rule name. The severity is `off` if no reader is affected.
    """
    if overrides and finding.rule in overrides:
        return overrides[finding.rule]
    verdicts: list[Severity] = [finding.verdicts[r] for r in readers if r in finding.verdicts]
    return max(verdicts, key=SEVERITIES.index, default="off")


RULES: Plugins[Rule] = Plugins("schemaman.compat.rules", "RULE", ("schemaman.rules",))
"""The rules, by name."""
