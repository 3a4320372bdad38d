"""A column is gone from the source.

What happened: The table, or a struct inside it, no longer has this column, and nothing suggests
that another column took its place.

Why it hurts: Whoever selects the column finds nothing new in it, or fails. An old Avro reader fails on
new data unless the column was optional or has a default; then it silently reads null or the default for
every new row. If the column was part of the key, merges no longer find their rows.

What to do: Leave the column in the lake, which is the default: it is kept, becomes nullable and is
written no more. Tell its readers, and drop it at the target, with an approval, when nobody reads it.
If it was renamed after all, say so with `schemaman decide`.

Sources: Avro specification, Schema Resolution (a reader's field without default must be written);
Confluent AvroData (optional fields default to null).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import AddColumn, DropColumn
from schemaman.model.schema import Column

NAME = "column-dropped"
VERDICTS = parse_verdicts("N B B B B B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Each column or struct member that goes."""
    added = {c.path for c in transition.changes if isinstance(c, AddColumn)}
    for change in transition.changes:
        match change:
            case DropColumn(path, column):
                where, what = _words.join_path(path), _words.describe_column(column)
                told = f"column {where} ({what}) is gone: readers of {where} get nothing new from now on"
                if path in added:
                    told = f"column {where} ({what}) was dropped and added again: old values are not new ones"
                answer = f"schemaman decide rename {transition.table} {where} NEW_NAME"
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    what,
                    "",
                    told,
                    _find_verdicts(transition, change),
                    fixes=(
                        f"keep {where} in the lake (the default): it stays, nullable, and is written no more",
                        f"if another column took its place: {answer}",
                    ),
                )
            case _:
                continue


def _find_verdicts(transition: Transition, change: DropColumn) -> Verdicts:
    name = change.path[0]
    verdicts = _words.restrict_to_column(VERDICTS, transition, *([name] if len(change.path) == 1 else []))
    member = change.column
    if isinstance(member, Column) and transition.new is not None:
        return _words.apply_resolution(
            verdicts, backward=False, forward=_words.is_unfilled(member, transition.new)
        )
    return _words.apply_resolution(verdicts, backward=False, forward=_is_required_field(transition, change))


def _is_required_field(transition: Transition, change: DropColumn) -> bool:
    """Whether an old Avro reader misses a required member of a struct that it still finds."""
    return not change.column.nullable and not _words.is_renamed(transition, change.path)


RULE = Rule(
    name=NAME,
    title="a column is gone from the source",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    examples=(
        Example("id INT NOT NULL, note STRING", "id INT NOT NULL", fires=(("note",),)),
        Example("id INT NOT NULL, total INT NOT NULL", "id INT NOT NULL", fires=(("total",),)),
        Example(
            "id INT NOT NULL, at STRUCT<street: STRING, city: STRING>",
            "id INT NOT NULL, at STRUCT<street: STRING>",
            fires=(("at", "city"),),
        ),
        Example(
            "id INT NOT NULL, price INT",
            "id INT NOT NULL, list_price INT",
            renames={"price": "list_price"},
            why="the column lives on under another name: column-renamed",
        ),
        Example(
            "id INT NOT NULL, a INT, b INT",
            "id INT NOT NULL, b INT, a INT",
            why="the column only moved; rows are written by name",
        ),
        Example("id INT NOT NULL", "", why="the whole table is gone: table-dropped"),
    ),
)
