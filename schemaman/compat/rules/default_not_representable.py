"""A default is an expression or no date.

What happened: The default of a column is a function, such as the current time, or a zero date of MySQL.
Events cannot carry it: they have a placeholder, such as the epoch, or no default.

Why it hurts: A reader fills data from before the column with the placeholder, and takes it for a value.

What to do: Do not rely on the default in the schema. Fill old rows at the target with the value that the
source gave them.

Sources: Debezium documentation, MySQL default values (zero dates, CURRENT_TIMESTAMP become the epoch);
PostgreSQL documentation, Default Values.
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
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import (
    ChangeDefault,
)

NAME = "default-not-representable"
VERDICTS = parse_verdicts("D D D N N D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds defaults that became expressions or zero dates."""
    for change in transition.changes:
        match change:
            case ChangeDefault((name,) as path, old, str() as new) if _words.is_expression(new):
                if isinstance(old, str) and _words.is_expression(old):
                    continue
                before, after = "" if old is None else format_scalar(old), format_scalar(new)
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    before,
                    after,
                    f"the default of {name} is {after} now: events carry a placeholder for it, or none",
                    VERDICTS,
                    fixes=(
                        f"fill {name} of old rows at the target; do not rely on the default in the schema",
                    ),
                    claims=(("default-added", path), ("default-changed", path)),
                )
                unsure = transition.is_unconfirmed(f"default:{name}")
                yield _words.mark_unsure(finding, "note") if unsure else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a default is an expression or no date",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="defaults",
    examples=(
        Example("t TIMESTAMP_NTZ(6)", "t TIMESTAMP_NTZ(6) DEFAULT 'CURRENT_TIMESTAMP'", fires=(("t",),)),
        Example("d DATE DEFAULT '2020-01-01'", "d DATE DEFAULT '0000-00-00'", fires=(("d",),)),
        Example("d STRING DEFAULT 'a'", "d STRING DEFAULT 'b'", why="a constant: default-changed"),
        Example("d STRING", "d STRING DEFAULT 'current'", why="a constant: default-added"),
    ),
)
