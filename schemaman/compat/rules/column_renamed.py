"""A column has another name.

What happened: A DDL text, a person or the evidence of the history states that this is the same column under
another name.

Why it hurts: Queries, Spark readers with a fixed schema, and Avro readers that use the old name fail or read
null, because Debezium writes no aliases. An optional column is worse than a required one: its Avro readers do
not fail, but read null from data with the other name.

What to do: Rename the column at the target as well, which keeps the values of old rows; Delta needs column
mapping for that. Offer readers a view with the old name until they use the new one.

Sources: Avro specification, Schema Resolution (fields are matched by name) and Aliases;
Confluent AvroData (optional fields default to null).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.ddl import quote_name
from schemaman.model.diff import RenameColumn
from schemaman.model.shell import build_command

NAME = "column-renamed"
VERDICTS = parse_verdicts("B B B D D B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that keep their identity and change their name."""
    command = build_command(("plan", "--target", "NAME"), (str(transition.table),))
    swapped = {name for group in _words.find_swaps(transition) for name in group}
    for change in transition.changes:
        match change:
            case RenameColumn((old,) as path, new) if old not in swapped and not _words.is_case_only(
                old, new
            ):
                keyed = f"; the key is called {new}, too" if transition.has_key_column(old, new) else ""
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old,
                    new,
                    f"column {old} is now called {new}: readers of {old} fail or read null{keyed}",
                    _words.resolve_rename(VERDICTS, transition, old, new),
                    fixes=(
                        f"rename it at the target: {command}",
                        f"offer a view with {quote_name(new)} AS {quote_name(old)} until readers use {new}",
                    ),
                    commands=(command,),
                    claims=_words.claim_new_name(new),
                )
            case RenameColumn((_, _, *_) as path, new):
                name, other = _words.join_path(path), _words.join_path((*path[:-1], new))
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    name,
                    other,
                    f"the nested field {name} is now called {other}: its readers fail or read null",
                    _find_nested_verdicts(transition, path[0]),
                    fixes=(f"rename it at the target: {command}",),
                    commands=(command,),
                    claims=(("avro-incompatible", path[:1]),),
                )
            case _:
                continue


def _find_nested_verdicts(transition: Transition, name: str) -> Verdicts:
    row = _words.restrict_to_column(VERDICTS, transition)
    old = transition.old.column(_words.find_former_name(transition, name)) if transition.old else None
    new = transition.new.column(name) if transition.new else None
    if old is None or new is None:
        return row
    backward, forward = _words.check_resolution(transition, (name,), old.type, new.type)
    return _words.apply_resolution(row, backward=backward, forward=forward)


RULE = Rule(
    name=NAME,
    title="a column has another name",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
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
            why="nothing shows that it is one column: column-dropped",
        ),
        Example(
            "id INT NOT NULL, Price INT",
            "id INT NOT NULL, price INT",
            renames={"Price": "price"},
            why="only its case differs: case-only-rename",
        ),
        Example("a INT, b INT", "b INT, a INT", renames={"a": "b", "b": "a"}, why="columns-swapped"),
        Example(
            "id INT NOT NULL, price INT EMITTED 'price'",
            "id INT NOT NULL, price INT EMITTED 'price_'",
            why="the source has the same name: emitted-name-changed",
        ),
    ),
)
