"""A new column allows NULL.

What happened: The table has a new column that allows NULL. Columns inside a struct have their own rule,
nested-field-added.

Why it hurts: It hurts no reader. A new Avro reader fills the column of old data with null, and an old reader
ignores it. The lake's old rows have NULL in it.

What to do: Nothing is needed for readers. A plan adds the column at the target; fill its old rows there if
they need a value.

Sources: Avro specification, Schema Resolution (a field without a writer has its default); Confluent AvroData
(optional fields default to null).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import AddColumn
from schemaman.model.schema import Column

NAME = "column-added-nullable"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new columns that allow NULL."""
    for change in transition.changes:
        match change:
            case AddColumn((name,) as path, Column(nullable=True) as column):
                definition = _words.describe_column(column)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    f"{name} is new, {definition}: no reader needs it, and old rows have NULL there",
                    VERDICTS,
                    claims=_words.claim_name_notes(path),
                    fixes=(
                        "add it at the target with the next plan; fill its old rows if they need a value",
                    ),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a new column allows NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("id INT NOT NULL", "id INT NOT NULL, note STRING", fires=(("note",),)),
        Example("id INT NOT NULL", "id INT NOT NULL, n INT DEFAULT 0", fires=(("n",),)),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, note STRING NOT NULL",
            why="old data has no value for it: column-added-required",
        ),
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT, b: INT>",
            why="the table has the same columns: nested-field-added",
        ),
        Example(
            "id INT NOT NULL, a INT",
            "id INT NOT NULL, b INT",
            why="the column has another name: column-renamed",
            renames={"a": "b"},
        ),
    ),
)
