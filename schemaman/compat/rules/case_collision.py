"""Two columns have names that differ only in upper and lower case.

What happened: The table has a new column, or a column a new name, and another column has the same letters in
another case.

Why it hurts: Spark, Delta, Iceberg through Spark, and most databases take both names for one. They refuse the
table, or a query cannot say which column it means. Avro distinguishes them.

What to do: Rename one of the columns at the source, or leave one out of the stream (`column.exclude.list`).

Sources: Spark SQL configuration, spark.sql.caseSensitive; Delta Lake documentation (columns that differ only
in case are refused).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words

NAME = "case-collision"
VERDICTS = parse_verdicts("N N B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds groups of names that became alike by a new table, a new column or a rename."""
    if transition.new is None:
        return
    fresh = _words.find_new_names(transition)
    groups: dict[str, list[str]] = {}
    for name in transition.new.names:
        groups.setdefault(name.casefold(), []).append(name)
    for group in groups.values():
        arrived = [name for name in group if name in fresh]
        if arrived and len(group) > 1:
            names, filtered = ", ".join(group), ".".join([*transition.table.parts[-2:], arrived[-1]])
            yield Finding(
                NAME,
                transition.table,
                (arrived[-1],),
                "",
                names,
                f"the columns {names} differ only in upper and lower case: the lake takes them for one",
                _words.restrict_to_column(VERDICTS, transition, *group),
                fixes=(
                    f"rename {arrived[-1]} at the source",
                    f"or leave it out: column.exclude.list={filtered}",
                ),
                claims=(*_words.claim_new_column((arrived[-1],)), *_words.claim_new_name(arrived[-1])),
            )


RULE = Rule(
    name=NAME,
    title="two names differ only in upper and lower case",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT", "id INT, ID STRING", fires=(("ID",),)),
        Example("", "a INT, A INT", fires=(("A",),)),
        Example("Name INT, x INT", "Name INT, name INT", fires=(("name",),), renames={"x": "name"}),
        Example("id INT, ID INT", "id INT, ID INT, c INT", why="the collision was there before"),
        Example(
            "id INT, `a-b` INT",
            "id INT, `a-b` INT, a_b INT",
            why="other characters, not another case: avro-name-collision",
        ),
    ),
)
