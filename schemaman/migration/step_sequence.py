"""Steps in a row, each with what it expects of the table and what it leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from schemaman.migration.conditions import make_step
from schemaman.migration.plan import Step
from schemaman.migration.target import Draft, LakeTable


@dataclass(frozen=True, slots=True)
class StepSequence:
    """Planned steps: `lake` is the table after them, `approvals` are those that a person has to approve."""

    lake: LakeTable | None
    steps: tuple[Step, ...] = ()
    approvals: tuple[str, ...] = ()

    @property
    def table(self) -> LakeTable:
        """The table after the steps, which exists by then."""
        assert self.lake is not None
        return self.lake

    def add_step(self, draft: Draft, after: LakeTable | None, approval_reason: str = "") -> StepSequence:
        """The sequence with one more step, which leaves the table as `after`."""
        approval = f"{draft.kind}: {draft.statement} ({approval_reason})"
        approvals = (*self.approvals, approval) if approval_reason else self.approvals
        return StepSequence(after, (*self.steps, make_step(draft, self.lake, after)), approvals)


def set_on_table(lake: LakeTable, properties: Mapping[str, str]) -> LakeTable:
    """The table with these properties set."""
    return replace(lake, properties={**lake.properties, **properties})
