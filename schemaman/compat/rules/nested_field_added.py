"""A struct has a new field that allows NULL.

What happened: A struct, also one inside an array or a map, has one more nested field.

Why it hurts: Avro readers do not break: a new reader fills the field with null, and an old one ignores it. A
Spark job with a fixed schema does not see it. A job that writes the whole struct into a table without the
field fails.

What to do: Let a plan add the field at the target before jobs write the struct. Nothing is needed for readers
of events.

Sources: Avro specification, Schema Resolution; Spark SQL reference, store assignment (structs need the same
fields).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import AddColumn

NAME = "nested-field-added"
VERDICTS = parse_verdicts("N N D N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new nested fields that allow NULL."""
    for change in transition.changes:
        match change:
            case AddColumn((_, _, *_) as path, field) if field.nullable:
                name, definition = _words.join_path(path), _words.describe_column(field)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    f"{name} is new, {definition}: jobs with a fixed schema of the struct do not have it",
                    VERDICTS,
                    claims=_words.claim_name_notes(path),
                    fixes=("add the field at the target with the next plan, before jobs write the struct",),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a struct has a new field that allows NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT, b: INT>",
            fires=(
                (
                    "s",
                    "b",
                ),
            ),
        ),
        Example(
            "l ARRAY<STRUCT<a: INT>>",
            "l ARRAY<STRUCT<a: INT, b: STRING>>",
            fires=(
                (
                    "l",
                    "element",
                    "b",
                ),
            ),
        ),
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT, b: INT NOT NULL>",
            why="old data has no value for it: column-added-required",
        ),
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT>, b INT",
            why="the table has a new column: column-added-nullable",
        ),
    ),
)
