"""Two names look alike and have other letters.

What happened: A new name equals another one once both are written in one form of Unicode, as `é` in one or in
two characters.

Why it hurts: People and some engines take both for one column, and a query finds the other one. Formats that
normalise names refuse the table.

What to do: Rename one of the columns at the source.

Sources: Unicode Standard Annex 15, Unicode Normalization Forms (NFKC).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _words

NAME = "unicode-normalisation-collision"
VERDICTS = parse_verdicts("D D D D D D ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds groups of names that became alike by a new table, a new column or a rename."""
    if transition.new is None or all(name.isascii() for name in transition.new.names):
        return
    fresh = _words.find_new_names(transition)
    groups: dict[str, list[str]] = {}
    for name in transition.new.names:
        groups.setdefault(unicodedata.normalize("NFKC", name), []).append(name)
    for group in groups.values():
        arrived = [name for name in group if name in fresh]
        if arrived and len(group) > 1:
            yield Finding(
                NAME,
                transition.table,
                (arrived[-1],),
                "",
                ", ".join(map(ascii, group)),
                f"the columns {', '.join(map(ascii, group))} are one name in one form of Unicode",
                VERDICTS,
                fixes=(f"rename {arrived[-1]!a} at the source",),
                claims=_words.claim_new_column((arrived[-1],)),
            )


RULE = Rule(
    name=NAME,
    title="two names look alike and have other letters",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("`caf\u00e9` INT", "`caf\u00e9` INT, `cafe\u0301` INT", fires=(("cafe\u0301",),)),
        Example("", "`\uff41` INT, a INT", fires=(("a",),)),
        Example(
            "`caf\u00e9` INT",
            "`caf\u00e9` INT, cafe INT",
            why="an accent is another letter: column-added-nullable",
        ),
        Example("a INT", "a INT, A INT", why="another case and no other form: case-collision"),
    ),
)
