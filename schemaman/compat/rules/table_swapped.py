"""Another table took the name of a table.

What happened: The table was renamed, and another table has its name now, as online schema changes and manual
swaps do.

Why it hurts: Events under the name come from another table: its rows may differ, and its structure may. Rows
of the former table stay in the lake.

What to do: Compare a few rows and the structure. If the new table is a copy, nothing else is needed; else
load the target again from a snapshot.

Sources: gh-ost and pt-online-schema-change documentation, cut-over (RENAME TABLE of two tables at once).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    EVERYTHING,
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import TableEvent
from schemaman.model.schema import TableId
from schemaman.model.shell import build_command

NAME = "table-swapped"
VERDICTS = parse_verdicts("D D D D D D B")
_RENAMED = TableEvent("renamed", Coordinates("shop", 0, 7), 1, TableId("shop", "app", "public", "orders_old"))


def check(transition: Transition) -> Iterator[Finding]:
    """Finds tables that were renamed and whose name another table has."""
    event, table = transition.event, transition.table
    renamed = event is not None and event.kind == "renamed" and event.other is not None
    if event is not None and renamed and transition.new is None and transition.successor is not None:
        command = build_command(("accept",), (str(table),))
        yield Finding(
            NAME,
            table,
            (),
            str(table),
            str(event.other),
            f"{table} is called {event.other} now, and another table is called {table}: rows of both mix",
            VERDICTS,
            fixes=(
                "compare rows and structure; if it is no copy, load the target again from a snapshot",
                f"then accept the new structure: {command}",
            ),
            commands=(command,),
            claims=(EVERYTHING,),
        )


RULE = Rule(
    name=NAME,
    title="another table took the name of a table",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT", "", fires=((),), event=_RENAMED, successor="id INT"),
        Example("id INT", "", event=_RENAMED, why="no other table has the name: table-renamed"),
        Example("id INT", "", successor="id INT", why="it was dropped and not renamed: table-recreated"),
    ),
)
