"""A UUID or a network address is a text, or the other way round.

What happened: The column was a UUID, or an address of PostgreSQL (inet, cidr, macaddr), and is a plain text
now, or the other way round.

Why it hurts: Events and the lake carry texts before and after, so nothing fails. The source writes UUIDs and
addresses in one form only; a plain text may have other letters for an equal value, so joins and keys miss.

What to do: Compare values from both sides, and write them in one form where you join by them.

Sources: Debezium documentation, PostgreSQL data types (uuid, inet, cidr, macaddr are strings); PostgreSQL
documentation, UUID Type and Network Address Types.
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
from schemaman.compat.rules import _kinds, _words
from schemaman.model.diff import (
    ChangeAttribute,
    ChangeType,
)
from schemaman.model.types import (
    Uuid,
)

NAME = "uuid-or-network-retyped"
VERDICTS = parse_verdicts("D D D N N D D")
NETWORK = frozenset({"inet", "cidr", "macaddr", "macaddr8"})
"""The addresses of PostgreSQL."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds UUIDs that became other texts, and back, and network addresses by the words of the source."""
    for change in _kinds.find_type_changes(transition, _kinds.TEXTS, _kinds.TEXTS):
        if isinstance(change.old, Uuid) != isinstance(change.new, Uuid):
            yield _kinds.build_finding(
                NAME,
                VERDICTS,
                transition,
                change,
                "it is a text before and after, and an equal value may have other letters",
                "compare values from both sides, and write them in one form where you join by them",
            )
    retyped = {c.path for c in transition.changes if isinstance(c, ChangeType)}
    for attribute in transition.changes:
        match attribute:
            case ChangeAttribute(path, "source_type", str() as old, str() as new) if path not in retyped:
                if (_read_word(old) in NETWORK) != (_read_word(new) in NETWORK):
                    yield Finding(
                        NAME,
                        transition.table,
                        path,
                        old,
                        new,
                        f"{_words.join_path(path)} went from {old} to {new}: "
                        "an equal value may have other letters",
                        _words.restrict_to_column(VERDICTS, transition, path[0]),
                        fixes=("compare values from both sides, and write them in one form",),
                        claims=(("type-alias-only", path),),
                    )
            case _:
                continue


def _read_word(text: str) -> str:
    return text.partition("(")[0].strip().lower()


RULE = Rule(
    name=NAME,
    title="a UUID or a network address is a text, or the other way round",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("u UUID", "u STRING", fires=(("u",),)),
        Example("u ENUM('a')", "u UUID", fires=(("u",),)),
        Example("a STRING SOURCE 'inet'", "a STRING SOURCE 'text'", fires=(("a",),)),
        Example(
            "a STRING SOURCE 'text'",
            "a STRING SOURCE 'varchar'",
            why="another word for a text: type-alias-only",
        ),
        Example("u UUID", "u BINARY(16)", why="bytes and no text: bytes-to-string"),
    ),
)
