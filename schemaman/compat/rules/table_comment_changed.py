"""The table has another comment.

What happened: The source's text about the table changed, appeared or was removed.

Why it hurts: It hurts no reader: a comment is text only. It may say that the meaning of the table changed.

What to do: Read both comments. A plan writes the new one to the target.

Sources: Avro specification, Complex Types (doc is ignored by Schema Resolution).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.model.diff import ChangeComment

NAME = "table-comment-changed"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds tables with another comment."""
    for change in transition.changes:
        match change:
            case ChangeComment((), old, new):
                yield Finding(
                    NAME,
                    transition.table,
                    (),
                    old or "",
                    new or "",
                    f"the comment of the table went from {old!r} to {new!r}",
                    VERDICTS,
                    fixes=("read both comments; the next plan writes the new one to the target",),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="the table has another comment",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="comments",
    examples=(
        Example("n INT, COMMENT 'orders'", "n INT, COMMENT 'all orders'", fires=((),)),
        Example("n INT", "n INT, COMMENT 'orders'", fires=((),)),
        Example(
            "n INT COMMENT 'net'",
            "n INT COMMENT 'gross'",
            why="the comment of a column: column-comment-changed",
        ),
        Example("n INT, COMMENT 'orders'", "n INT, a INT, COMMENT 'orders'", why="the comment is the same"),
    ),
)
