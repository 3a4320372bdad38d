"""A table was dropped at the source.

What happened: The source dropped the table. No records arrive under this name any more.

Why it hurts: The table in the lake gets no more changes, and nothing in it shows that: jobs go on reading old
rows. A table of the same name that is created later is another table.

What to do: schemaman never drops the table in the lake. Inform its readers, and archive or drop it by hand
when no reader uses it any more.

Sources: Debezium documentation, schema change topic (DROP TABLE events); PostgreSQL sends no event for a
dropped table.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _words

NAME = "table-dropped"
VERDICTS = parse_verdicts("· · B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the end of a table that no other table follows."""
    event, table = transition.event, transition.table
    renamed = event is not None and event.kind == "renamed" and event.other is not None
    if transition.old is None or transition.new is not None or renamed or transition.successor is not None:
        return
    if _words.find_working_copy(table) is not None:
        return
    message = f"{table} was dropped at the source: its copy in the lake gets no more changes"
    fixes = ("keep the lake's table as an archive (the default) and inform its readers",)
    yield Finding(NAME, table, (), str(table), "", message, VERDICTS, fixes=fixes)


RULE = Rule(
    name=NAME,
    title="a table was dropped at the source",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT NOT NULL, PRIMARY KEY (id)", "", fires=((),)),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "",
            successor="id INT NOT NULL, PRIMARY KEY (id)",
            why="a table of its name followed: table-recreated",
        ),
        Example("", "id INT", why="a table appeared: table-created", facts=(StepFact("created"),)),
        Example(
            "id INT NOT NULL, note STRING",
            "id BIGINT, city STRING",
            why="the table is still there, only its columns differ",
        ),
    ),
)
