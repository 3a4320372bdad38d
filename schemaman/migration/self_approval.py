"""The approvals that a profile gives by itself, because the plan alone shows that nothing can be mixed up.

Law: no plan approves itself in which two names could have been swapped.
"""

from __future__ import annotations

from schemaman.history.open_renames import OPEN_RENAME
from schemaman.migration.plan import Plan
from schemaman.migration.policy import ChangeKind, Policy

SELF_APPROVED: tuple[ChangeKind, ...] = ("reuse-name",)
"""What a plan may approve by itself. A plan file states its rulings itself, so its steps are asked, too."""


def approves_itself(plan: Plan, policy: Policy) -> bool:
    """Whether the profile approves a plan: one name alone is used again, and nothing else needs a person.

    The ruling on the name comes twice: for the column that gives it away and for the one that gets it.

    The old column keeps its values under another name. With two such names, or beside a rename that nobody
    has answered, the values may belong to one another's columns.
    """
    if policy.profile != "autopilot" or any(note.startswith(OPEN_RENAME) for note in plan.notes):
        return False
    asked = [ruling for ruling in plan.rulings if ruling.level == "approve"]
    return len({(r.kind, r.path) for r in asked}) == 1 and asked[0].kind in SELF_APPROVED
