"""A column's name changed only its upper and lower case.

What happened: The source spells the name of a column with other capital letters.

Why it hurts: Avro and JSON distinguish upper and lower case: readers of events miss the field, as after any
other rename. SQL and Spark do not, by default. Spark refuses such a rename at the target; Iceberg takes it in
two steps through a temporary name.

What to do: Keep the former spelling at the target, which is right for SQL readers. Readers of events need the
new spelling.

Sources: Avro specification, Names; Spark SQL configuration, spark.sql.caseSensitive; Iceberg documentation,
Schema Evolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import RenameColumn

NAME = "case-only-rename"
VERDICTS = parse_verdicts("B B N N D N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that keep their identity and change the case of their name."""
    for change in transition.changes:
        match change:
            case RenameColumn((old,) as path, new) if _words.is_case_only(old, new):
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old,
                    new,
                    f"column {old} is spelled {new} now: readers of events miss {old}, and SQL does not",
                    _words.resolve_rename(VERDICTS, transition, old, new),
                    fixes=(f"keep {old} at the target; give readers of events the name {new}",),
                    claims=_words.claim_new_name(new),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a name changed its upper and lower case",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example(
            "id INT, Price INT NOT NULL",
            "id INT, price INT NOT NULL",
            fires=(("Price",),),
            renames={"Price": "price"},
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "ID INT NOT NULL, PRIMARY KEY (ID)",
            fires=(("id",),),
            renames={"id": "ID"},
        ),
        Example(
            "price INT", "list_price INT", why="another name: column-renamed", renames={"price": "list_price"}
        ),
        Example("id INT", "id INT, ID INT", why="both are there: case-collision"),
    ),
)
