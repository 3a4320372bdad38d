"""A double column became a float.

What happened: A floating-point column has 32 bits now and had 64.

Why it hurts: New values have about seven digits instead of fifteen. A new Avro reader refuses all old data,
because Avro never promotes double to float. The lake keeps the wider type.

What to do: Keep DOUBLE at the target, which is the default, and keep readers on it as long as they read old
data.

Sources: Avro specification, Schema Resolution (promotions); IEEE 754.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Floating

NAME = "float-narrowed"
VERDICTS = parse_verdicts("B N D N N D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds doubles, also inside structs, arrays and maps, that became floats."""
    for change in _kinds.find_type_changes(transition, (Floating,), (Floating,)):
        if change.new.bits < change.old.bits:
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "new values have about seven digits, and a new reader refuses old data",
                "keep DOUBLE at the target (the default); readers of old rows stay on DOUBLE",
                milder="note",
            )


RULE = Rule(
    name=NAME,
    title="a double column became a float",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n DOUBLE", "n FLOAT", fires=(("n",),)),
        Example(
            "s STRUCT<n: DOUBLE>",
            "s STRUCT<n: FLOAT>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n FLOAT", "n DOUBLE", why="it grew: float-widened"),
        Example("n DOUBLE", "n INT", why="another kind of number: floating-to-integer"),
    ),
)
