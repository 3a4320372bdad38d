"""A column no longer allows NULL at the source.

What happened: NOT NULL was added to a column, a nested field or the elements of an array.

Why it hurts: Old data may hold null, and the new schema does not allow it. A new Avro reader refuses all old
data, because a union with null cannot be read as a plain type. The lake does not break: its column stays
nullable, because old rows may hold NULL.

What to do: Read old data with its own schema, or keep the readers' column optional. A check constraint at the
source does the same for new rows and leaves the schema as it is.

Sources: Avro specification, Schema Resolution (a writer's union is read if each branch is).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.diff import ChangeNullable

NAME = "became-required"
VERDICTS = parse_verdicts("B N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns, nested fields and elements that allowed NULL and forbid it now."""
    for change in transition.changes:
        match change:
            case ChangeNullable(path, True, False) if not _kinds.is_part_of_collection(transition, path):
                name = _words.join_path(path)
                message = (
                    f"{name} was nullable and is NOT NULL: a new reader cannot read the nulls of old data"
                )
                unsure = len(path) == 1 and transition.is_unconfirmed(f"nullable:{name}")
                refused = not unsure and not _words.is_renamed(transition, path)
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    "nullable",
                    "NOT NULL",
                    message,
                    _words.apply_resolution(VERDICTS, backward=refused, forward=False),
                    fixes=(
                        f"keep {name} optional for readers that read old data",
                        f"or forbid new nulls by a check at the source: CHECK ({name} IS NOT NULL)",
                    ),
                )
                yield _words.mark_unsure(finding) if unsure else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column no longer allows NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="nullability",
    examples=(
        Example("id INT NOT NULL, note STRING", "id INT NOT NULL, note STRING NOT NULL", fires=(("note",),)),
        Example(
            "tags ARRAY<STRING>", "tags ARRAY<STRING NOT NULL>", why="elements of an array: nested-not-null"
        ),
        Example("note STRING", "note STRING NOT NULL", fires=(("note",),), unconfirmed=("nullable:note",)),
        Example("note STRING NOT NULL", "note STRING", why="the other way round: became-nullable"),
        Example("id INT", "id INT, note STRING NOT NULL", why="the column is new: column-added-required"),
    ),
)
