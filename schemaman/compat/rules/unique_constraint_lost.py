"""The index behind the key was dropped.

What happened: A statement dropped the unique index that made columns the key, and the structure beside it
still names the key.

Why it hurts: Nothing keeps the columns unique any more: two rows may have one key, and a merge makes one of
them.

What to do: Create the index again, or choose another key with `message.key.columns`.

Sources: Debezium documentation, message.key.columns; MySQL documentation, DROP INDEX.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    cap_verdicts,
    parse_verdicts,
)
from schemaman.compat.rules import _facts

NAME = "unique-constraint-lost"
VERDICTS = parse_verdicts("· · N N N D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds steps at which the index of the key was dropped."""
    for fact in transition.list_facts("key-index-dropped"):
        key = f"({', '.join(fact.columns)})"
        yield _facts.build_fact_finding(
            NAME,
            # Another index of the same columns may hold them unique, and no record says so.
            cap_verdicts("danger", VERDICTS),
            transition,
            replace(fact, before=key),
            f"the index of the key {key} was dropped: two rows may have one key now",
            "create the index again, or choose another key: message.key.columns",
        )


RULE = Rule(
    name=NAME,
    title="the index behind the key was dropped",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "a INT, PRIMARY KEY (a)",
            "a INT, PRIMARY KEY (a)",
            fires=((),),
            facts=(StepFact("key-index-dropped", columns=("a",)),),
        ),
        Example("a INT, PRIMARY KEY (a)", "a INT", why="the key is gone, too: primary-key-lost"),
        Example("a INT, PRIMARY KEY (a)", "a INT, PRIMARY KEY (a)", why="nothing changed"),
    ),
)
