"""A new column forbids NULL and has no default.

What happened: The table, or a struct inside it, has a new NOT NULL column without a default.

Why it hurts: Old data has neither the column nor a default for it: a new Avro reader refuses all old data.
In the lake the column is added nullable, because old rows have no value for it.

What to do: Give the column a default at the source, or add it nullable, fill it, and forbid NULL afterwards.

Sources: Avro specification, Schema Resolution (a reader's field that was not written needs a default).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.ddl import format_type, quote_name
from schemaman.model.diff import AddColumn, ColumnOrField
from schemaman.model.schema import Column

NAME = "column-added-required"
VERDICTS = parse_verdicts("B N D D D N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new NOT NULL columns and nested fields that have no default."""
    for change in transition.changes:
        match change:
            case AddColumn(path, column, _) if not column.nullable and not _has_default(column):
                backward = _is_unfilled(transition, change)
                name, definition = _words.join_path(path), _words.describe_column(column)
                message = (
                    f"{name} is new, {definition}, without a default: new readers "
                    f"{'cannot read older data' if backward else 'take a former column of that field for it'}"
                )
                # Unconfirmed nullability may be newer than the record, so it only makes a note.
                unsure = len(path) == 1 and transition.is_unconfirmed(f"nullable:{name}")
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    message,
                    _words.apply_resolution(VERDICTS, backward=backward, forward=False),
                    claims=_words.claim_name_notes(path),
                    fixes=(
                        f"give it a default at the source: ALTER COLUMN {quote_name(path[-1])} SET DEFAULT …",
                        f"or add it as a nullable {format_type(column.type)}, fill it, then forbid NULL",
                    ),
                )
                yield _words.mark_unsure(finding, "note") if unsure else finding
            case _:
                continue


def _has_default(column: ColumnOrField) -> bool:
    return isinstance(column, Column) and column.default is not None


def _is_unfilled(transition: Transition, change: AddColumn) -> bool:
    column = change.column
    if isinstance(column, Column) and transition.old is not None:
        return _words.is_unfilled(column, transition.old)
    return not _words.is_renamed(transition, change.path)


RULE = Rule(
    name=NAME,
    title="a new column forbids NULL and has no default",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example("id INT NOT NULL", "id INT NOT NULL, note STRING NOT NULL", fires=(("note",),)),
        Example("s STRUCT<a: INT>", "s STRUCT<a: INT, b: INT NOT NULL>", fires=(("s", "b"),)),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, note STRING NOT NULL",
            fires=(("note",),),
            unconfirmed=("nullable:note",),
        ),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, note STRING",
            why="NULL fills old rows: column-added-nullable",
        ),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, n INT NOT NULL DEFAULT 0",
            why="the default fills old data: column-added-required-with-default",
        ),
        Example(
            "id INT NOT NULL, n INT",
            "id INT NOT NULL, n INT NOT NULL",
            why="not a new column: became-required",
        ),
    ),
)
