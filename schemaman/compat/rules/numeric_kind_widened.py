"""Numbers of documents are of a wider kind.

What happened: Values of a field were numbers of one kind of BSON (int, long, double, decimal), and are of a
wider one now.

Why it hurts: Each writer of MongoDB chooses the kind of a number, so one document changes the field for all.
An old Avro reader fails on the wider number, and a double has no exact decimal.

What to do: Let the plan widen the column where the format allows it, or agree on one kind at the source.

Sources: MongoDB documentation, BSON types (int, long, double, decimal); Iceberg specification, Schema
Evolution (int to long, float to double).
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
from schemaman.compat.rules import _kinds
from schemaman.model.types import (
    Integer,
    widens,
)

NAME = "numeric-kind-widened"
VERDICTS = parse_verdicts("N B D D B D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds numbers of documents that became numbers of another kind."""
    for change in _kinds.find_type_changes(transition, _kinds.NUMBERS, _kinds.NUMBERS, of_documents=True):
        widened = (
            isinstance(change.old, Integer)
            and isinstance(change.new, Integer)
            and widens(change.old, change.new)
        )
        yield _kinds.build_finding(
            NAME,
            {**VERDICTS, "iceberg": "note"} if widened else VERDICTS,
            transition,
            change,
            "one document with another kind of number changes the field for all",
            "let the plan widen the column where the format allows it",
            "or agree on one kind of number at the source",
        )


RULE = Rule(
    name=NAME,
    title="numbers of documents are of a wider kind",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("n INT", "n BIGINT", fires=(("n",),), facts=(StepFact("documents"),)),
        Example("n BIGINT", "n DOUBLE", fires=(("n",),), facts=(StepFact("documents"),)),
        Example("n INT", "n BIGINT", why="a table and no collection: integer-widened"),
        Example("n INT", "n STRING", facts=(StepFact("documents"),), why="no number: number-to-string"),
    ),
)
