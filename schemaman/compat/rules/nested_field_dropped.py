"""A struct lost a field.

What happened: A struct, also one inside an array or a map, no longer has this nested field.

Why it hurts: Queries that select the field get no new values, or fail. An old Avro reader fails on new data
if the field was required. If it was optional, the reader silently reads null.

What to do: Keep the field at the target, which is the default: it gets no new values. If another field
replaces it, say so with `schemaman decide`.

Sources: Avro specification, Schema Resolution (a reader's field without default must be written); Spark SQL
reference, struct fields.
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
from schemaman.model.diff import (
    DropColumn,
)
from schemaman.model.shell import build_command

NAME = "nested-field-dropped"
VERDICTS = parse_verdicts("N B B B B B ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds nested fields that are gone."""
    for change in transition.changes:
        match change:
            case DropColumn((_, _, *_) as path, field):
                name, definition = _words.join_path(path), _words.describe_column(field)
                forward = not field.nullable and not _words.is_renamed(transition, path)
                arguments = (str(transition.table), name)
                command = build_command(("decide", "rename"), arguments, ending="NEW_PATH")
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    definition,
                    "",
                    f"the nested field {name} ({definition}) was dropped: its readers get no new values",
                    _words.apply_resolution(VERDICTS, backward=False, forward=forward),
                    fixes=(
                        f"keep {name} in the lake (the default): it gets no new values",
                        f"if another field replaces it: {command}",
                    ),
                    commands=(command,),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a struct lost a field",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("s STRUCT<a: INT, b: INT>", "s STRUCT<a: INT>", fires=(("s", "b"),)),
        Example(
            "l ARRAY<STRUCT<a: INT, b: INT NOT NULL>>",
            "l ARRAY<STRUCT<a: INT>>",
            fires=(("l", "element", "b"),),
        ),
        Example("id INT, s STRUCT<a: INT>", "id INT", why="the whole column is gone: column-dropped"),
        Example("s STRUCT<a: INT>", "s STRUCT<a: INT, b: INT>", why="the field is new: nested-field-added"),
    ),
)
