"""Documents no longer have a field.

What happened: No document of the last thousand records or more has the field, and earlier ones had it. It may
be gone, or only rare.

Why it hurts: Queries get NULL for new documents. Nothing says that the field is gone for ever, so the column
stays.

What to do: Ask the writers of the documents. Keep the column at the target until nobody reads it.

Sources: MongoDB documentation, Flexible Schema; MongoDB documentation, $unset.
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

NAME = "field-vanished"
VERDICTS = parse_verdicts("N N D N N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds fields that have not been seen for long."""
    for fact in transition.list_facts("dormant"):
        for name in fact.columns:
            yield Finding(
                NAME,
                transition.table,
                (name,),
                name,
                "",
                f"no document has had {name} for long: it may be gone, or only rare",
                VERDICTS,
                fixes=(f"ask the writers of the documents; keep {name} at the target until nobody reads it",),
            )


RULE = Rule(
    name=NAME,
    title="documents no longer have a field",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example(
            "_id INT, a INT",
            "_id INT, a INT",
            fires=(("a",),),
            facts=(StepFact("documents"), StepFact("dormant", columns=("a",))),
        ),
        Example("_id INT, a INT", "_id INT, a INT", facts=(StepFact("documents"),), why="nothing changed"),
        Example("id INT, a INT", "id INT", why="a table that lost a column: column-dropped"),
    ),
)
