"""No converter knows the type of a column.

What happened: A column has a type that the connector or schemaman does not know. Debezium leaves such a
column out of events, with a warning in its log only.

Why it hurts: Readers get no values of the column, and nothing at the source says so. The lake gets no column
for it.

What to do: Set `include.unknown.datatypes`, or a converter, or cast the column in a view that the connector
reads.

Sources: Debezium documentation, include.unknown.datatypes and custom converters.
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
from schemaman.compat.rules import _kinds, _words
from schemaman.model.diff import (
    AddColumn,
)
from schemaman.model.types import (
    Unknown,
)

NAME = "type-unmapped"
VERDICTS = parse_verdicts("· B B D D B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new columns of unknown types, and those whose field events have lost."""
    added = {c.path for c in transition.changes if isinstance(c, AddColumn)}
    lost = {(name,) for fact in transition.list_facts("field-lost") for name in fact.columns}
    for column in transition.new.columns if transition.new is not None and transition.old is not None else ():
        path = (column.name,)
        if not isinstance(column.type, Unknown) or _kinds.is_kind_of_value(column.type):
            continue
        if path in added | lost:
            row = _words.restrict_to_column(VERDICTS, transition, column.name)
            yield Finding(
                NAME,
                transition.table,
                path,
                "",
                _words.describe_column(column),
                f"no converter knows the type of {column.name}, {column.type.name}: events may lack it",
                cap_verdicts("danger", row) if path in added else row,
                fixes=(
                    "set include.unknown.datatypes or a converter for the connector",
                    f"or leave {column.name} out of the lake, and tell its readers",
                ),
                claims=_words.claim_new_column(path),
            )


RULE = Rule(
    name=NAME,
    title="no converter knows the type of a column",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("id INT", "id INT, g UNKNOWN('box')", fires=(("g",),)),
        Example(
            "id INT, g UNKNOWN('box')",
            "id INT, g UNKNOWN('box'), a INT",
            fires=(("g",),),
            facts=(StepFact("field-lost", columns=("g",)),),
        ),
        Example("id INT", "id INT, g STRING", why="the type is known: column-added-nullable"),
        Example(
            "id INT",
            "id INT, g UNKNOWN('json:string')",
            why="a kind of value in rows without schema: column-added-nullable",
        ),
    ),
)
