"""The key lost a column.

What happened: A column is no longer part of the primary key, and others still are.

Why it hurts: Rows that differ only in the removed column have the same key now: they overwrite each other, or
the merge fails because several source rows match one target row. An old Avro reader of keys refuses new
keys.

What to do: Rewrite the key of the target in one step with the change, after a check that the remaining key is
unique there.

Sources: Debezium documentation, change event keys; Spark SQL reference, MERGE INTO (one source row
a target row).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.avro.tables import list_unfilled_keys
from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _keys, _words
from schemaman.model.diff import ChangeKey, DropColumn

NAME = "key-column-removed"
VERDICTS = parse_verdicts("N B D N D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that were part of the old key and are not part of the new one, if there is a new one.

    The first of them claims the others, and the columns that joined the key in the same step.
    """
    for change in transition.changes:
        match change:
            case ChangeKey(old, (_, *_) as new):
                removed = [name for name in old if name not in new]
                found = (_build_finding(transition, old, tuple(new), name) for name in removed)
                yield from _keys.join_findings(transition, found)
            case _:
                continue


def _build_finding(transition: Transition, old: tuple[str, ...], new: tuple[str, ...], name: str) -> Finding:
    before, after = f"({', '.join(old)})", f"({', '.join(new)})"
    message = f"the key went from {before} to {after}: rows that differ only in {name} become one in a merge"
    if any(n not in old for n in new):
        message = f"the key went from {before} to {after}: a merge by it misses the rows written before"
    fix = f"rewrite the target's key to {after} once its rows are unique by it"
    dropped = any(isinstance(c, DropColumn) and c.path == (name,) for c in transition.changes)
    finding = Finding(
        NAME,
        transition.table,
        (name,),
        before,
        after,
        message,
        _find_verdicts(transition, name),
        fixes=(fix, "stop merges into the target until its key has changed, too"),
        claims=(("column-dropped", (name,)),) if dropped else (),
    )
    # A column that is gone is no part of the key, however late the key was read.
    unsure = transition.is_unconfirmed("key") and not dropped
    return _words.mark_unsure(finding) if unsure else finding


def _find_verdicts(transition: Transition, name: str) -> Verdicts:
    before, after = transition.old, transition.new
    former = _words.find_former_name(transition, name)
    refused = before and after and former in list_unfilled_keys(before, after)
    return _words.apply_resolution(VERDICTS, backward=False, forward=bool(refused))


RULE = Rule(
    name=NAME,
    title="the key lost a column",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id)",
            fires=(("shop",),),
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL", why="no key is left: primary-key-lost"
        ),
        Example(
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            fires=(("shop",),),
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b)",
            fires=(("a",),),
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b, a)",
            why="the same columns in another order: key-columns-reordered",
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id BIGINT NOT NULL, PRIMARY KEY (id)",
            why="the key has the same columns: key-column-type-changed",
        ),
        Example("id INT NOT NULL, PRIMARY KEY (id)", "", why="the whole table was dropped: table-dropped"),
    ),
)
