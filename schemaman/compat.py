"""Verdicts: which reader a change breaks; port `Rule`, and the judge that asks every rule."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from schemaman.diff import Diff
from schemaman.evidence import Mark
from schemaman.schema import Path, TableId, TableSchema
from schemaman.versions import RenameCandidate

Reader = Literal["avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key"]
READERS: tuple[Reader, ...] = (
    "avro-backward", "avro-forward", "spark", "delta", "iceberg", "sql", "merge-key",
)  # fmt: skip
Verdict = Literal["break", "danger", "note"]
Severity = Literal["break", "danger", "note", "off"]
SEVERITIES: tuple[Severity, ...] = ("off", "note", "danger", "break")
"""From mild to grave."""


@dataclass(frozen=True, slots=True)
class Transition:
    """Two structures of one table in a row, with what is known about the step between them.

    `old` is None for a table that appears, `new` for one that goes. `changes` is their diff.
    `unconfirmed` names facts of `new` that may be from the future (`key`, `nullable:<column>`).
    """

    table: TableId
    old: TableSchema | None
    new: TableSchema | None
    changes: Diff = ()
    candidates: tuple[RenameCandidate, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    old_ref: str = ""
    new_ref: str = ""
    at: Mark | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired: where, what was before and after, and whom it hurts how."""

    rule: str
    table: TableId
    path: Path
    before: str
    after: str
    message: str
    verdicts: Mapping[Reader, Verdict]
    fixes: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    witness: str | None = None
    old_ref: str = ""
    new_ref: str = ""

    @property
    def fingerprint(self) -> str:
        """A name for this finding that survives rewording: rule, subject, before and after."""
        subject = "\x00".join([self.rule, str(self.table), *self.path, "", self.before, self.after])
        return "1" + hashlib.sha256(subject.encode()).hexdigest()[:15]


@dataclass(frozen=True, slots=True)
class Example:
    """A pair of structures in words, and the paths at which the rule fires on them.

    `old` and `new` are column lists as `ddl.parse_columns` reads them, empty for no table.
    A near miss has no `fires`; its `why` says which rule should speak instead, or why none.
    """

    old: str
    new: str
    fires: tuple[Path, ...] = ()
    why: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)
    candidates: tuple[RenameCandidate, ...] = ()


Check = Callable[[Transition], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can happen to a table, whom it hurts and why; one file each in `rules/`.

    `verdicts` is the row of the catalogue; a finding may carry fewer or others where the
    case is milder. `page` is the module's docstring.
    """

    name: str
    title: str
    verdicts: Mapping[Reader, Verdict]
    check: Check
    examples: tuple[Example, ...]
    page: str = ""
