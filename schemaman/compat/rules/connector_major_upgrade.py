"""Another major release of the connector writes events.

What happened: Events come from another major release of Debezium, or from another connector, since one
moment.

Why it hurts: A new release may give types another form, add or leave out fields, and name things differently,
without any change of a table. What it changed in events so far is listed as evidence.

What to do: Read the release notes between both. Compare a few records of each type from both sides.

Sources: Debezium documentation, release notes (breaking changes).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _facts

NAME = "connector-major-upgrade"
VERDICTS = parse_verdicts("D D D D D D D")
_FOLLOWERS = (
    "time-precision-mode-changed",
    "decimal-mode-changed",
    "binary-mode-changed",
    "interval-encoding-changed",
    "json-and-struct-exchanged",
    "geometry-encoding-changed",
    "name-adjustment-changed",
    "record-name-changed",
)
"""The rules about forms of events, which a release may change all at once."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds other major releases and other connectors; tables share the finding."""
    for fact in transition.list_facts("release"):
        before, after = (text.split(".")[0] for text in (fact.before, fact.after))
        if before != after:
            yield _facts.build_fact_finding(
                NAME,
                VERDICTS,
                transition,
                fact,
                f"events come from {fact.after} now, no longer from {fact.before}: "
                "it may map types differently",
                "read the release notes between both, and compare records from both sides",
                claims=tuple((rule, ()) for rule in _FOLLOWERS),
            )


RULE = Rule(
    name=NAME,
    title="another major release of the connector writes events",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example(
            "id INT",
            "id INT",
            fires=((),),
            facts=(StepFact("release", "mysql 1.9.8.Final", "mysql 2.5.4.Final", scope="main:shop"),),
        ),
        Example(
            "id INT",
            "id INT",
            fires=((),),
            facts=(
                StepFact("release", "mysql 1.9.8.Final", "mysql 2.5.4.Final", scope="main:shop"),
                StepFact("time-encoding", "coarser units", "finer units", ("a",), "main:shop"),
            ),
        ),
        Example(
            "id INT",
            "id INT",
            facts=(StepFact("release", "mysql 2.5.4.Final", "mysql 2.6.0.Final"),),
            why="the same major release",
        ),
        Example("id INT", "id BIGINT", why="the same release: integer-widened"),
    ),
)
