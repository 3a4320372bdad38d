"""The source spells a type differently.

What happened: The database's own word for the type of a column changed, and the type is the same to all
readers: `int4` and `integer`, or a display width.

Why it hurts: It hurts no reader: events and the lake have the same type. Only the word in the history
differs.

What to do: Nothing. If the source has a type of its own behind the word, look whether its values changed.

Sources: Debezium documentation, data type mappings (several words of a database have one type in events).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.model.diff import ChangeAttribute, ChangeType

NAME = "type-alias-only"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns of which only the source's word for the type changed."""
    retyped = {c.path[0] for c in transition.changes if isinstance(c, ChangeType)}
    for change in transition.changes:
        match change:
            case ChangeAttribute((name,) as path, "source_type", str() as old, str() as new):
                if name in retyped or old.casefold() == new.casefold():
                    continue
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old,
                    new,
                    f"the source calls the type of {name} {new} and no longer {old}: readers see no change",
                    VERDICTS,
                    fixes=("nothing is needed: events and the lake have the same type",),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="the source spells a type differently",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("id INT SOURCE 'int4'", "id INT SOURCE 'integer'", fires=(("id",),)),
        Example("n INT SOURCE 'INT(11)'", "n INT SOURCE 'INT'", fires=(("n",),)),
        Example("id INT SOURCE 'int'", "id INT SOURCE 'INT'", why="upper and lower case only: the same word"),
        Example("id INT", "id INT SOURCE 'int4'", why="the word was not known before"),
        Example("id INT SOURCE 'int4'", "id BIGINT SOURCE 'int8'", why="another type: integer-widened"),
    ),
)
