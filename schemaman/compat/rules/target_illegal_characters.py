"""A lake table cannot have the name as it is.

What happened: The name of a column has a space, a comma, a bracket or another character that Delta refuses,
or a dot, which Iceberg reads as a path.

Why it hurts: Delta takes such a name only with column mapping, which a reader must support. In Iceberg a dot
in a name is taken for a nested field.

What to do: Let the plan switch column mapping on, after your approval, or use another name at the source.

Sources: Delta Lake documentation, Column Mapping (characters in names); Iceberg specification, column names
and nested fields.
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

NAME = "target-illegal-characters"
VERDICTS = parse_verdicts("N N D D N D ·")
ILLEGAL = frozenset(" ,;{}()\n\t=.")
"""The characters that Delta refuses without column mapping, and the dot."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds names that a new table, a new column or a rename brought."""
    if transition.new is None or transition.has_fact("documents"):
        return
    fresh = _words.find_new_names(transition)
    for name in transition.new.names:
        path = (name,)
        if name in fresh and ILLEGAL & {*name}:
            yield Finding(
                NAME,
                transition.table,
                path,
                "",
                name,
                f"the name {name!r} has characters that Delta or Iceberg do not store as they are",
                VERDICTS,
                fixes=("let the plan switch column mapping on, or use another name at the source",),
                claims=_words.claim_new_column(path),
            )


RULE = Rule(
    name=NAME,
    title="a lake table cannot have the name as it is",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT", "id INT, `odd name` INT", fires=(("odd name",),)),
        Example("", "`a.b` INT", fires=(("a.b",),)),
        Example("id INT", "id INT, `a-b` INT", why="a hyphen is allowed: column-added-nullable"),
        Example(
            "id INT, `odd name` INT",
            "id INT, `odd name` BIGINT",
            why="the name was there before: integer-widened",
        ),
    ),
)
