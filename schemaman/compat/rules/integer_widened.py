"""An integer column became larger at the source.

What happened: An integer column has more bits than before, and every old value fits.

Why it hurts: An old Avro reader refuses new data if the change goes from 32 to 64 bits, because Avro promotes
int to long and never back. A Spark job with a fixed schema overflows on large values. Both table formats
widen in place, except to unsigned BIGINT on Iceberg.

What to do: Give readers the new schema before the source writes a value above the old limit. A plan widens
the column at the target.

Sources: Avro specification, Schema Resolution (promotions); Delta protocol, Type Widening; Iceberg
specification, Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Integer, widens

NAME = "integer-widened"
VERDICTS = parse_verdicts("N B D N N N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds integers, also inside structs, arrays and maps, that have more bits and hold every old value."""
    for change in _kinds.find_type_changes(transition, (Integer,), (Integer,)):
        if widens(change.old, change.new):
            yield _kinds.build_finding(
                NAME,
                _find_row(change.new),
                transition,
                change,
                "old readers cannot hold its largest values",
                "give readers the new type before the source writes a value above the old limit",
                milder="note",
            )


def _find_row(new: Integer) -> Verdicts:
    """Returns the verdicts: the lake holds BIGINT UNSIGNED as a decimal, which Iceberg cannot widen to."""
    return {**VERDICTS, "iceberg": "break"} if _kinds.is_unsigned_long(new) else VERDICTS


RULE = Rule(
    name=NAME,
    title="an integer column became larger",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("id INT NOT NULL, n INT", "id INT NOT NULL, n BIGINT", fires=(("n",),)),
        Example("n SMALLINT", "n INT", fires=(("n",),)),
        Example("n SMALLINT UNSIGNED", "n INT", fires=(("n",),)),
        Example("n INT UNSIGNED", "n BIGINT UNSIGNED", fires=(("n",),)),
        Example(
            "a ARRAY<INT>, s STRUCT<n: INT>",
            "a ARRAY<BIGINT>, s STRUCT<n: BIGINT>",
            fires=(
                (
                    "a",
                    "element",
                ),
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n BIGINT", "n INT", why="it shrank: integer-narrowed"),
        Example("n INT", "n BIGINT UNSIGNED", why="negative values do not fit: signedness-changed"),
        Example("n INT", "n DOUBLE", why="another kind of number: integer-to-floating"),
        Example("m MAP<INT, INT>", "m MAP<BIGINT, INT>", why="the key of a map: map-key-type-changed"),
    ),
)
