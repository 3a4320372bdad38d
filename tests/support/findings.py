"""What findings are about, so that tests see whether one cause is told twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from schemaman.compat.judge import RULES, Finding, Transition

FAMILIES = {rule.name: rule.family for rule in RULES.load_all()}


def find_repeated(step: Transition, findings: Iterable[Finding]) -> set[tuple[object, ...]]:
    """The subjects of which more than one finding tells."""
    counts = Counter(find_subject(step, finding) for finding in findings)
    return {subject for subject, count in counts.items() if count > 1}


def find_subject(step: Transition, finding: Finding) -> tuple[object, ...]:
    """What a finding is about: a key once, else the family of its rule and the column, under any name."""
    family = FAMILIES[finding.rule]
    if family == "keys":
        return (family,)
    schemas = [s for s in (step.old, step.new) if s is not None]
    columns = [s.column(finding.path[0]) for s in schemas] if finding.path else []
    ids = sorted({c.id for c in columns if c is not None and c.id is not None})
    return (family, *(ids or finding.path[:1]), *finding.path[1:])
