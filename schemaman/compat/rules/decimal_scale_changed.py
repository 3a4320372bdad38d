"""A decimal column has another number of digits after the point.

What happened: The scale of a decimal changed; the precision may have changed with it.

Why it hurts: A precise decimal is encoded as an unscaled number in bytes, and only the schema has the
position of the point. Avro's schema resolution ignores the scale: a reader with the other schema reads every
value wrong by a power of ten, without an error. Iceberg cannot change a scale in place. Delta can do so only
if no digit before the point is lost.

What to do: Add a new column in the lake and fill it, or widen both scale and precision on Delta. Read each
record with the schema that it was written with, and never with another one.

Sources: Avro specification, Logical Types (decimal) and Schema Resolution; Iceberg specification, Schema
Evolution (scale is fixed); Delta protocol, Type Widening.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal as Number

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.ddl import format_type
from schemaman.model.types import Decimal, widens

NAME = "decimal-scale-changed"
VERDICTS = parse_verdicts("D D B D B D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds decimals, also inside structs, arrays and maps, with another scale."""
    for change in _kinds.find_type_changes(transition, (Decimal,), (Decimal,)):
        old, new = change.old, change.new
        if old.scale != new.scale:
            yield _kinds.build_finding(
                NAME,
                VERDICTS if widens(old, new) else {**VERDICTS, "delta": "break"},
                transition,
                change,
                f"read with the other schema, each value is wrong by a factor of "
                f"{10 ** abs(new.scale - old.scale)}",
                f"add a second column of type {format_type(new)} at the target and fill it from both",
                f"or leave {_words.join_path(change.path)} as it is at the source and round when reading",
                example=_show_misreading(old, new),
            )


def _show_misreading(old: Decimal, new: Decimal) -> str:
    """Shows one unscaled number as the two schemas read it."""
    unscaled = int("1234567890"[: max(1, min(old.precision, 5))])
    data = unscaled.to_bytes((unscaled.bit_length() + 8) // 8, signed=True).hex(" ")
    before, after = (f"{Number(unscaled).scaleb(-scale):f}" for scale in (old.scale, new.scale))
    return f"the bytes {data} are {before} to the old schema and {after} to the new one"


RULE = Rule(
    name=NAME,
    title="a decimal column has another scale",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("id INT, price DECIMAL(10,2)", "id INT, price DECIMAL(10,4)", fires=(("price",),)),
        Example("id INT, price DECIMAL(10,2)", "id INT, price DECIMAL(12,4)", fires=(("price",),)),
        Example("s STRUCT<p: DECIMAL(9,3)>", "s STRUCT<p: DECIMAL(9,0)>", fires=(("s", "p"),)),
        Example(
            "price DECIMAL(10,2)",
            "price DECIMAL(12,2)",
            why="only the precision grew: decimal-precision-increased",
        ),
        Example(
            "price DECIMAL(10,2)", "price DOUBLE", why="another encoding: decimal-representation-changed"
        ),
        Example(
            "price NUMERIC",
            "price DECIMAL(10,2)",
            why="each value had its own scale: decimal-representation-changed",
        ),
    ),
)
