"""A default is no value of the type.

What happened: The default of a column is a number outside the range of its type, or no label of its enum.

Why it hurts: Readers that fill old data with it get a value that the column cannot have. If not even the type
in Avro has it, a registry refuses the schema, and the connector stops.

What to do: Set a default at the source that the type has, or none.

Sources: Avro specification, Complex Types (the default must be a value of the field's type).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    Transition,
    cap_verdicts,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    AddColumn,
    ChangeDefault,
)
from schemaman.model.schema import Column
from schemaman.model.types import (
    Enum,
    Integer,
)

NAME = "default-invalid-for-type"
VERDICTS = parse_verdicts("B B B · · · ·")
_LABEL = re.compile(r"[A-Za-z0-9_]+")
"""Labels that are surely texts: others may be printed with quotes or a character set."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new and changed defaults that the type of the column does not have."""
    changed = {
        c.path[0] for c in transition.changes if isinstance(c, ChangeDefault | AddColumn) and not c.path[1:]
    }
    for column in transition.new.columns if transition.new is not None and transition.old is not None else ():
        if column.name in changed and (reason := _find_fault(column)) is not None:
            path, default = (column.name,), format_scalar(column.default)
            yield Finding(
                NAME,
                transition.table,
                path,
                "",
                default,
                f"the default {default} of {column.name} is {reason} {format_type(column.type)}",
                cap_verdicts("danger", VERDICTS),
                fixes=(f"set a default for {column.name} at the source that its type has, or none",),
                claims=tuple(
                    (rule, path)
                    for rule in ("default-added", "default-changed", *_words.RULES_OF_NEW_COLUMNS)
                ),
            )


def _find_fault(column: Column) -> str | None:
    match column.type, column.default:
        case Integer(bits, signed), int() as number if not isinstance(number, bool):
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
            return None if low <= number < high else "out of the range of"
        case Enum((_, *_) as labels), str() as label if _LABEL.fullmatch(label):
            return None if label in labels else "no label of"
        case _:
            return None


RULE = Rule(
    name=NAME,
    title="a default is no value of the type",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="defaults",
    examples=(
        Example("n TINYINT NOT NULL", "n TINYINT NOT NULL DEFAULT 400", fires=(("n",),)),
        Example("e ENUM('a','b') NOT NULL", "e ENUM('a','b') NOT NULL DEFAULT 'c'", fires=(("e",),)),
        Example(
            "n TINYINT NOT NULL", "n TINYINT NOT NULL DEFAULT 4", why="the type has the value: default-added"
        ),
        Example(
            "e ENUM('a','b') NOT NULL DEFAULT 'a'",
            "e ENUM('a','b') NOT NULL DEFAULT 'b'",
            why="a label: default-changed",
        ),
    ),
)
