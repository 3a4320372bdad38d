"""Findings about facts of a step that no structure shows."""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import FactKind, Finding, StepFact, Transition, Verdicts
from schemaman.compat.rules import _words
from schemaman.model.schema import Path


def build_fact_finding(
    rule: str,
    verdicts: Verdicts,
    transition: Transition,
    fact: StepFact,
    message: str,
    *fixes: str,
    path: Path = (),
    claims: tuple[tuple[str, Path], ...] = (),
) -> Finding:
    """Build the finding about a fact; a fact that tables share has one fingerprint for all of them."""
    columns = ": " + ", ".join(fact.columns) if fact.columns else ""
    places = (f"in {transition.table}{columns}",) if fact.scope else ()
    return Finding(
        rule,
        transition.table,
        path,
        fact.before,
        fact.after,
        message,
        verdicts,
        fixes=fixes,
        evidence=places,
        claims=claims,
        scope=fact.scope,
    )


def find_setting_changes(
    rule: str, verdicts: Verdicts, transition: Transition, kind: FactKind, values: str, setting: str
) -> Iterator[Finding]:
    """Find moments at which a setting of the connector gave all values of a kind another form."""
    for fact in transition.list_facts(kind):
        yield build_fact_finding(
            rule,
            _words.restrict_to_column(verdicts, transition, *fact.columns),
            transition,
            fact,
            f"the connector writes {values} as {fact.after} now, no longer as {fact.before}: "
            "the tables are the same",
            f"set {setting} of the connector as it was",
            "or give readers the new schema, and convert old rows where both forms meet",
        )
