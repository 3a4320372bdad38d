"""The schema of records has another name.

What happened: Events have the same fields under a schema of another full name: the prefix of topics, the
schema or the table is called differently there.

Why it hurts: Avro compares the names of records: a reader with the old name fails on new data unless the
schema has an alias. A registry with a level refuses the schema under the same subject.

What to do: Set `topic.prefix` and the transforms as they were, or give the new schema the old name as an
alias.

Sources: Avro specification, Schema Resolution (record names must match) and Aliases; Debezium documentation,
topic.prefix.
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

NAME = "record-name-changed"
VERDICTS = parse_verdicts("B B B N N N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds other names of the schema of records."""
    for fact in transition.list_facts("record-name"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"the schema of records is called {fact.after} now, no longer {fact.before}: "
            "Avro readers compare that name",
            "set topic.prefix, schema.name.adjustment.mode and the transforms of the connector as they were",
            "or give the new schema the old name as an alias",
        )


RULE = Rule(
    name=NAME,
    title="the schema of records has another name",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example(
            "id INT",
            "id INT",
            fires=((),),
            facts=(StepFact("record-name", "shop.app.orders.Value", "store.app.orders.Value"),),
        ),
        Example(
            "id INT",
            "id INT",
            facts=(StepFact("topic", "shop", "store"), StepFact("record-name", "shop", "store")),
            fires=((),),
        ),
        Example("id INT", "id BIGINT", why="the name is the same: integer-widened"),
        Example("id INT", "id INT", why="nothing changed"),
    ),
)
