"""Events have another key than the table.

What happened: Events have a key that the table does not declare since the step, or have the declared key
again: `message.key.columns` differs, or a transform replaces the key.

Why it hurts: A merge by the new key does not find rows that were written by the old one. Kafka puts an equal
row into another partition, so its events are no longer in order.

What to do: Set `message.key.columns` and the transforms of keys as they were, or rewrite the key of the
target in one step.

Sources: Debezium documentation, message.key.columns; Kafka documentation, ValueToKey.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    cap_verdicts,
    parse_verdicts,
)
from schemaman.compat.rules import _facts, _keys

NAME = "key-override-changed"
VERDICTS = parse_verdicts("D D D N D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds steps at which events took another key than the declared one, or gave it up."""
    found = (
        _facts.build_fact_finding(
            NAME,
            # The rows have the columns of the table's own key, so a merge by them goes on.
            cap_verdicts("danger", VERDICTS),
            transition,
            fact,
            f"events have the key {fact.after} now, no longer {fact.before}, though the table has the same",
            "set message.key.columns and the transforms of keys as they were",
            f"or rewrite the key of the target to {fact.after} in one step with the change",
        )
        for fact in transition.list_facts("event-key")
    )
    yield from _keys.join_findings(transition, found)


RULE = Rule(
    name=NAME,
    title="events have another key than the table",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, no INT, PRIMARY KEY (id)",
            "id INT NOT NULL, no INT, PRIMARY KEY (id)",
            fires=((),),
            facts=(StepFact("event-key", "(id)", "(no)", ("no",)),),
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL, PRIMARY KEY (id)", why="nothing changed"
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b)",
            why="the table has another key: key-column-removed",
        ),
    ),
)
