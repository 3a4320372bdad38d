"""An integer column became smaller at the source.

What happened: An integer column now has fewer bits than before.

Why it hurts: Old values may not fit the new type. The lake keeps the wider type, so nothing is lost there,
but readers that use the source's new type overflow on old rows. If the change goes from 64 to 32 bits, a new
Avro reader refuses all old data, because Avro promotes int to long and never back.

What to do: Keep the wide type at the target, which is the default, and keep readers on the wide type as
long as they read old data.

Sources: Avro specification, Schema Resolution (promotions); Debezium documentation, data type mappings
(8- and 16-bit integers are Avro int, unsigned ones travel one size larger).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemaman.compat.judge import Example, Finding, Rule, Transition, parse_verdicts
from schemaman.compat.rules import _kinds, _words
from schemaman.model.ddl import format_type
from schemaman.model.types import Integer, widens

NAME = "integer-narrowed"
VERDICTS = parse_verdicts("B N D N N D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds integers, also inside structs, arrays and maps, that have fewer bits."""
    for change in _kinds.find_type_changes(transition, (Integer,), (Integer,)):
        path, old, new = change.path, change.old, change.new
        if new.bits >= old.bits or widens(old, new):
            continue
        name, before, after = _words.join_path(path), format_type(old), format_type(new)
        finding = _kinds.build_finding(
            NAME,
            VERDICTS,
            transition,
            change,
            "",
            f"keep {before} at the target (the default); readers of old rows stay on {before}",
            milder="note",
            example=f"{2 ** (old.bits - old.signed) - 1} is a value of {before} and none of {after}",
        )
        message = f"{name} shrank from {before} to {after}: old values may not fit new readers"
        yield replace(finding, message=message)


RULE = Rule(
    name=NAME,
    title="an integer column became smaller",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    examples=(
        Example("id INT NOT NULL, n BIGINT", "id INT NOT NULL, n INT", fires=(("n",),)),
        Example("id INT NOT NULL, n INT", "id INT NOT NULL, n SMALLINT", fires=(("n",),)),
        Example("id INT NOT NULL, n INT", "id INT NOT NULL, n SMALLINT UNSIGNED", fires=(("n",),)),
        Example(
            "a ARRAY<BIGINT>, s STRUCT<n: BIGINT>",
            "a ARRAY<INT>, s STRUCT<n: INT>",
            fires=(("a", "element"), ("s", "n")),
        ),
        Example("n INT", "n BIGINT", why="it grew: integer-widened"),
        Example("n INT UNSIGNED", "n INT", why="the same number of bits: signedness-changed"),
        Example("n SMALLINT UNSIGNED", "n INT", why="every old value fits"),
        Example("n BIGINT", "n STRING", why="another kind of type: number-to-string"),
    ),
)
