"""The table lost its key.

What happened: The table has no key any more, and events have none.

Why it hurts: Updates and deletes cannot find their rows. Under the default replica identity, PostgreSQL sends
none of them. Kafka spreads the events of a row over all partitions.

What to do: Declare a key for the connector with `message.key.columns`, and a replica identity at PostgreSQL.
Stop merges into the target until then.

Sources: Debezium documentation, change event keys and message.key.columns; PostgreSQL documentation, ALTER
TABLE REPLICA IDENTITY.
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
    DropColumn,
)

NAME = "primary-key-lost"
VERDICTS = parse_verdicts("N N D N D D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds tables that had a key and have none."""
    yield from _keys.join_findings(transition, _find_key(transition))


def _find_key(transition: Transition) -> Iterator[Finding]:
    for change in transition.changes:
        match change:
            case ChangeKey((_, *_) as columns, ()):
                text = f"({', '.join(columns)})"
                finding = Finding(
                    NAME,
                    transition.table,
                    (columns[0],),
                    text,
                    "",
                    f"the table lost its key {text}: updates and deletes cannot find their rows",
                    _words.apply_resolution(VERDICTS, backward=False, forward=False),
                    fixes=(
                        f"declare a key: message.key.columns={transition.table.table}:{','.join(columns)}",
                        "stop merges into the target until its key has changed, too",
                    ),
                    claims=tuple(("column-dropped", (n,)) for n in columns),
                )
                yield (
                    _words.mark_unsure(finding)
                    if transition.is_unconfirmed("key") and not _is_gone(transition, tuple(columns))
                    else finding
                )
            case _:
                continue


def _is_gone(transition: Transition, columns: tuple[str, ...]) -> bool:
    """Returns whether a column of the key is gone: no key has it, however late the key was read."""
    return any(isinstance(c, DropColumn) and c.path[0] in columns for c in transition.changes)


RULE = Rule(
    name=NAME,
    title="the table lost its key",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example("id INT NOT NULL, PRIMARY KEY (id)", "id INT NOT NULL", fires=(("id",),)),
        Example("id INT NOT NULL, PRIMARY KEY (id)", "id INT", fires=(("id",),)),
        Example("id INT NOT NULL, n INT, PRIMARY KEY (id)", "n INT", fires=(("id",),)),
        Example(
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)",
            "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a)",
            why="a key is left: key-column-removed",
        ),
        Example(
            "id INT NOT NULL",
            "id INT NOT NULL, PRIMARY KEY (id)",
            why="the other way round: primary-key-gained",
        ),
    ),
)
