"""A new optional field has no default in Avro.

What happened: The Avro schema has a new field that allows null and has no default.

Why it hurts: A new reader finds neither a value nor a default in old data and fails, although the field is
optional. A registry with level BACKWARD or FULL refuses the schema.

What to do: Give the field the default null, with `null` as the first branch of its union.

Sources: Avro specification, Schema Resolution (a reader's field without default must be written) and Unions
(the default is of the first branch).
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

NAME = "column-added-no-avro-default"
VERDICTS = parse_verdicts("B N D N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new columns whose field in the Avro schema allows null and has no default."""
    names = {name for fact in transition.list_facts("no-avro-default") for name in fact.columns}
    for change in transition.changes:
        match change:
            case AddColumn((name,) as path, column, _) if name in names:
                definition = _words.describe_column(column)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    f"{name} is new, {definition}, and its field has no default: new readers need one",
                    VERDICTS,
                    fixes=(f'write the field as {{"name": "{name}", "type": ["null", …], "default": null}}',),
                    claims=(*_words.claim_new_column(path), ("avro-incompatible", path)),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a new optional field has no default in Avro",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example(
            "id INT", "id INT, n INT", fires=(("n",),), facts=(StepFact("no-avro-default", columns=("n",)),)
        ),
        Example("id INT", "id INT, n INT", why="the field has the default null: column-added-nullable"),
        Example("id INT", "id INT, n INT NOT NULL", why="it allows no null: column-added-required"),
    ),
)
