"""A bit string has another length.

What happened: A BIT column has another length, or a bit string became a boolean.

Why it hurts: A single bit is a boolean in events, and several bits are bytes: no reader of one reads the
other. Between longer lengths only the number of bytes differs, which is a note.

What to do: Add a second column at the target for the new form. Between longer lengths nothing is needed.

Sources: Debezium documentation, data type mappings (BIT(1) is BOOLEAN, BIT(n) is io.debezium.data.Bits).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, cap_verdicts, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Bits, Boolean

NAME = "bit-length-changed"
VERDICTS = parse_verdicts("B B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds bit strings of another length, and exchanges of bit strings and booleans."""
    kinds: tuple[type[Bits | Boolean], ...] = (Bits, Boolean)
    for change in _kinds.find_type_changes(transition, kinds, kinds):
        several = Bits(1) not in (change.old, change.new) and type(change.old) is type(change.new)
        yield _kinds.build_finding(
            NAME,
            cap_verdicts("note", VERDICTS) if several else VERDICTS,
            transition,
            change,
            "the bytes have another length"
            if several
            else "events carry one bit as a boolean, and several as bytes",
            "read the length from each record's own schema"
            if several
            else "add a second column at the target and fill it from both",
        )


RULE = Rule(
    name=NAME,
    title="a bit string has another length",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("b BITS(1)", "b BITS(8)", fires=(("b",),)),
        Example("b BITS(8)", "b BITS(16)", fires=(("b",),)),
        Example("b BOOLEAN", "b BITS(4)", fires=(("b",),)),
        Example("b BOOLEAN", "b BITS(1)", fires=(("b",),)),
        Example("b BOOLEAN", "b TINYINT", why="a number: boolean-to-integer"),
        Example("b BITS(8)", "b BITS(8)", why="nothing changed"),
    ),
)
