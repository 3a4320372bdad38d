"""The key lost a column.

What happened: A column is no longer part of the primary key, or the table has no key any more.

Why it hurts: Rows that differ only in the removed column have the same key now: they overwrite each other, or
the merge fails because several source rows match one target row. Without a key, PostgreSQL sends no updates
and deletes under the default replica identity. An old Avro reader of keys refuses new keys.

What to do: Rewrite the key of the target in one step with the change, after a check that the remaining key is
unique there. If the table has no key, declare one with `message.key.columns` or a replica identity.

Sources: Debezium documentation, change event keys; PostgreSQL documentation, ALTER TABLE REPLICA IDENTITY;
Spark SQL reference, MERGE INTO (one source row a target row).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.avro.tables import list_unfilled_keys
from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, cap_verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.diff import ChangeKey, RenameColumn

NAME = "key-column-removed"
VERDICTS = parse_verdicts("N B D N D D B")
KEY_LOST = parse_verdicts("N N D N D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that were part of the old key and are not part of the new one."""
    for change in transition.changes:
        match change:
            case ChangeKey(old, new):
                for name in old:
                    if name not in new:
                        yield _build_finding(transition, old, new, name)
            case _:
                continue


def _build_finding(transition: Transition, old: tuple[str, ...], new: tuple[str, ...], name: str) -> Finding:
    before, after = f"({', '.join(old)})", f"({', '.join(new)})"
    message = f"the key went from {before} to {after}: rows that differ only in {name} become one in a merge"
    if not new:
        message = f"the table lost its key {before}: updates and deletes cannot find their rows"
    unsure = transition.is_unconfirmed("key")
    verdicts = _find_verdicts(transition, new, name)
    fix = f"rewrite the target's key to {after} once its rows are unique by it"
    if not new:
        fix = f"declare a key for the connector: message.key.columns={transition.table.table}:{','.join(old)}"
    return Finding(
        NAME,
        transition.table,
        (name,),
        before,
        after,
        f"{message} (not confirmed: {_words.LATER})" if unsure else message,
        cap_verdicts("danger", verdicts) if unsure else verdicts,
        fixes=(fix, "stop merges into the target until its key has changed, too"),
    )


def _find_verdicts(transition: Transition, new: tuple[str, ...], name: str) -> Verdicts:
    before, after = transition.old, transition.new
    former = next(
        (c.path[-1] for c in transition.changes if isinstance(c, RenameColumn) and c.name == name), name
    )
    refused = before and after and former in list_unfilled_keys(before, after)
    return _words.apply_resolution(
        VERDICTS if new else KEY_LOST, backward=False, forward=bool(new and refused)
    )


RULE = Rule(
    name=NAME,
    title="the key lost a column",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    examples=(
        Example(
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id)",
            fires=(("shop",),),
        ),
        Example("id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL", fires=(("id",),)),
        Example(
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            fires=(("shop",),),
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
