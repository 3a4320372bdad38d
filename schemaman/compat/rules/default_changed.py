"""A column has another default.

What happened: A column had a default and has another one now.

Why it hurts: Rows that were written before have their values. A reader that fills data from before the column
uses the new default for all of it. So the same old record has another value than yesterday.

What to do: Fill old rows once, with the default of their time, and do not rely on the schema for it.

Sources: Avro specification, Schema Resolution (the reader's default fills a field that was not written).
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal as Number

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import ChangeDefault
from schemaman.model.schema import Scalar

NAME = "default-changed"
VERDICTS = parse_verdicts("D N N N N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns with another default."""
    for change in transition.changes:
        match change:
            case ChangeDefault((name,) as path, old, new) if old is not None and new is not None:
                if _is_same_number(old, new):
                    continue
                before, after = format_scalar(old), format_scalar(new)
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    before,
                    after,
                    f"the default of {name} went from {before} to {after}: "
                    "data from before the column is filled with another value",
                    VERDICTS,
                    fixes=(f"fill old rows with {before} once, and do not rely on the schema for it",),
                )
                unsure = transition.is_unconfirmed(f"default:{name}")
                yield _words.mark_unsure(finding, "note") if unsure else finding
            case _:
                continue


def _is_same_number(old: Scalar, new: Scalar) -> bool:
    """Returns whether two defaults are one number in two spellings, as '0.00' and '0'."""
    try:
        return Number(str(old)) == Number(str(new))
    except ArithmeticError:
        return False


RULE = Rule(
    name=NAME,
    title="a column has another default",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="defaults",
    examples=(
        Example("n INT NOT NULL DEFAULT 0", "n INT NOT NULL DEFAULT 1", fires=(("n",),)),
        Example("s STRING DEFAULT 'a'", "s STRING DEFAULT 'b'", fires=(("s",),)),
        Example("n INT DEFAULT 0", "n INT DEFAULT 1", fires=(("n",),), unconfirmed=("default:n",)),
        Example(
            "n DECIMAL(9,2) DEFAULT '0.00'",
            "n DECIMAL(9,2) DEFAULT '0'",
            why="the same number, spelled in another way",
        ),
        Example("n INT DEFAULT 5", "n INT", why="it has none now: default-removed"),
        Example("n INT", "n INT DEFAULT 5", why="it had none before: default-added"),
    ),
)
