"""The key has one more column.

What happened: A column became part of the primary key.

Why it hurts: Events have another key: a merge on the new key no longer finds the rows that were written with
the old key, and one row becomes several. A new Avro reader of keys refuses old keys.

What to do: Rewrite the key of the target in one step with the change, or rebuild the target from a snapshot.
Do not use both keys in one merge.

Sources: Debezium documentation, change event keys (the primary key columns in key order); Kafka's default
partitioner (other key bytes, other partition).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.avro.tables import list_unfilled_keys
from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdicts, parse_verdicts
from schemaman.compat.rules import _keys, _words
from schemaman.model.diff import ChangeKey, ChangeNullable

NAME = "key-column-added"
VERDICTS = parse_verdicts("B N D N D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that are part of the new key and not of the old one; a first key has its own rule."""
    for change in transition.changes:
        match change:
            case ChangeKey((_, *_) as old, new):
                added = [name for name in new if name not in old]
                found = (_build_finding(transition, tuple(old), new, name) for name in added)
                yield from _keys.join_findings(transition, found)
            case _:
                continue


def _build_finding(transition: Transition, old: tuple[str, ...], new: tuple[str, ...], name: str) -> Finding:
    before, after = f"({', '.join(old)})", f"({', '.join(new)})"
    message = f"the key went from {before} to {after}: a merge by it misses the rows written before"
    unsure = transition.is_unconfirmed("key")
    became_required = ChangeNullable((name,), True, False) in transition.changes and not unsure
    finding = Finding(
        NAME,
        transition.table,
        (name,),
        before,
        after,
        message,
        _find_verdicts(transition, name, became_required),
        fixes=(
            f"rebuild the target keyed by {after}, or rewrite its key in one step with the change",
            "stop merges into the target until its key has changed, too",
        ),
        claims=_words.claim_new_column((name,)),
    )
    return _words.mark_unsure(finding) if unsure else finding


def _find_verdicts(transition: Transition, name: str, became_required: bool) -> Verdicts:
    """`became_required`: the column became required with the key, which breaks new readers of rows."""
    before, after = transition.old, transition.new
    refused = before and after and name in list_unfilled_keys(after, before)
    nulls = became_required and not _words.is_renamed(transition, (name,))
    return _words.apply_resolution(VERDICTS, backward=bool(refused) or nulls, forward=False)


RULE = Rule(
    name=NAME,
    title="the key has one more column",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            fires=(("shop",),),
        ),
        Example(
            "id INT NOT NULL, shop INT, PRIMARY KEY (id)",
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            fires=(("shop",),),
        ),
        Example(
            "id INT NOT NULL", "id INT NOT NULL, PRIMARY KEY (id)", why="it is the first: primary-key-gained"
        ),
        Example(
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, shop INT NOT NULL, PRIMARY KEY (id, shop)",
            fires=(("shop",),),
            unconfirmed=("key",),
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b, a)",
            why="the same columns in another order: key-columns-reordered",
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "order_id INT NOT NULL, PRIMARY KEY (order_id)",
            renames={"id": "order_id"},
            why="the same column under another name: key-column-renamed",
        ),
    ),
)
