"""The source numbers the rows of a column, or no longer.

What happened: A column became an identity, serial or auto-increment column, or is none any more.

Why it hurts: Events carry the same values. A source that no longer numbers rows needs writers that do.

What to do: Nothing is needed for readers. Check who writes the numbers now.

Sources: PostgreSQL documentation, Identity Columns and Serial Types; SQL Server documentation, IDENTITY;
MySQL documentation, AUTO_INCREMENT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import (
    ChangeAttribute,
    ChangeDefault,
)
from schemaman.model.schema import Path

NAME = "identity-changed"
VERDICTS = parse_verdicts("N N N N N N N")
_WORDS = re.compile(r"\b(?:(?:small|big)?serial[248]?|identity|auto_?increment)\b", re.IGNORECASE)


def check(transition: Transition) -> Iterator[Finding]:
    """Finds words of numbering in types of the source, and defaults of a sequence."""
    for change in transition.changes:
        match change:
            case ChangeAttribute(path, "source_type", str() as old, str() as new):
                states = [_WORDS.search(text) is not None for text in (old, new)]
                before, after = old, new
                claims: tuple[tuple[str, Path], ...] = (("type-alias-only", path),)
            case ChangeDefault(path, old, new):
                states = [isinstance(v, str) and v.lower().startswith("nextval(") for v in (old, new)]
                before, after = ("" if value is None else format_scalar(value) for value in (old, new))
                claims = _words.claim_default(path)
            case _:
                continue
        if states[0] != states[1]:
            name, row = _words.join_path(path), _words.restrict_to_column(VERDICTS, transition, path[0])
            yield Finding(
                NAME,
                transition.table,
                path,
                before,
                after,
                f"the source {'numbers' if states[1] else 'no longer numbers'} the rows of {name} by itself",
                row,
                fixes=("nothing is needed for readers; check who writes the numbers now",),
                claims=claims,
            )


RULE = Rule(
    name=NAME,
    title="the source numbers the rows of a column, or no longer",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="generated",
    examples=(
        Example("id INT SOURCE 'int'", "id INT SOURCE 'int identity'", fires=(("id",),)),
        Example("id INT NOT NULL DEFAULT 'nextval(s)'", "id INT NOT NULL", fires=(("id",),)),
        Example("id INT SOURCE 'int'", "id INT SOURCE 'integer'", why="another word only: type-alias-only"),
        Example("id INT NOT NULL", "id INT NOT NULL DEFAULT 5", why="a constant: default-added"),
    ),
)
