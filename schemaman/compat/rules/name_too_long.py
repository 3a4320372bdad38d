"""A name is longer than catalogues allow.

What happened: The name of a column has more than 255 characters, which is the limit of the Glue catalogue; a
Hive metastore has 767 bytes.

Why it hurts: A catalogue refuses the table, or cuts the name.

What to do: Use a shorter name at the source, or leave the column out of the stream.

Sources: AWS Glue documentation, Column (name: 1 to 255 bytes); Hive metastore schema, COLUMNS_V2.
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

NAME = "name-too-long"
VERDICTS = parse_verdicts("N N N D D D ·")
LIMIT = 255
"""The most bytes of a name in the strictest of the usual catalogues."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds names that a new table, a new column or a rename brought."""
    if transition.new is None or transition.has_fact("documents"):
        return
    fresh = _words.find_new_names(transition)
    for name in transition.new.names:
        path = (name,)
        if name in fresh and len(name.encode()) > LIMIT:
            yield Finding(
                NAME,
                transition.table,
                path,
                "",
                name,
                f"the name {name[:20]}… has {len(name.encode())} bytes: catalogues take {LIMIT}",
                VERDICTS,
                fixes=("use a shorter name at the source, or leave the column out of the stream",),
                claims=_words.claim_new_column(path),
            )


RULE = Rule(
    name=NAME,
    title="a name is longer than catalogues allow",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT", f"id INT, {'n' * 300} INT", fires=(("n" * 300,),)),
        Example("id INT", f"id INT, {'n' * 200} INT", why="short enough: column-added-nullable"),
        Example(f"{'n' * 300} INT", f"{'n' * 300} BIGINT", why="the name was there before: integer-widened"),
    ),
)
