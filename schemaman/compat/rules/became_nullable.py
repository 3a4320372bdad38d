"""A column allows NULL now.

What happened: NOT NULL was removed from a column, a nested field, the elements of an array or the values of a
map.

Why it hurts: An old Avro reader refuses new data, because its plain type cannot read a union with null.
Queries that assume a value meet NULL: sums, joins and NOT IN change their result without an error.

What to do: Let the readers use the new schema before the source writes the first NULL. The lake does not
break: its columns are nullable or become so.

Sources: Avro specification, Schema Resolution (a writer's union is read if each branch is); SQL standard,
comparisons with NULL.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import ChangeNullable

NAME = "became-nullable"
VERDICTS = parse_verdicts("N B D N N D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns, nested fields and elements that forbade NULL and allow it now."""
    for change in transition.changes:
        match change:
            case ChangeNullable(path, False, True):
                name = _words.join_path(path)
                unsure = len(path) == 1 and transition.is_unconfirmed(f"nullable:{name}")
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    "NOT NULL",
                    "nullable",
                    f"{name} was NOT NULL and is nullable: an old reader cannot read the nulls of new data",
                    _words.apply_resolution(
                        _words.restrict_to_column(VERDICTS, transition, path[0]),
                        backward=False,
                        forward=not unsure and not _words.is_renamed(transition, path),
                    ),
                    claims=(("null-shadowed-by-default", path),),
                    fixes=(
                        f"give the readers of {name} the new schema before the source writes a NULL",
                        f"or keep NOT NULL at the source, with a default for rows without {path[-1]}",
                    ),
                )
                yield _words.mark_unsure(finding) if unsure else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column allows NULL now",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="nullability",
    examples=(
        Example("id INT NOT NULL, note STRING NOT NULL", "id INT NOT NULL, note STRING", fires=(("note",),)),
        Example(
            "tags ARRAY<STRING NOT NULL>, s STRUCT<a: INT NOT NULL>",
            "tags ARRAY<STRING>, s STRUCT<a: INT>",
            fires=(
                (
                    "tags",
                    "element",
                ),
                (
                    "s",
                    "a",
                ),
            ),
        ),
        Example("note STRING NOT NULL", "note STRING", fires=(("note",),), unconfirmed=("nullable:note",)),
        Example("note STRING", "note STRING NOT NULL", why="the other way round: became-required"),
        Example(
            "id INT NOT NULL", "id INT NOT NULL, note STRING", why="the column is new: column-added-nullable"
        ),
    ),
)
