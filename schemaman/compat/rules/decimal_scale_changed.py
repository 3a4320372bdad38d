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

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeType
from schemaman.model.schema import Path
from schemaman.model.types import Decimal, widens

NAME = "decimal-scale-changed"
VERDICTS = parse_verdicts("D D B D B D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds decimals, also inside structs, arrays and maps, with another scale."""
    for change in transition.changes:
        match change:
            case ChangeType(path, Decimal() as old, Decimal() as new) if old.scale != new.scale:
                name, before, after = _words.join_path(path), format_type(old), format_type(new)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    before,
                    after,
                    f"{name} went from {before} to {after}: read with the other schema, "
                    f"each value is wrong by a factor of {10 ** abs(new.scale - old.scale)}",
                    _find_verdicts(transition, path, old, new),
                    fixes=(
                        f"add a second column of type {after} at the target and fill it from both",
                        f"or leave {name} as it is at the source and round when reading",
                    ),
                    witness=_show_misreading(old, new),
                )
            case _:
                continue


def _find_verdicts(transition: Transition, path: Path, old: Decimal, new: Decimal) -> Verdicts:
    verdicts = dict(_words.restrict_to_column(VERDICTS, transition, path[0]))
    if not widens(old, new):
        verdicts["delta"] = "break"
    return verdicts


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
            why="each value had its own scale: another encoding",
        ),
    ),
)
