"""Events call a column by another name.

What happened: The column has the same name at the source, and its field in events has another one. The
connector's settings for names changed, or a transform renames the field.

Why it hurts: Readers of events look for the former field: an Avro reader fails, or reads null if the column
is optional. A sink that writes by field names puts the values into another column.

What to do: Set `field.name.adjustment.mode` and the transforms as they were, or let readers use the new field
name. The history of schemaman knows both names, so its own plans and sinks are not affected.

Sources: Debezium documentation, `field.name.adjustment.mode`; Kafka documentation, ReplaceField; Avro
specification, Schema Resolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import ChangeAttribute, RenameColumn

NAME = "emitted-name-changed"
VERDICTS = parse_verdicts("B B B D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that keep their name at the source and have another one in events."""
    renamed = {c.name for c in transition.changes if isinstance(c, RenameColumn)}
    for change in transition.changes:
        match change:
            case ChangeAttribute((name,) as path, "emitted_name", str() as old, str() as new):
                if name in renamed:
                    continue
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old,
                    new,
                    f"events call {name} {new} and no longer {old}: readers of {old} fail or read null",
                    _words.resolve_rename(VERDICTS, transition, name, name),
                    fixes=(
                        "set field.name.adjustment.mode and the transforms of the connector as they were",
                        f"or let readers of events use {new}",
                    ),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="events call a column by another name",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example(
            "id INT, `a-b` INT NOT NULL EMITTED 'a-b'",
            "id INT, `a-b` INT NOT NULL EMITTED 'ab'",
            fires=(("a-b",),),
        ),
        Example("id INT, n INT EMITTED 'n'", "id INT, n INT EMITTED 'N'", fires=(("n",),)),
        Example(
            "id INT, n INT",
            "id INT, n INT EMITTED 'n'",
            why="the first event with the column: nothing changed",
        ),
        Example(
            "id INT, a INT EMITTED 'a'",
            "id INT, b INT EMITTED 'b'",
            why="the column has another name: column-renamed",
            renames={"a": "b"},
        ),
    ),
)
