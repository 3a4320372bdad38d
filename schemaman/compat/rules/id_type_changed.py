"""The _id of documents has another type.

What happened: Documents of a collection have an `_id` of another type than before, or of several types.

Why it hurts: The key of events is the `_id` as text of its type: a merge does not find the documents that
were written before, and readers of one type fail.

What to do: Agree on one type of `_id` at the source, or make texts of all of them at the target.

Sources: MongoDB documentation, The _id Field; Debezium documentation, MongoDB connector (the key is the id as
text).
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
from schemaman.model.diff import (
    ChangeType,
)

NAME = "id-type-changed"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds documents with an id of another type."""
    if not transition.has_fact("documents"):
        return
    for change in transition.changes:
        match change:
            case ChangeType(("_id",) as path, old, new) if not _kinds.is_null_only(old):
                yield _kinds.build_finding(
                    NAME,
                    VERDICTS,
                    transition,
                    _kinds.TypeChange(path, old, new),
                    "a merge does not find the documents that were written before",
                    "agree on one type of _id at the source, or make texts of all of them at the target",
                    resolution=(True, True),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="the _id of documents has another type",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example(
            "_id INT NOT NULL, PRIMARY KEY (_id)",
            "_id UNION<INT, STRING> NOT NULL, PRIMARY KEY (_id)",
            fires=(("_id",),),
            facts=(StepFact("documents"),),
        ),
        Example("_id INT NOT NULL", "_id STRING NOT NULL", fires=(("_id",),), facts=(StepFact("documents"),)),
        Example("_id INT NOT NULL", "_id STRING NOT NULL", why="a table and no collection: number-to-string"),
        Example(
            "a INT",
            "a UNION<INT, STRING>",
            facts=(StepFact("documents"),),
            why="another field: field-type-conflict",
        ),
    ),
)
