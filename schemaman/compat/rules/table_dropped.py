"""A table is gone from the source.

What happened: The source dropped the table, or gave it another name; nothing arrives under this name
any more.

Why it hurts: The table in the lake stands still, and nothing in it says so: jobs go on reading what was true
once. A table of the same name that is created later shares nothing with it but the name.

What to do: The lake's table is never dropped by schemaman. Tell its readers, and archive or drop it by hand
when nobody reads it. After a rename, let the target follow the new name.

Sources: Debezium documentation, schema change topic (DROP and RENAME events); PostgreSQL tells of no drop.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts

NAME = "table-dropped"
VERDICTS = parse_verdicts("· · B B B B B")
RENAMED = parse_verdicts("· · B D D B D")


def check(transition: Transition) -> Iterator[Finding]:
    """The end of a table."""
    if transition.old is None or transition.new is not None:
        return
    event, table = transition.event, transition.table
    if event is not None and event.kind == "renamed" and event.other is not None:
        told = f"{table} is now called {event.other}: nothing arrives under the old name any more"
        fix = f"let the target follow the new name, and point its readers there: schemaman plan {event.other}"
        yield Finding(NAME, table, (), str(table), str(event.other), told, RENAMED, fixes=(fix,))
        return
    told = f"{table} was dropped at the source: its copy in the lake stands still"
    fixes = ("keep the lake's table as an archive (the default) and tell its readers that it stands still",)
    yield Finding(NAME, table, (), str(table), "", told, VERDICTS, fixes=fixes)


RULE = Rule(
    name=NAME,
    title="a table is gone from the source",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    examples=(
        Example("id INT NOT NULL, PRIMARY KEY (id)", "", fires=((),)),
        Example("", "id INT NOT NULL, PRIMARY KEY (id)", why="a table appeared: table-created"),
        Example(
            "id INT NOT NULL, note STRING",
            "id BIGINT, city STRING",
            why="the table is still there, whatever its columns are",
        ),
    ),
)
