"""The key has the same columns in another order.

What happened: The primary key was declared again with its columns in another order.

Why it hurts: Avro readers accept the new key. Its bytes differ for an equal row: Kafka puts the row into
another partition. So events of one row are no longer in order, and log compaction keeps both keys.

What to do: Stop consumers that need the order of events, let them read up to the change, and start them
again. Merges by column names are not affected.

Sources: Debezium documentation, change event keys (the primary key columns in key order); Kafka
documentation, default partitioner and log compaction.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _keys, _words
from schemaman.model.diff import ChangeKey

NAME = "key-columns-reordered"
VERDICTS = parse_verdicts("D D D N N N D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds keys with the same columns in another order."""
    yield from _keys.join_findings(transition, _find_reordered(transition))


def _find_reordered(transition: Transition) -> Iterator[Finding]:
    for change in transition.changes:
        match change:
            case ChangeKey(old, new) if sorted(old) == sorted(new):
                before, after = f"({', '.join(old)})", f"({', '.join(new)})"
                finding = Finding(
                    NAME,
                    transition.table,
                    (),
                    before,
                    after,
                    f"the key went from {before} to {after}: an equal row has other key bytes, "
                    "and may go to another partition",
                    VERDICTS,
                    fixes=(
                        f"declare the former order for the connector: "
                        f"message.key.columns={transition.table.table}:{','.join(old)}",
                        "or let consumers finish the old records before they read new ones",
                    ),
                )
                yield _words.mark_unsure(finding) if transition.is_unconfirmed("key") else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="the key has its columns in another order",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b, a)",
            fires=((),),
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b, a)",
            fires=((),),
            unconfirmed=("key",),
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            "b INT NOT NULL, a INT NOT NULL, PRIMARY KEY (a, b)",
            why="the key keeps its order: column-reordered",
        ),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b, a)",
            why="one more column: key-column-added",
        ),
    ),
)
