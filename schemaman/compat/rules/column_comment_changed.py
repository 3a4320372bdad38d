"""A column, or a field of a struct, has another comment.

What happened: The source's text about a column changed, appeared or was removed.

Why it hurts: It hurts no reader: a comment is text only. It may say that the meaning of the column changed.

What to do: Read both comments. A plan writes the new one to the target.

Sources: Avro specification, Complex Types (doc is ignored by Schema Resolution).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import ChangeComment

NAME = "column-comment-changed"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns and nested fields with another comment."""
    for change in transition.changes:
        match change:
            case ChangeComment((_, *_) as path, old, new):
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old or "",
                    new or "",
                    f"the comment of {_words.join_path(path)} changed: the values are the same",
                    VERDICTS,
                    fixes=("read both comments; the next plan writes the new one to the target",),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column has another comment",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="comments",
    examples=(
        Example("n INT COMMENT 'net'", "n INT COMMENT 'net, in euro'", fires=(("n",),)),
        Example(
            "s STRUCT<a: INT>",
            "s STRUCT<a: INT COMMENT 'x'>",
            fires=(
                (
                    "s",
                    "a",
                ),
            ),
        ),
        Example(
            "n INT, COMMENT 'orders'",
            "n INT, COMMENT 'all orders'",
            why="the table's comment: table-comment-changed",
        ),
        Example("n INT COMMENT 'net'", "id INT, n INT COMMENT 'net'", why="the comment is the same"),
    ),
)
