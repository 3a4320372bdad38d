"""A table is in another database or schema.

What happened: The source moved the table to another database or schema, perhaps under another name.

Why it hurts: Records come in another topic, and their Avro schema has another full name: readers of the old
one get no more changes, and refuse the new data.

What to do: Let the target and its readers follow the new name. Check that the connector reads the other
database or schema.

Sources: Debezium documentation, schema change topic (RENAME TABLE events name both tables) and
table.include.list; Avro specification, Schema Resolution (record names must match).
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
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import TableEvent
from schemaman.model.schema import TableId
from schemaman.model.shell import build_command

NAME = "table-moved"
VERDICTS = parse_verdicts("B B B D D B D")
_MOVED, _RENAMED = (
    TableEvent("renamed", Coordinates("shop", 0, 7), 1, TableId("shop", "app", schema, "sales"))
    for schema in ("archive", "public")
)


def check(transition: Transition) -> Iterator[Finding]:
    """Finds the end of a table that goes on in another database or schema."""
    table, event = transition.table, transition.event
    ended = transition.old is not None and transition.new is None
    if ended and event is not None and event.kind == "renamed" and event.other is not None:
        if not _words.is_moved(table, event.other) or _words.find_working_copy(table) is not None:
            return
        command = build_command(("plan",), (str(event.other),))
        yield Finding(
            NAME,
            table,
            (),
            str(table),
            str(event.other),
            f"{table} is {event.other} now: records come in another topic, with another name of their schema",
            VERDICTS,
            fixes=(
                f"let the target follow the new name: {command}",
                "check that table.include.list of the connector has it",
            ),
            commands=(command,),
        )


RULE = Rule(
    name=NAME,
    title="a table is in another database or schema",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="tables",
    examples=(
        Example("id INT", "", fires=((),), event=_MOVED),
        Example("id INT", "", event=_RENAMED, why="the same schema: table-renamed"),
        Example("id INT", "", why="no other name is known: table-dropped"),
    ),
)
