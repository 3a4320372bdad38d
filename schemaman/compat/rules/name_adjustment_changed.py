"""Events write field names in another form.

What happened: The fields of all tables of a connector have other names since one moment, made from the same
columns: `field.name.adjustment.mode`, `schema.name.adjustment.mode` or the release changed.

Why it hurts: Readers of events look for the former names: Avro readers fail, or read null where fields are
optional. The history of schemaman knows both names, so its plans are not affected.

What to do: Set the modes as they were, or give readers the new names.

Sources: Debezium documentation, field.name.adjustment.mode and schema.name.adjustment.mode; Avro
specification, Schema Resolution (fields are matched by name).
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

NAME = "name-adjustment-changed"
VERDICTS = parse_verdicts("B B B D D B D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds moments at which names took another form; tables share the finding."""
    for fact in transition.list_facts("field-names"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"the connector writes field names as {fact.after} now, and wrote them as {fact.before}: "
            "the columns are the same",
            "set field.name.adjustment.mode and schema.name.adjustment.mode of the connector as they were",
            "or give readers of events the new names",
            claims=(
                *(("emitted-name-changed", (name,)) for name in fact.columns),
                ("routing-changed", ()),
                ("record-name-changed", ()),
            ),
        )


RULE = Rule(
    name=NAME,
    title="events write field names in another form",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="connector",
    examples=(
        Example(
            "`a-b` INT EMITTED 'a-b'",
            "`a-b` INT EMITTED 'a_b'",
            fires=((),),
            facts=(StepFact("field-names", "names as they are", "adjusted names", ("a-b",), "main:shop"),),
        ),
        Example(
            "`a-b` INT EMITTED 'a-b'",
            "`a-b` INT EMITTED 'ab'",
            why="no other sign of a setting: emitted-name-changed",
        ),
        Example("a INT", "b INT", renames={"a": "b"}, why="the column has another name: column-renamed"),
    ),
)
