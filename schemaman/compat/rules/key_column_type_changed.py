"""A column of the key has another type.

What happened: The type of a column changed, and the column is part of the key before and after the change.

Why it hurts: The key of an equal row may differ: a merge does not find the rows that were written before, and
one row becomes two. Kafka may put the row into another partition. If every old value is also a value of the
new type, only the bytes of the key can differ.

What to do: Rewrite the key column of the target in one step with the change, and compare a few keys from both
sides. The evidence names what the change of type does to the other readers.

Sources: Debezium documentation, change event keys; Kafka documentation, default partitioner; Avro
specification, Schema Resolution.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, Verdict, parse_verdicts
from schemaman.compat.rules import _keys, _kinds, _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeKey, ChangeType
from schemaman.model.types import widens

_WIDENED: Verdict = "danger"
"""The verdict of merges if every old value is one of the new type."""

NAME = "key-column-type-changed"
VERDICTS = parse_verdicts("N B D N N D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds key columns whose values have another type; a limit alone, as a length, changes no key."""
    key = transition.new.key if transition.new else ()
    yield from _keys.join_findings(transition, _find_retyped(transition, key))


def _find_retyped(transition: Transition, key: tuple[str, ...]) -> Iterator[Finding]:
    arrived = {n for c in transition.changes if isinstance(c, ChangeKey) for n in c.new if n not in c.old}
    for change in transition.changes:
        match change:
            case ChangeType((name, *_) as path, old, new) if name in key and name not in arrived:
                if _kinds.keeps_values(old, new) or _kinds.is_null_only(old):
                    continue
                if name == "_id" and transition.has_fact("documents"):
                    continue
                before, after = format_type(old), format_type(new)
                backward, forward = _words.check_resolution(transition, path, old, new)
                row = VERDICTS if not widens(old, new) else {**VERDICTS, "merge-key": _WIDENED}
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    before,
                    after,
                    f"the key column {_words.join_path(path)} went from {before} to {after}: "
                    "a merge may miss the rows written before",
                    _words.apply_resolution(row, backward=backward, forward=forward, milder="note"),
                    fixes=(
                        f"rewrite the key column of the target to {after} in one step with the change",
                        "compare a few keys from both sides of the change",
                    ),
                    claims=(
                        *((rule, path) for rule in (*_kinds.TYPE_RULES, "not-judged")),
                        *_words.claim_default(path),
                    ),
                )
                yield _words.mark_unsure(finding) if transition.is_unconfirmed("key") else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="a column of the key has another type",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)", "id BIGINT NOT NULL, PRIMARY KEY (id)", fires=(("id",),)
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)", "id STRING NOT NULL, PRIMARY KEY (id)", fires=(("id",),)
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "no BIGINT NOT NULL, PRIMARY KEY (no)",
            fires=(("no",),),
            renames={"id": "no"},
        ),
        Example(
            "id INTERVAL NOT NULL, PRIMARY KEY (id)",
            "id BOOLEAN NOT NULL, PRIMARY KEY (id)",
            fires=(("id",),),
        ),
        Example(
            "id INT NOT NULL, n INT, PRIMARY KEY (id)",
            "id INT NOT NULL, n BIGINT, PRIMARY KEY (id)",
            why="no column of the key: integer-widened",
        ),
        Example(
            "id VARCHAR(10) NOT NULL, PRIMARY KEY (id)",
            "id VARCHAR(20) NOT NULL, PRIMARY KEY (id)",
            why="equal keys stay equal: string-length-increased",
        ),
        Example(
            "id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (id, n)",
            why="the column is new in the key: key-column-added",
        ),
    ),
)
