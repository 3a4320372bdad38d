"""A table has another name.

What happened: The source renamed the table. No records arrive under the old name any more.

Why it hurts: The table in the lake gets no more changes, and nothing in it shows that: jobs go on reading old
rows. The records of the new name come in another topic and under another subject.

What to do: Let the target follow the new name, and inform the readers. schemaman never renames or drops the
table in the lake by itself.

Sources: Debezium documentation, schema change topic (RENAME TABLE events name both tables).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import TableEvent
from schemaman.model.schema import TableId
from schemaman.model.shell import build_command

_RENAMED = TableEvent("renamed", Coordinates("shop", 0, 7), 1, TableId("shop", "app", "public", "sales"))

NAME = "table-renamed"
VERDICTS = parse_verdicts("· · B D D B D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the end of a table that goes on under another name."""
    table, event = transition.table, transition.event
    ended = transition.old is not None and transition.new is None
    if ended and event is not None and event.kind == "renamed" and event.other is not None:
        if _words.find_working_copy(table) is not None or _words.is_moved(table, event.other):
            return
        command = build_command(("plan",), (str(event.other),))
        yield Finding(
            NAME,
            table,
            (),
            str(table),
            str(event.other),
            f"{table} is now called {event.other}: no records arrive under the old name any more",
            VERDICTS,
            fixes=(f"let the target follow the new name, and point its readers there: {command}",),
            commands=(command,),
        )


RULE = Rule(
    name=NAME,
    title="a table has another name",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT NOT NULL, PRIMARY KEY (id)", "", fires=((),), event=_RENAMED),
        Example("id INT NOT NULL, PRIMARY KEY (id)", "", why="nothing shows another name: table-dropped"),
        Example("id INT", "id BIGINT", why="the table is still there"),
    ),
)
