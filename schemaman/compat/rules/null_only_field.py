"""A field whose values are not known yet.

What happened: All documents or rows have null in the field so far, or its first value came now.

Why it hurts: No reader breaks. The column has no type until the first value, so the target gets none.

What to do: Nothing. The next plan adds the column with its type.

Sources: MongoDB documentation, BSON types; JSON specification, null.
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
from schemaman.compat.rules import _kinds, _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import (
    AddColumn,
    ChangeType,
)

NAME = "null-only-field"
VERDICTS = parse_verdicts("N N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new fields with nulls alone, and fields that had nulls alone and have another value now."""
    for change in transition.changes:
        match change:
            case AddColumn(path, column, _) if _kinds.is_null_only(column.type):
                before, after, words = (
                    "",
                    _words.describe_column(column),
                    "is null in all rows so far: it has no type yet",
                )
            case ChangeType(path, old, new) if _kinds.is_null_only(old) or _kinds.is_null_only(new):
                before, after = format_type(old), format_type(new)
                words = f"was null in all rows so far, and is {after} now"
                if _kinds.is_null_only(new):
                    words = f"is null in all rows now, and was {before}"
            case _:
                continue
        yield Finding(
            NAME,
            transition.table,
            path,
            before,
            after,
            f"{_words.join_path(path)} {words}",
            VERDICTS,
            fixes=("nothing is needed: the next plan follows the values",),
            claims=(*_words.claim_new_column(path), ("avro-incompatible", path[:1])),
        )


RULE = Rule(
    name=NAME,
    title="a field whose values are not known yet",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="documents",
    examples=(
        Example("id INT", "id INT, a UNKNOWN('json:null')", fires=(("a",),)),
        Example("_id UNKNOWN('bson:unknown') NOT NULL", "_id STRING NOT NULL", fires=(("_id",),)),
        Example("id INT", "id INT, a STRING", why="it has a type: column-added-nullable"),
        Example(
            "a UNKNOWN('json:number')", "a UNKNOWN('json:string')", why="it had values: field-type-drift"
        ),
    ),
)
