"""A text has another meaning.

What happened: A column that is a text in events has another type of text: plain, of fixed length, JSON, XML,
UUID, enum or set.

Why it hurts: Events and the lake carry texts before and after, so nothing fails. A reader that parses JSON or
compares labels meets texts of another kind. A fixed length adds blanks at the end, so equal words compare as
different.

What to do: Look at values from both sides of the change, and let readers that parse the text change with the
source.

Sources: Debezium documentation, data type mappings (io.debezium.data.Json, Xml, Uuid, Enum, EnumSet);
PostgreSQL documentation, Character Types (blank-padded).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds
from schemaman.model.types import Uuid

NAME = "text-semantic-changed"
VERDICTS = parse_verdicts("D D D N N D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds texts of another type; other lengths and other labels have their own rules."""
    for change in _kinds.find_type_changes(transition, _kinds.TEXTS, _kinds.TEXTS):
        if type(change.old) is type(change.new) and _kinds.keeps_values(change.old, change.new):
            continue
        if isinstance(change.old, Uuid) or isinstance(change.new, Uuid):
            continue
        yield _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "it is a text before and after, and may be written in another way",
            "compare texts from both sides of the change, and let readers that parse them change, too",
        )


RULE = Rule(
    name=NAME,
    title="a text has another meaning",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="meanings",
    examples=(
        Example("t STRING", "t JSON", fires=(("t",),)),
        Example("t UUID", "t STRING", why="a UUID: uuid-or-network-retyped"),
        Example("t ENUM('a','b')", "t VARCHAR(10)", fires=(("t",),)),
        Example("t CHAR(10)", "t VARCHAR(10)", fires=(("t",),)),
        Example(
            "a ARRAY<XML>",
            "a ARRAY<STRING>",
            fires=(
                (
                    "a",
                    "element",
                ),
            ),
        ),
        Example("t VARCHAR(10)", "t STRING", why="a text of another length: string-length-increased"),
        Example("t ENUM('a','b')", "t ENUM('a','b','c')", why="other labels: enum-value-added"),
        Example("t STRING", "t BINARY", why="bytes: bytes-to-string"),
    ),
)
