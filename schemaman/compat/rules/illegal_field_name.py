"""A field name has a dot, a dollar sign, or nothing.

What happened: A new field of documents has an empty name, a name with a dot, or one that begins with a dollar
sign.

Why it hurts: A path cannot tell a dot in a name from a step into an object, Avro allows none of these names,
and queries of MongoDB read `$` as an operator.

What to do: Let the writers use other names, or keep the object as JSON text at the target.

Sources: MongoDB documentation, Field Names with Periods and Dollar Signs; Avro specification, Names.
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

NAME = "illegal-field-name"
VERDICTS = parse_verdicts("N N D D N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds such names among the new fields of documents, at any depth."""
    if not transition.has_fact("documents"):
        return
    for change in transition.changes:
        match change:
            case AddColumn((*_, name) as path, _, _) if not name or "." in name or name.startswith("$"):
                yield Finding(
                    NAME,
                    transition.table,
                    tuple(path),
                    "",
                    name,
                    f"the new field {name!r} has a name that paths and Avro cannot have",
                    VERDICTS,
                    fixes=("use another name at the source, or keep the object as JSON text at the target",),
                    claims=_words.claim_new_column(tuple(path)),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a field name has a dot, a dollar sign, or nothing",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("_id INT", "_id INT, `a.b` INT", fires=(("a.b",),), facts=(StepFact("documents"),)),
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT, `$ref`: INT>",
            fires=(("s", "$ref"),),
            facts=(StepFact("documents"),),
        ),
        Example(
            "_id INT",
            "_id INT, ab INT",
            facts=(StepFact("documents"),),
            why="an ordinary name: field-appeared",
        ),
        Example("id INT", "id INT, `a.b` INT", why="a table and no collection: target-illegal-characters"),
    ),
)
