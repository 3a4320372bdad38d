"""What the gate found: findings, verdict, and what the user should know besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from schemaman.compat.affected_consumers import Readership
from schemaman.compat.judge import Finding
from schemaman.compat.verdicts import SEVERITIES, Severity
from schemaman.compat.waivers import Waiver
from schemaman.history.versions import Disagreement
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import TableId

GateVerdict = Literal["pass", "fail", "unknown"]


@dataclass(frozen=True, slots=True)
class CheckResult(DisplayedValue):
    """The result of the gate.

    `findings` are pairs of a finding and its severity for the declared readers, in order of tables and steps.
    `tables` are the checked tables; `steps` is the number of judged steps.
    `unaccepted` are the tables without a baseline; only their present structure is judged.
    `without_baseline` are tables of `unaccepted` that the user named; they count as danger, too.
    `remarks` list what the records leave open or lose of each table since its baseline; they count as notes.
    `verdict` is `unknown` if nothing fails, but records of a table could not be read.
    `fail_on` is the mildest severity that fails; `waivers` are those that have not expired, by fingerprints;
    `waiver_remarks` tell of expired and unused ones, `consumer_remarks` of consumers that read no table.
    `readership` are the declared consumers, which say whom a finding concerns.
    """

    verdict: GateVerdict
    findings: tuple[tuple[Finding, Severity], ...]
    tables: tuple[TableId, ...]
    steps: int
    unaccepted: tuple[TableId, ...] = ()
    without_baseline: tuple[TableId, ...] = ()
    remarks: tuple[tuple[TableId, Disagreement], ...] = ()
    fail_on: Severity = "break"
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    waiver_remarks: tuple[str, ...] = ()
    consumer_remarks: tuple[str, ...] = ()
    readership: Readership = field(default_factory=Readership)

    def __repr__(self) -> str:
        counts = Counter(severity for _, severity in self.findings)
        found = ", ".join(f"{counts[s]} {s}" for s in reversed(SEVERITIES) if counts[s]) or "no findings"
        judged = f"{count_noun(self.steps, 'schema change')} in {count_noun(len(self.tables), 'table')}"
        return f"<CheckResult {self.verdict}: {found}, {judged}>"

    @property
    def passed(self) -> bool:
        """Whether nothing fails."""
        return self.verdict == "pass"
