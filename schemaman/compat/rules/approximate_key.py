"""A floating-point number is part of the key.

What happened: A column of the key is a floating-point number since the step.

Why it hurts: Equal numbers may have two forms, and two engines may round differently: a merge misses a row,
or finds another one.

What to do: Use an integer, a decimal or a text as the key.

Sources: IEEE 754 (signed zeros and NaN); Spark SQL reference, floating-point special values (NaN equals NaN
in joins).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _keys, _words
from schemaman.model.ddl import format_type
from schemaman.model.types import (
    Floating,
)

NAME = "approximate-key"
VERDICTS = parse_verdicts("· · D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds floating-point columns that are part of the key and were not, as such, before."""
    new, old = transition.new, transition.old
    if new is None:
        return
    found: list[Finding] = []
    for name in new.key:
        column = new.column(name)
        former = old.column(_words.find_former_name(transition, name)) if old is not None else None
        before = former is not None and old is not None and former.name in old.key and former.type
        if column is None or not isinstance(column.type, Floating) or isinstance(before, Floating):
            continue
        found.append(
            Finding(
                NAME,
                transition.table,
                (name,),
                "",
                format_type(column.type),
                f"the key column {name} is a {format_type(column.type)}: equal keys may differ in a bit",
                VERDICTS,
                fixes=("use an integer, a decimal or a text as the key",),
            )
        )
    yield from _keys.join_findings(transition, found)


RULE = Rule(
    name=NAME,
    title="a floating-point number is part of the key",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example("", "x DOUBLE NOT NULL, PRIMARY KEY (x)", fires=(("x",),)),
        Example(
            "x DECIMAL(9,2) NOT NULL, PRIMARY KEY (x)", "x DOUBLE NOT NULL, PRIMARY KEY (x)", fires=(("x",),)
        ),
        Example(
            "x FLOAT NOT NULL, PRIMARY KEY (x)",
            "x DOUBLE NOT NULL, PRIMARY KEY (x)",
            why="it was one before: key-column-type-changed",
        ),
        Example(
            "x INT NOT NULL, PRIMARY KEY (x)",
            "x INT NOT NULL, y DOUBLE, PRIMARY KEY (x)",
            why="no column of the key: column-added-nullable",
        ),
    ),
)
