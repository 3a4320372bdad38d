"""A statement of a migration was not read.

What happened: The migration has a statement, or a whole file, that schemaman does not understand. Or the
statement does not fit the accepted state: a table or a column that it names is not there, or a name is taken.

Why it hurts: What the statement does to the table is not known. It may drop a column or narrow a type, and
later findings about the table may be wrong.

What to do: Read the statement yourself. If the accepted state lacks the table, add it with
`schemaman accept`. If the statement changes no table, waive the finding. Else write it as CREATE, ALTER,
RENAME or DROP TABLE.

Sources: none; this is the finding of last resort for statements.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts

NAME = "statement-not-read"
VERDICTS = parse_verdicts("D D D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds statements about a table that were not read."""
    for beginning, reason in transition.unread_statements:
        yield Finding(
            NAME,
            transition.table,
            (),
            "",
            beginning,
            f"not read: {beginning}: {reason}",
            VERDICTS,
            fixes=(
                "read the statement; waive the finding if it changes no table, or if its change is harmless",
                "add tables that the accepted state lacks: schemaman accept TABLE",
            ),
        )


RULE = Rule(
    name=NAME,
    title="a statement of a migration was not read",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example(
            "id INT",
            "id INT",
            fires=((),),
            unread_statements=(("DO $$ BEGIN … END $$", "what a block does is not known"),),
        ),
        Example("id INT", "id BIGINT", why="the statement was read: integer-widened"),
        Example("id INT", "id INT", why="no statement changes the table"),
    ),
)
