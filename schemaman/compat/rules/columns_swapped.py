"""Columns exchanged their names.

What happened: One step gave two or more columns each other's names. The table has the same names as before.

Why it hurts: Nothing fails, and every reader by name reads the values of another column from the change on.
If the types differ, an Avro reader refuses data across the change.

What to do: Swap the names at the target in the same step, so that old rows keep their meaning. Tell the
readers of these columns from which version on each name has another meaning.

Sources: Avro specification, Schema Resolution (fields are matched by name).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.avro.tables import list_column_causes
from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import AddColumn, DropColumn
from schemaman.model.shell import build_command

NAME = "columns-swapped"
VERDICTS = parse_verdicts("D D B D D B B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds groups of columns whose names moved in a circle."""
    command = build_command(("plan", "--target", "NAME"), (str(transition.table),))
    for names in _words.find_swaps(transition):
        before, after = ", ".join(names), ", ".join((*names[1:], names[0]))
        yield Finding(
            NAME,
            transition.table,
            (names[0],),
            before,
            after,
            f"the columns {before} exchanged their names and are called {after} now: "
            "each name has the values of another column",
            _find_verdicts(transition, names),
            fixes=(
                f"swap the names at the target as well: {command}",
                "use a new name for one of the columns at the source, so that no name changes its meaning",
            ),
            commands=(command,),
            claims=tuple(("avro-incompatible", (name,)) for name in names),
        )
    for fact in transition.list_facts("swapped"):
        yield from _find_suspected(transition, fact.columns)


def _find_suspected(transition: Transition, names: tuple[str, ...]) -> Iterator[Finding]:
    """Finds columns in other positions than before: they exchanged their names, or were added again."""
    paths = [(name,) for name in names]
    drops, adds = (
        {c.path for c in transition.changes if isinstance(c, kind)} for kind in (DropColumn, AddColumn)
    )
    if len(names) < 2 or not all(path in drops & adds for path in paths):
        return
    text = ", ".join(names)
    command = build_command(("decide", "rename"), (str(transition.table), names[0], names[1]))
    rules = ("column-dropped", "column-readded", "column-rename-suspected", "avro-incompatible")
    yield Finding(
        NAME,
        transition.table,
        paths[0],
        text,
        text,
        f"{text} are in other positions than before: they exchanged their names, or were dropped and added "
        "again; each name has other values",
        _find_verdicts(transition, names),
        fixes=(f"ask who changed the table, and answer with: {command}",),
        commands=(command,),
        claims=(
            *((rule, path) for rule in rules for path in paths),
            *(claim for path in paths for claim in _words.claim_new_column(path)),
        ),
    )


def _find_verdicts(transition: Transition, names: tuple[str, ...]) -> Verdicts:
    row = _words.restrict_to_column(VERDICTS, transition, *names)
    old, new = transition.old, transition.new
    if old is None or new is None:
        return row
    return _words.apply_resolution(
        row,
        backward=any(cause.column in names for cause in list_column_causes(new, old)),
        forward=any(cause.column in names for cause in list_column_causes(old, new)),
    )


RULE = Rule(
    name=NAME,
    title="columns exchanged their names",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="columns",
    examples=(
        Example(
            "a INT ID 1, b INT ID 2",
            "b INT ID 3, a INT ID 4",
            fires=(("a",),),
            facts=(StepFact("swapped", columns=("a", "b")),),
        ),
        Example(
            "id INT, net INT, gross INT",
            "id INT, gross INT, net INT",
            fires=(("net",),),
            renames={"net": "gross", "gross": "net"},
        ),
        Example(
            "a INT NOT NULL, b STRING NOT NULL",
            "b INT NOT NULL, a STRING NOT NULL",
            fires=(("a",),),
            renames={"a": "b", "b": "a"},
        ),
        Example(
            "a INT, b INT, c INT",
            "b INT, c INT, a INT",
            fires=(("a",),),
            renames={"a": "b", "b": "c", "c": "a"},
        ),
        Example(
            "id INT, net INT, gross INT",
            "id INT, gross INT, net INT",
            why="they only moved: column-reordered",
        ),
        Example(
            "a INT, b INT",
            "b INT, c INT",
            why="a name left and a new one came: column-renamed",
            renames={"a": "b", "b": "c"},
        ),
    ),
)
