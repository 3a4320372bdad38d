"""A decimal is encoded in another way.

What happened: A column that had a decimal type is a floating-point number, a number without declared
precision, or a text of the same source type; or the other way round. Either the source changed its type, or
the connector its `decimal.handling.mode`.

Why it hurts: Events carry unscaled bytes, a record of scale and bytes, a double or a text: no reader of one
reads another. A double has about fifteen digits, so sums of money differ.

What to do: Set `decimal.handling.mode` as it was. If the source changed its type, add a second column at the
target and fill it from both.

Sources: Debezium documentation, decimal.handling.mode (precise, double, string) and VariableScaleDecimal;
Avro specification, Logical Types (decimal).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.types import Decimal, Floating, Numeric, Type

NAME = "decimal-representation-changed"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds decimals that became numbers or texts of another encoding, and back."""
    changes: tuple[_kinds.TypeChange[Type, Type], ...] = (
        *_kinds.find_exchanges(transition, _kinds.DECIMALS, (Floating,)),
        *_kinds.find_exchanges(transition, (Decimal,), (Numeric,)),
        *(
            change
            for change in _kinds.find_exchanges(transition, _kinds.DECIMALS, _kinds.TEXTS)
            if _words.keeps_source_type(transition, change.path)
        ),
    )
    for change in changes:
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "events carry the number in another form, which readers of the old form cannot read",
            "set decimal.handling.mode of the connector as it was",
            "or add a second column at the target and fill it from both",
        )


RULE = Rule(
    name=NAME,
    title="a decimal is encoded in another way",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("n DECIMAL(10,2)", "n DOUBLE", fires=(("n",),)),
        Example("n DOUBLE", "n DECIMAL(10,2)", fires=(("n",),)),
        Example("n NUMERIC", "n DECIMAL(10,2)", fires=(("n",),)),
        Example("n DECIMAL(10,2) SOURCE 'numeric'", "n STRING SOURCE 'numeric'", fires=(("n",),)),
        Example(
            "s STRUCT<n: DECIMAL(10,2)>",
            "s STRUCT<n: NUMERIC>",
            fires=(
                (
                    "s",
                    "n",
                ),
            ),
        ),
        Example("n DECIMAL(10,2)", "n DECIMAL(10,4)", why="the same encoding: decimal-scale-changed"),
        Example(
            "n DECIMAL(10,2) SOURCE 'numeric'",
            "n STRING SOURCE 'text'",
            why="the source has texts now: number-to-string",
        ),
        Example("n INT", "n DECIMAL(10,2)", why="it was no decimal: integer-to-decimal"),
    ),
)
