"""A column was dropped at the source.

What happened: The table no longer has this column, and no other column seems to replace it.

Why it hurts: Queries that select the column get no new values, or fail. An old Avro reader fails on new data
unless the column was optional or has a default. If it has one, the reader silently reads null or the default
for every new row. If the column was part of the key, merges no longer find their rows.

What to do: Keep the column in the lake, which is the default: it becomes nullable and gets no new values.
Inform its readers, and drop it at the target, with an approval, when no reader uses it any more. If the
column was renamed, record that with `schemaman decide`.

Sources: Avro specification, Schema Resolution (a reader's field without default must be written);
Confluent AvroData (optional fields default to null).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import AddColumn, DropColumn
from schemaman.model.schema import Column
from schemaman.model.shell import build_command

NAME = "column-dropped"
VERDICTS = parse_verdicts("N B B B B B B")
_RULES_OF_THE_NEXT = (*_words.RULES_OF_NEW_COLUMNS, "avro-incompatible")
"""The rules that tell of another column under the name of the dropped one."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds dropped columns."""
    added = {c.path for c in transition.changes if isinstance(c, AddColumn)}
    for change in transition.changes:
        match change:
            case DropColumn((_,) as path, Column() as column):
                if any(transition.has_fact(kind, path[0]) for kind in _words.EXPLAINED_DROPS):
                    continue
                name, definition = _words.join_path(path), _words.describe_column(column)
                message = f"column {name} ({definition}) was dropped: readers of {name} get no new values"
                if path in added:
                    message = f"column {name} ({definition}) was dropped and added again: "
                    message += "its old values belong to another column"
                arguments = (str(transition.table), name)
                command = build_command(("decide", "rename"), arguments, ending="NEW_NAME")
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    definition,
                    "",
                    message,
                    _find_verdicts(transition, path[0], column),
                    fixes=(
                        f"keep {name} in the lake (the default): it becomes nullable and gets no new values",
                        f"if another column replaces it: {command}",
                    ),
                    commands=(command,),
                    claims=tuple((rule, path) for rule in _RULES_OF_THE_NEXT) if path in added else (),
                )
            case _:
                continue


def _find_verdicts(transition: Transition, name: str, column: Column) -> Verdicts:
    verdicts = _words.restrict_to_column(VERDICTS, transition, name)
    forward = transition.new is not None and _words.is_unfilled(column, transition.new)
    return _words.apply_resolution(verdicts, backward=False, forward=forward)


RULE = Rule(
    name=NAME,
    title="a column was dropped at the source",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("id INT NOT NULL, note STRING", "id INT NOT NULL", fires=(("note",),)),
        Example("id INT NOT NULL, total INT NOT NULL", "id INT NOT NULL", fires=(("total",),)),
        Example(
            "id INT NOT NULL, at STRUCT<street: STRING, city: STRING>",
            "id INT NOT NULL, at STRUCT<street: STRING>",
            why="the column stays and lost a nested field: nested-field-dropped",
        ),
        Example(
            "id INT NOT NULL, price INT",
            "id INT NOT NULL, list_price INT",
            renames={"price": "list_price"},
            why="the column has another name now: column-renamed",
        ),
        Example(
            "id INT NOT NULL, a INT, b INT",
            "id INT NOT NULL, b INT, a INT",
            why="the column only moved: column-reordered",
        ),
        Example("id INT NOT NULL", "", why="the whole table was dropped: table-dropped"),
    ),
)
