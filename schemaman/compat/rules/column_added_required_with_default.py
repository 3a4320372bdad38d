"""A new column forbids NULL and has a default.

What happened: The table has a new NOT NULL column, and the source fills its old rows with the default.

Why it hurts: Readers of events do not break: a new Avro reader fills the column of old data with the default.
The lake differs from the source, since its old rows have NULL. Debezium sends no event for the rows that the
source filled. A default that is an expression is none in Avro, and then a new reader refuses old data.

What to do: Fill the column of old rows at the target with the default after the plan has added it. Queries
that count or sum the column need that.

Sources: Avro specification, Schema Resolution (a field without a writer has its default); Debezium
documentation (ALTER TABLE sends no row events).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import AddColumn
from schemaman.model.schema import Column

NAME = "column-added-required-with-default"
VERDICTS = parse_verdicts("N N D D D D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new NOT NULL columns that have a default."""
    for change in transition.changes:
        match change:
            case AddColumn((name,) as path, Column(nullable=False) as column) if column.default is not None:
                definition = _words.describe_column(column)
                unsure = transition.is_unconfirmed(f"nullable:{name}")
                refused = transition.old is not None and _words.is_unfilled(column, transition.old)
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    f"{name} is new, {definition}: old rows have it at the source and NULL in the lake",
                    _words.apply_resolution(VERDICTS, backward=refused, forward=False),
                    claims=_words.claim_name_notes(path),
                    fixes=(f"fill {name} of old rows at the target with {format_scalar(column.default)}",),
                )
                yield _words.mark_unsure(finding, "note") if unsure else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a new column forbids NULL and has a default",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("id INT NOT NULL", "id INT NOT NULL, n INT NOT NULL DEFAULT 0", fires=(("n",),)),
        Example("id INT NOT NULL", "id INT NOT NULL, n INT NOT NULL DEFAULT 'nextval(1)'", fires=(("n",),)),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, n INT NOT NULL DEFAULT 0",
            fires=(("n",),),
            unconfirmed=("nullable:n",),
        ),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, n INT NOT NULL",
            why="no default fills old data: column-added-required",
        ),
        Example(
            "id INT NOT NULL", "id INT NOT NULL, n INT DEFAULT 0", why="it allows NULL: column-added-nullable"
        ),
        Example(
            "id INT NOT NULL, n INT NOT NULL",
            "id INT NOT NULL, n INT NOT NULL DEFAULT 0",
            why="the column was there before: default-added",
        ),
    ),
)
