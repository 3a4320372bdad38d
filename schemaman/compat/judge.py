"""Verdicts: which reader a change breaks; port `Rule`, and the judge that asks every rule.

Laws: a finding's severity is the worst verdict among the declared readers, nothing else; what one
finding claims is shown under it, never lost.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import RenameCandidate, TableEvent
from schemaman.model.column_list import parse_columns
from schemaman.model.diff import Diff, diff
from schemaman.model.schema import Path, TableId, TableSchema
from schemaman.plugins import Plugins

Reader = Literal["avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key"]
READERS: tuple[Reader, ...] = (
    "avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key",
)  # fmt: skip
Verdict = Literal["break", "danger", "note"]
Verdicts = Mapping[Reader, Verdict]
Severity = Literal["break", "danger", "note", "off"]
SEVERITIES: tuple[Severity, ...] = ("off", "note", "danger", "break")
"""From mild to grave."""


@dataclass(frozen=True, slots=True)
class Level:
    """A compatibility level of Avro's registries: who must not break, and against which versions."""

    readers: tuple[Reader, ...]
    transitive: bool = False


LEVELS: Mapping[str, Level] = {
    "NONE": Level(()),
    "BACKWARD": Level(("avro-backward",)),
    "BACKWARD_TRANSITIVE": Level(("avro-backward",), transitive=True),
    "FORWARD": Level(("avro-forward",)),
    "FORWARD_TRANSITIVE": Level(("avro-forward",), transitive=True),
    "FULL": Level(("avro-backward", "avro-forward")),
    "FULL_TRANSITIVE": Level(("avro-backward", "avro-forward"), transitive=True),
}
"""The seven levels. Source: Confluent CompatibilityLevel."""

_LETTERS: dict[str, Verdict] = {"B": "break", "D": "danger", "N": "note"}


def parse_verdicts(letters: str) -> Verdicts:
    """The verdicts of the seven readers in their order: B break, D danger, N note, `·` none."""
    row = zip(READERS, letters.split(), strict=True)
    return {reader: _LETTERS[letter] for reader, letter in row if letter != "·"}


def cap_verdicts(verdict: Verdict, verdicts: Verdicts) -> Verdicts:
    """The verdicts, none of them graver than `verdict`."""
    top = SEVERITIES.index(verdict)
    return {r: verdict if SEVERITIES.index(v) > top else v for r, v in verdicts.items()}


@dataclass(frozen=True, slots=True)
class Transition:
    """Two structures of one table in a row, with what is known about the step between them.

    `old` is None for a table that appears, `new` for one that goes. `changes` is their diff.
    `unconfirmed` names facts of `new` that may be from the future (`key`, `nullable:<column>`).
    `event` is what happened to the table as a whole, if that ended it.
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

    def has_key_column(self, *names: str) -> bool:
        """Whether one of the columns is part of the key, before or after."""
        keys = [*(self.old.key if self.old else ()), *(self.new.key if self.new else ())]
        return any(name in keys for name in names)

    def is_unconfirmed(self, fact: str) -> bool:
        """Whether a fact of the new structure may be from the future."""
        return fact in self.unconfirmed


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired: where, what was before and after, and whom it hurts how.

    `claims` are (rule, path) of findings that are echoes of this one: the judge lists them in
    its evidence.
    """

    rule: str
    table: TableId
    path: Path
    before: str
    after: str
    message: str
    verdicts: Verdicts
    fixes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    witness: str | None = None
    old_ref: str = ""
    new_ref: str = ""
    claims: tuple[tuple[str, Path], ...] = ()

    @property
    def fingerprint(self) -> str:
        """A name for this finding that survives rewording: rule, subject, before and after."""
        subject = "\x00".join([self.rule, str(self.table), *self.path, "", self.before, self.after])
        return "1" + hashlib.sha256(subject.encode()).hexdigest()[:15]


@dataclass(frozen=True, slots=True)
class Example:
    """A pair of structures in words, and the paths at which the rule fires on them.

    `old` and `new` are column lists as `columns.parse_columns` reads them, empty for no table.
    A near miss has no `fires`; its `why` says which rule should speak instead, or why none.
    """

    old: str
    new: str
    fires: tuple[Path, ...] = ()
    why: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)
    candidates: tuple[RenameCandidate, ...] = ()
    unconfirmed: tuple[str, ...] = ()

    def build_transition(self) -> Transition:
        """The step that the example describes, of a table that stands for any."""
        old = parse_columns(self.old) if self.old else None
        new = parse_columns(self.new) if self.new else None
        changes = diff(old, new, self.renames) if old and new else ()
        return Transition(EXAMPLE_TABLE, old, new, changes, self.candidates, self.unconfirmed)


EXAMPLE_TABLE = TableId("shop", "app", "public", "orders")

Check = Callable[[Transition], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can happen to a table, whom it hurts and why; one file each in `compat/rules/`.

    `verdicts` is the row of the catalogue; a finding may carry fewer or others where the
    case is milder. `page` is the module's docstring.
    """

    name: str
    title: str
    verdicts: Verdicts
    check: Check
    examples: tuple[Example, ...]
    page: str = ""


def judge_transition(transition: Transition, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """What every rule finds in one step, in the order of the rules; claimed findings as evidence."""
    found = [
        replace(finding, old_ref=transition.old_ref, new_ref=transition.new_ref)
        for rule in rules
        for finding in rule.check(transition)
    ]
    owners: dict[_FindingKey, _FindingKey] = {}
    for finding in found:
        for claim in finding.claims:
            if _find_owner(_finding_key(finding), owners) != claim:
                owners.setdefault(claim, _finding_key(finding))
    echoes: dict[_FindingKey, list[str]] = {}
    for finding in found:
        if (place := _finding_key(finding)) in owners:
            told = f"{finding.rule} at {'.'.join(finding.path)}: {finding.message}"
            echoes.setdefault(_find_owner(place, owners), []).append(told)
    return tuple(
        replace(f, evidence=(*f.evidence, *echoes.pop(_finding_key(f), ())))
        for f in found
        if _finding_key(f) not in owners
    )


_FindingKey = tuple[str, Path]


def _finding_key(finding: Finding) -> _FindingKey:
    return finding.rule, finding.path


def _find_owner(place: _FindingKey, owners: Mapping[_FindingKey, _FindingKey]) -> _FindingKey:
    """The finding under which an echo is told: the owner of its owner, and so on."""
    while place in owners:
        place = owners[place]
    return place


def rate_finding(
    finding: Finding, readers: Iterable[Reader] = READERS, overrides: Mapping[str, Severity] | None = None
) -> Severity:
    """How grave a finding is for those who read: the worst verdict among the declared readers.

    `overrides` gives another severity by rule name. `off` if none of the readers is touched.
    """
    if overrides and finding.rule in overrides:
        return overrides[finding.rule]
    verdicts: list[Severity] = [finding.verdicts[r] for r in readers if r in finding.verdicts]
    return max(verdicts, key=SEVERITIES.index, default="off")


RULES: Plugins[Rule] = Plugins("schemaman.compat.rules", "RULE", ("schemaman.rules",))
"""The rules, by name."""
