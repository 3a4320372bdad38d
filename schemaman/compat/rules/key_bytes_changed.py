"""An equal key has other bytes.

What happened: The schema of the key has another default, and nothing else about the key changed.

Why it hurts: The converters of Confluent write the number of the schema in front of the key, so a new schema
changes the bytes of every key. Kafka puts an equal row into another partition, and log compaction keeps both
keys.

What to do: Let consumers that need the order of events read up to the change first. Merges by columns are not
affected.

Sources: Confluent documentation, Wire Format (the schema id precedes the data); Kafka documentation, default
partitioner and log compaction.
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
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import (
    ChangeDefault,
)

NAME = "key-bytes-changed"
VERDICTS = parse_verdicts("D D D · · · D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds key columns with another default."""
    yield from _keys.join_findings(transition, _find_defaults(transition))


def _find_defaults(transition: Transition) -> Iterator[Finding]:
    key = transition.new.key if transition.new is not None else ()
    for change in transition.changes:
        match change:
            case ChangeDefault((name,) as path, old, new) if name in key:
                before, after = ("" if value is None else format_scalar(value) for value in (old, new))
                words = f"has the default {after}" if after else f"lost its default {before}"
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    before,
                    after,
                    f"the key column {name} {words}: the schema of keys has another number in their bytes",
                    VERDICTS,
                    fixes=("let consumers that need the order of events read up to the change first",),
                    claims=_words.claim_default(path),
                )
                unsure = transition.is_unconfirmed(f"default:{name}") or transition.is_unconfirmed("key")
                yield _words.mark_unsure(finding, "note") if unsure else finding
            case _:
                continue


RULE = Rule(
    name=NAME,
    title="an equal key has other bytes",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL DEFAULT 0, PRIMARY KEY (id)",
            fires=(("id",),),
        ),
        Example(
            "id INT NOT NULL DEFAULT 0, PRIMARY KEY (id)",
            "id INT NOT NULL, PRIMARY KEY (id)",
            fires=(("id",),),
        ),
        Example(
            "id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, n INT NOT NULL DEFAULT 0, PRIMARY KEY (id)",
            why="no column of the key: default-added",
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id BIGINT NOT NULL, PRIMARY KEY (id)",
            why="another type: key-column-type-changed",
        ),
    ),
)
