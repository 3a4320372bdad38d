"""The table got its first key.

What happened: The table had no key, and events have one now.

Why it hurts: Rows that were written before have no key: a merge cannot find them, and each of them may come
again as a second row.

What to do: Load the target again from a snapshot, keyed by the new key, or remove the rows without a key
there.

Sources: Debezium documentation, change event keys and message.key.columns.
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
    ChangeKey,
    ChangeNullable,
)

NAME = "primary-key-gained"
VERDICTS = parse_verdicts("N N D N D N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds tables that had no key and have one."""
    yield from _keys.join_findings(transition, _find_key(transition))


def _find_key(transition: Transition) -> Iterator[Finding]:
    for change in transition.changes:
        match change:
            case ChangeKey((), (_, *_) as columns):
                text = f"({', '.join(columns)})"
                nulls = any(
                    isinstance(c, ChangeNullable) and c.path == (n,) and not c.new
                    for c in transition.changes
                    for n in columns
                )
                sure = not any(
                    transition.is_unconfirmed(f) for f in ("key", *(f"nullable:{n}" for n in columns))
                )
                finding = Finding(
                    NAME,
                    transition.table,
                    (columns[0],),
                    "",
                    text,
                    f"the table got its first key {text}: rows written before have none",
                    _words.apply_resolution(VERDICTS, backward=nulls and sure, forward=False),
                    fixes=(
                        f"load the target again from a snapshot, keyed by {text}",
                        "stop merges into the target until its key has changed, too",
                    ),
                    claims=tuple(claim for n in columns for claim in _words.claim_new_column((n,))),
                )
                yield _words.mark_unsure(finding) if transition.is_unconfirmed("key") else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="the table got its first key",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example("id INT NOT NULL", "id INT NOT NULL, PRIMARY KEY (id)", fires=(("id",),)),
        Example("a INT", "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)", fires=(("a",),)),
        Example(
            "id INT NOT NULL", "id INT NOT NULL, PRIMARY KEY (id)", fires=(("id",),), unconfirmed=("key",)
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            why="there was a key: key-column-added",
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL",
            why="the other way round: primary-key-lost",
        ),
    ),
)
