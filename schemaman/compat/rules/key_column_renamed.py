"""A column of the key has another name.

What happened: A column of the key keeps its values and has another name, in rows and in keys.

Why it hurts: Readers of rows and of keys use the old name: Avro readers fail or read null, and merges by the
old name fail. The bytes of Avro keys may stay equal, those of JSON keys differ.

What to do: Rename the column at the target in one step with the change, and give merges the new name.

Sources: Debezium documentation, change event keys; Avro specification, Schema Resolution (fields are matched
by name).
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
from schemaman.compat.rules import _keys, _words
from schemaman.model.diff import (
    RenameColumn,
)
from schemaman.model.shell import build_command

NAME = "key-column-renamed"
VERDICTS = parse_verdicts("B B B D D B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns of the old key that have another name; exchanged names have their own rule."""
    yield from _keys.join_findings(transition, _find_renamed(transition))


def _find_renamed(transition: Transition) -> Iterator[Finding]:
    command = build_command(("plan", "--target", "NAME"), (str(transition.table),))
    key = transition.old.key if transition.old is not None else ()
    swapped = {name for group in _words.find_swaps(transition) for name in group}
    for change in transition.changes:
        match change:
            case RenameColumn((old,) as path, new) if old in key and old not in swapped:
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    old,
                    new,
                    f"the key column {old} is now called {new}: readers and merges by {old} fail",
                    _words.resolve_rename(VERDICTS, transition, old, new),
                    fixes=(
                        f"rename it at the target: {command}",
                        f"give merges and readers of keys the name {new} in one step with the change",
                    ),
                    commands=(command,),
                    claims=(
                        ("column-renamed", path),
                        ("case-only-rename", path),
                        *_words.claim_new_name(new),
                    ),
                )
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column of the key has another name",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "no INT NOT NULL, PRIMARY KEY (no)",
            fires=(("id",),),
            renames={"id": "no"},
        ),
        Example(
            "Id INT NOT NULL, PRIMARY KEY (Id)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            fires=(("Id",),),
            renames={"Id": "id"},
        ),
        Example(
            "id INT NOT NULL, a INT, PRIMARY KEY (id)",
            "id INT NOT NULL, b INT, PRIMARY KEY (id)",
            renames={"a": "b"},
            why="no column of the key: column-renamed",
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b)",
            why="another column: key-column-removed",
        ),
    ),
)
