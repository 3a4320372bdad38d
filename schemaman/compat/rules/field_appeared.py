"""Documents have a new field.

What happened: Enough documents of a collection have a field, or a field inside an object, that none had
before.

Why it hurts: No reader breaks: earlier documents have no value. A Spark job with a fixed schema does not see
the field.

What to do: Let a plan add the column or the field at the target.

Sources: MongoDB documentation, Flexible Schema; Debezium documentation, MongoDB connector (documents have no
schema).
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
from schemaman.compat.rules import _words
from schemaman.model.diff import (
    AddColumn,
)

NAME = "field-appeared"
VERDICTS = parse_verdicts("N N D N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new fields of documents, at any depth."""
    if not transition.has_fact("documents"):
        return
    for change in transition.changes:
        match change:
            case AddColumn(path, field, _):
                name, definition = _words.join_path(path), _words.describe_column(field)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    f"documents have {name} now, {definition}: earlier ones have no value of it",
                    VERDICTS,
                    fixes=("add it at the target with the next plan",),
                    claims=(
                        *((rule, path) for rule in _words.RULES_OF_NEW_COLUMNS if rule != NAME),
                        *_words.claim_name_notes(path),
                    ),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="documents have a new field",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example(
            "_id INT NOT NULL", "_id INT NOT NULL, a STRING", fires=(("a",),), facts=(StepFact("documents"),)
        ),
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT, b: INT>",
            fires=(("s", "b"),),
            facts=(StepFact("documents"),),
        ),
        Example("id INT", "id INT, a STRING", why="a table and no collection: column-added-nullable"),
        Example(
            "a INT",
            "a UNION<INT, STRING>",
            facts=(StepFact("documents"),),
            why="the field was there: field-type-conflict",
        ),
    ),
)
