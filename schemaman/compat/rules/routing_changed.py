"""Records of the table come in another topic.

What happened: Events of the table come in a topic of another name since one moment: `topic.prefix` or a
transform that routes records changed.

Why it hurts: Readers of the old topic get no more records, and nothing fails. The subjects of a schema
registry are others, so levels compare nothing.

What to do: Set `topic.prefix` and the transforms as they were, or let readers use the new topic.

Sources: Debezium documentation, topic.prefix and ByLogicalTableRouter; Confluent documentation, subject name
strategies.
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
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import TableEvent
from schemaman.model.schema import TableId

NAME = "routing-changed"
VERDICTS = parse_verdicts("· · B N N B D")
_RENAMED = TableEvent("renamed", Coordinates("shop", 0, 7), 1, TableId("shop", "app", "public", "sales"))


def check(transition: Transition) -> Iterator[Finding]:
    """Finds other topics; tables whose topics have one new prefix share the finding."""
    for fact in transition.list_facts("topic"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"records come in topics of {fact.after} now, no longer of {fact.before}: "
            "readers of the old topics get none",
            "set topic.prefix and the transforms of the connector as they were",
            "or let readers use the new topics",
            claims=(("record-name-changed", ()),),
        )


RULE = Rule(
    name=NAME,
    title="records of the table come in another topic",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example(
            "id INT", "id INT", fires=((),), facts=(StepFact("topic", "shop", "store", scope="main:shop"),)
        ),
        Example(
            "id INT",
            "id INT",
            facts=(StepFact("record-name", "shop", "store"),),
            why="the same topic: record-name-changed",
        ),
        Example("id INT", "", event=_RENAMED, why="the table has another name: table-renamed"),
    ),
)
