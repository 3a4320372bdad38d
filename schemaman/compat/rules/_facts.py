"""Findings about facts of a step that no structure shows."""

from __future__ import annotations

from schemaman.compat.judge import Finding, StepFact, Transition, Verdicts
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
