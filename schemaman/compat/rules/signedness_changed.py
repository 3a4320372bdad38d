"""An integer column got or lost its sign.

What happened: A signed integer became unsigned, or the other way round, and neither type holds all values of
the other.

Why it hurts: Negative values, or those above the signed limit, have no place in the other type. The type in
events may change with it: Debezium sends unsigned integers one size larger, and unsigned BIGINT as long. The
lake holds unsigned BIGINT as DECIMAL(20,0), and Iceberg cannot make that of an integer column.

What to do: Look whether the source has values that only one of the types can hold. Keep the wider type at the
target.

Sources: Debezium documentation, data type mappings (unsigned integers); Avro specification, Schema Resolution
(promotions).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Integer, widens

NAME = "signedness-changed"
VERDICTS = parse_verdicts("N B D N N D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds integers that hold neither all old values nor fewer bits."""
    for change in _kinds.find_type_changes(transition, (Integer,), (Integer,)):
        if not widens(old := change.old, new := change.new) and new.bits >= old.bits:
            yield _kinds.build_finding(
                NAME,
                _find_row(change.new),
                transition,
                change,
                "each type has values that the other cannot hold",
                "look for values that only one of the types holds; keep the wider type at the target",
                milder="note",
            )


def _find_row(new: Integer) -> Verdicts:
    """Returns the verdicts: the lake holds BIGINT UNSIGNED as a decimal, which Iceberg cannot widen to."""
    return {**VERDICTS, "iceberg": "break"} if _kinds.is_unsigned_long(new) else VERDICTS


RULE = Rule(
    name=NAME,
    title="an integer column got or lost its sign",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n INT UNSIGNED", "n INT", fires=(("n",),)),
        Example("n INT", "n INT UNSIGNED", fires=(("n",),)),
        Example("n BIGINT", "n BIGINT UNSIGNED", fires=(("n",),)),
        Example(
            "s STRUCT<n: INT>",
            "s STRUCT<n: BIGINT UNSIGNED>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n SMALLINT UNSIGNED", "n INT", why="every old value fits: integer-widened"),
        Example("n INT", "n SMALLINT UNSIGNED", why="it has fewer bits: integer-narrowed"),
        Example("n INT", "n INT", why="nothing changed"),
    ),
)
