"""The table has a column that no event carries.

What happened: The declared structure has the column, and events after the change do not: a filter or a
transform leaves it out, or the connector has no converter for it.

Why it hurts: Nothing fails at the source. Queries that select the column get no new values, and an old Avro
reader with a required field fails.

What to do: Look at `column.exclude.list`, `column.include.list` and the transforms of the connector. If the
column must stay out, tell its readers.

Sources: Debezium documentation, column.include.list and column.exclude.list; Kafka documentation,
ReplaceField.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    cap_verdicts,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.diff import (
    AddColumn,
)
from schemaman.model.types import (
    Unknown,
)

NAME = "column-vanished-silently"
VERDICTS = parse_verdicts("N B B D D B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds declared columns that events do not have; unknown types have their own rule."""
    new = transition.new
    added = {c.path for c in transition.changes if isinstance(c, AddColumn)}
    for fact in transition.list_facts("field-lost"):
        for name in fact.columns:
            column = new.column(name) if new is not None else None
            if column is None or isinstance(column.type, Unknown):
                continue
            row = _words.restrict_to_column(VERDICTS, transition, name)
            row = _words.apply_resolution(row, backward=False, forward=not column.nullable)
            path = (name,)
            yield Finding(
                NAME,
                transition.table,
                path,
                _words.describe_column(column),
                "",
                f"the table has {name}, and no event carries it: its readers get no values",
                cap_verdicts("danger", row) if path in added else row,
                fixes=(
                    "look for the column in column.exclude.list, column.include.list and the transforms",
                    f"or tell the readers of {name} that it gets no new values",
                ),
                claims=_words.claim_new_column(path),
            )


RULE = Rule(
    name=NAME,
    title="the table has a column that no event carries",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example(
            "id INT, a INT",
            "id INT, a INT, b INT",
            fires=(("a",),),
            facts=(StepFact("field-lost", columns=("a",)),),
        ),
        Example("id INT", "id INT, b INT", fires=(("b",),), facts=(StepFact("field-lost", columns=("b",)),)),
        Example("id INT, a INT", "id INT", why="the table has no such column any more: column-dropped"),
        Example(
            "id INT",
            "id INT, g UNKNOWN('box')",
            facts=(StepFact("field-lost", columns=("g",)),),
            why="no known type: type-unmapped",
        ),
    ),
)
