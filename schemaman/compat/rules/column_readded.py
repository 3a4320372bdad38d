"""A name that was dropped earlier is used again.

What happened: The table had a column of this name, lost it, and has a new column of this name now.

Why it hurts: The lake still has the old column under this name, with the values of old rows. A plan that
takes both for one column mixes their values. An Avro reader of all data reads old values of the former column
as values of the new one.

What to do: Let the plan displace the old column, or give the new column another name at the source. Tell
readers from which row on the name means the new column.

Sources: Avro specification, Schema Resolution (fields are matched by name); Delta and Iceberg documentation
(a dropped column has another id than a new one of its name).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import (
    Example,
    Finding,
    Rule,
    StepFact,
    Transition,
    parse_verdicts,
)
from schemaman.compat.rules import _words
from schemaman.model.diff import (
    AddColumn,
    DropColumn,
)

NAME = "column-readded"
VERDICTS = parse_verdicts("D D D D D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds new columns under the name of a column that was dropped at an earlier step."""
    names = {name for fact in transition.list_facts("dropped-earlier") for name in fact.columns}
    dropped = {change.path for change in transition.changes if isinstance(change, DropColumn)}
    for change in transition.changes:
        match change:
            case AddColumn((name,) as path, column, _) if name in names:
                definition = _words.describe_column(column)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    "",
                    definition,
                    f"{name} is new, {definition}, and another column had this name before: "
                    "old values under it belong to that one",
                    _words.restrict_to_column(VERDICTS, transition, name),
                    fixes=(
                        f"keep the former {name} at the target under another name; a plan does so",
                        "or give the new column another name at the source",
                    ),
                    claims=(
                        *_words.claim_new_column(path),
                        *((("column-dropped", path),) if path in dropped else ()),
                    ),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a name that was dropped earlier is used again",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example(
            "id INT",
            "id INT, note STRING",
            fires=(("note",),),
            facts=(StepFact("dropped-earlier", columns=("note",)),),
        ),
        Example(
            "id INT",
            "id INT, n INT NOT NULL",
            fires=(("n",),),
            facts=(StepFact("dropped-earlier", columns=("a", "n")),),
        ),
        Example("id INT", "id INT, note STRING", why="no column had the name before: column-added-nullable"),
        Example(
            "id INT, a INT",
            "id INT, note INT",
            renames={"a": "note"},
            facts=(StepFact("dropped-earlier", columns=("note",)),),
            why="it is a rename: column-renamed",
        ),
    ),
)
