"""A column of the key allows NULL.

What happened: A column of the key forbade NULL and allows it now, or a nullable column joined the key.

Why it hurts: A merge compares keys, and NULL is equal to nothing: a row with NULL in its key is inserted
again with every event. Iceberg refuses an optional column as an identifier field. An old Avro reader refuses
new keys.

What to do: Keep NOT NULL at the source, or choose other key columns (`message.key.columns`). Where NULL must
stay, merge with the null-safe operator `<=>`.

Sources: SQL standard, comparisons with NULL; Spark SQL reference, MERGE INTO; Iceberg specification,
Identifier Field IDs (required fields).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _keys, _words
from schemaman.model.ddl import quote_name
from schemaman.model.diff import ChangeKey, ChangeNullable

NAME = "key-column-nullable"
VERDICTS = parse_verdicts("N B D N B D B")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds key columns that allow NULL and did not before, and nullable columns that joined the key."""
    yield from _keys.join_findings(transition, _find_nullable(transition))


def _find_nullable(transition: Transition) -> Iterator[Finding]:
    new = transition.new
    if new is None or transition.old is None:
        return
    relaxed = {
        c.path[0] for c in transition.changes if isinstance(c, ChangeNullable) and c.new and not c.path[1:]
    }
    arrived = {n for c in transition.changes if isinstance(c, ChangeKey) for n in c.new if n not in c.old}
    for name in new.key:
        column = new.column(name)
        if column is None or not column.nullable or name not in relaxed | arrived:
            continue
        unsure = transition.is_unconfirmed("key") or transition.is_unconfirmed(f"nullable:{name}")
        forward = name in relaxed and not unsure and not _words.is_renamed(transition, (name,))
        finding = Finding(
            NAME,
            transition.table,
            (name,),
            "NOT NULL" if name in relaxed else "nullable",
            "nullable",
            f"the key column {name} allows NULL: a merge never finds a row with NULL in its key",
            _words.apply_resolution(VERDICTS, backward=False, forward=forward),
            fixes=(
                f"keep {name} NOT NULL at the source, or leave it out of the key",
                f"or merge with the null-safe operator: {quote_name(name)} <=> {quote_name(name)}",
            ),
            claims=(("became-nullable", (name,)), ("null-shadowed-by-default", (name,))),
        )
        yield _words.mark_unsure(finding) if unsure else finding


RULE = Rule(
    name=NAME,
    title="a column of the key allows NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="keys",
    examples=(
        Example("id INT NOT NULL, PRIMARY KEY (id)", "id INT, PRIMARY KEY (id)", fires=(("id",),)),
        Example(
            "id INT NOT NULL, n INT, PRIMARY KEY (id)",
            "id INT NOT NULL, n INT, PRIMARY KEY (id, n)",
            fires=(("n",),),
        ),
        Example(
            "id INT NOT NULL, PRIMARY KEY (id)",
            "id INT, PRIMARY KEY (id)",
            fires=(("id",),),
            unconfirmed=("nullable:id",),
        ),
        Example(
            "id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (id)",
            "id INT NOT NULL, n INT, PRIMARY KEY (id)",
            why="no column of the key: became-nullable",
        ),
        Example(
            "id INT, PRIMARY KEY (id)", "id INT, n INT, PRIMARY KEY (id)", why="the key allowed NULL before"
        ),
    ),
)
