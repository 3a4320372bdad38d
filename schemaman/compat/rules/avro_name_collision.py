"""Two columns become one name in Avro.

What happened: The table has columns whose names differ only in characters that Avro does not allow. With
adjusted names both become the same field.

Why it hurts: A record cannot have two fields of one name. The connector stops, or one column silently
replaces the other for every consumer.

What to do: Rename one of the columns at the source, or leave one out of the stream
(`column.exclude.list`), or choose an adjustment that keeps them apart (`avro_unicode`).

Sources: Avro specification, Names; Debezium documentation, `field.name.adjustment.mode`.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.name_adjustment import adjust_field, find_collisions
from schemaman.model.schema import TableSchema

NAME = "avro-name-collision"
VERDICTS = parse_verdicts("B B B B B B B")
ONLY_IN_AVRO = parse_verdicts("B B N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds groups of names that became one by a new table, a new column or a rename."""
    if transition.new is None:
        return
    fresh = _words.find_new_names(transition)
    for group in find_collisions(transition.new.names, "avro"):
        arrived = [name for name in group if name in fresh]
        if arrived:
            adjusted = adjust_field(group[0], "avro")
            names = ", ".join(repr(name) for name in group)
            filtered = ".".join([*transition.table.parts[-2:], arrived[-1]])
            yield Finding(
                NAME,
                transition.table,
                (arrived[-1],),
                names,
                adjusted,
                f"the columns {names} all become {adjusted} in Avro: one record cannot hold them all",
                _find_verdicts(transition, transition.new, group),
                fixes=(
                    f"rename {arrived[-1]!r} at the source",
                    f"or leave it out: column.exclude.list={filtered}",
                    "or set field.name.adjustment.mode=avro_unicode, which keeps them apart",
                ),
                claims=(*_words.claim_new_column((arrived[-1],)), *_words.claim_new_name(arrived[-1])),
            )


def _find_verdicts(transition: Transition, schema: TableSchema, group: tuple[str, ...]) -> Verdicts:
    """Returns milder verdicts if the events name the columns differently: then only Avro readers break."""
    emitted = [c.emitted_name for c in schema.columns if c.name in group]
    if None not in emitted and len(set(emitted)) == len(emitted):
        return ONLY_IN_AVRO
    return _words.restrict_to_column(VERDICTS, transition, *group)


RULE = Rule(
    name=NAME,
    title="two columns become one name in Avro",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="names",
    examples=(
        Example("id INT, `a-b` INT", "id INT, `a-b` INT, a_b INT", fires=(("a_b",),)),
        Example("", "`größe` INT, `gr--e` INT", fires=(("gr--e",),)),
        Example("`a b` INT, x INT", "`a b` INT, `a.b` INT", fires=(("a.b",),), renames={"x": "a.b"}),
        Example(
            "id INT, `a-b` INT EMITTED 'a-b'",
            "id INT, `a-b` INT EMITTED 'a-b', a_b INT EMITTED 'a_b'",
            fires=(("a_b",),),
        ),
        Example(
            "id INT", "id INT, `a-b` INT", why="a name is adjusted and stays the only one: avro-name-adjusted"
        ),
        Example("`a-b` INT, a_b INT", "`a-b` INT, a_b INT, c INT", why="the collision was there before"),
        Example("id INT", "id INT, ID STRING", why="Avro distinguishes upper and lower case: case-collision"),
    ),
)
