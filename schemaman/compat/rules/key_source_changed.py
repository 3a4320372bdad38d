"""The key comes from another constraint.

What happened: Events have the same key columns, and another thing makes them the key: the primary key, a
unique index, or the setting `message.key.columns`.

Why it hurts: A unique index may allow NULL and may go away by itself, and a setting promises no uniqueness: a
merge may find two rows, or none.

What to do: Check that the columns are unique and NOT NULL at the source before the next merge.

Sources: Debezium documentation, message.key.columns; Debezium JdbcConnection.readPrimaryKeyOrUniqueIndexNames
(the primary key, else a unique index).
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
from schemaman.compat.rules import _facts, _keys

NAME = "key-source-changed"
VERDICTS = parse_verdicts("D D D N D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds keys of the same columns and of another origin."""
    found = (
        _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"the key ({', '.join(fact.columns)}) is one by {fact.after} now, no longer by {fact.before}",
            "check that the columns are unique and NOT NULL at the source before the next merge",
        )
        for fact in transition.list_facts("key-origin")
    )
    yield from _keys.join_findings(transition, found)


RULE = Rule(
    name=NAME,
    title="the key comes from another constraint",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            fires=((),),
            facts=(StepFact("key-origin", "primary key", "unique index", ("id",)),),
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL", why="there is no key: primary-key-lost"
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL, PRIMARY KEY (id)", why="nothing changed"
        ),
    ),
)
