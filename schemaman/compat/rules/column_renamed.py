"""A column has another name.

What happened: A DDL text, a person or the evidence of the history says that this is the same column
under another name.

Why it hurts: Everything that asks for the old name fails or reads null: queries, Spark readers with a
fixed schema, and Avro readers, since Debezium writes no aliases. An optional column is worse than a
required one: its Avro readers do not fail, they read null on the other side of the rename.

What to do: Rename the column at the target as well, which keeps the values of old rows; Delta needs column
mapping for that. Give readers a view with the old name until they have moved.

Sources: Avro specification, Schema Resolution (fields are matched by name) and Aliases;
Confluent AvroData (optional fields default to null).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.ddl import quote_name
from schemaman.model.diff import RenameColumn

NAME = "column-renamed"
VERDICTS = parse_verdicts("B B B D D B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Each column that keeps its identity and changes its name."""
    for change in transition.changes:
        match change:
            case RenameColumn((old,) as path, new):
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old,
                    new,
                    f"column {old} is now called {new}: whoever asks for {old} fails or reads null",
                    _find_verdicts(transition, old, new),
                    fixes=(
                        f"rename it at the target: schemaman plan {transition.table} --target NAME",
                        f"offer a view with {quote_name(new)} AS {quote_name(old)} until readers have moved",
                    ),
                )
            case _:
                continue


def _find_verdicts(transition: Transition, old: str, new: str) -> Verdicts:
    verdicts = _words.restrict_to_column(VERDICTS, transition, old, new)
    before, after = transition.old, transition.new
    former = before.column(old) if before else None
    column = after.column(new) if after else None
    if before is None or after is None or former is None or column is None:
        return verdicts
    return _words.apply_resolution(
        verdicts,
        backward=_words.is_unfilled(column, before) and not transition.is_unconfirmed(f"nullable:{new}"),
        forward=_words.is_unfilled(former, after),
    )


RULE = Rule(
    name=NAME,
    title="a column has another name",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    examples=(
        Example(
            "id INT NOT NULL, price INT NOT NULL",
            "id INT NOT NULL, list_price INT NOT NULL",
            fires=(("price",),),
            renames={"price": "list_price"},
        ),
        Example(
            "id INT NOT NULL, price INT, PRIMARY KEY (id)",
            "order_id INT NOT NULL, list_price INT, PRIMARY KEY (order_id)",
            fires=(("id",), ("price",)),
            renames={"id": "order_id", "price": "list_price"},
        ),
        Example(
            "id INT NOT NULL, price INT",
            "id INT NOT NULL, list_price DECIMAL(10,2)",
            why="nothing says that it is one column: column-dropped",
        ),
        Example(
            "id INT NOT NULL, price INT EMITTED 'price'",
            "id INT NOT NULL, price INT EMITTED 'price_'",
            why="only the wire spells it otherwise; the source has the same name",
        ),
    ),
)
