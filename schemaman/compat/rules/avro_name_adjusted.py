"""The name of a column is another one in Avro.

What happened: The name of a new column has characters that Avro does not allow, and events carry the column
under an adjusted name.

Why it hurts: Nothing fails. Readers of events find the column under another name than readers of the source.

What to do: Nothing is needed. Use a name of letters, digits and underscores at the source if both names
should be equal.

Sources: Avro specification, Names; Debezium documentation, field.name.adjustment.mode.
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
from schemaman.model.name_adjustment import adjust_field

NAME = "avro-name-adjusted"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds names that a new table, a new column or a rename brought."""
    if transition.new is None or transition.old is None or transition.has_fact("documents"):
        return
    fresh = _words.find_new_names(transition)
    for name in transition.new.names:
        path = (name,)
        if name in fresh and adjust_field(name, "avro") != name:
            yield Finding(
                NAME,
                transition.table,
                path,
                "",
                name,
                f"{name!r} is {adjust_field(name, 'avro')} in Avro: readers of events see that name",
                VERDICTS,
                fixes=("nothing is needed; letters, digits and underscores keep one name everywhere",),
                claims=(),
            )


RULE = Rule(
    name=NAME,
    title="the name of a column is another one in Avro",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT", "id INT, `a-b` INT", fires=(("a-b",),)),
        Example("id INT, x INT", "id INT, `2nd` INT", fires=(("2nd",),), renames={"x": "2nd"}),
        Example("id INT", "id INT, a_b INT", why="Avro allows the name: column-added-nullable"),
        Example(
            "id INT, `a-b` INT", "id INT, `a-b` BIGINT", why="the name was there before: integer-widened"
        ),
    ),
)
