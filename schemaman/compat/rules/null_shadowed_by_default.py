"""A nullable column has a default that may replace NULL.

What happened: A column allows NULL and has a default now.

Why it hurts: Converters of Kafka Connect write the default where a row has NULL, unless they are told
otherwise. Then NULL and the default are one value for every reader, and nothing fails.

What to do: Set `ignore.default.for.nullables=true` for the Avro converter of Confluent, and
`replace.null.with.default=false` for the JSON converter.

Sources: Confluent documentation, AvroConverter (ignore.default.for.nullables); Kafka documentation,
JsonConverter (replace.null.with.default, true by default).
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
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import (
    AddColumn,
    ChangeDefault,
    ChangeNullable,
)
from schemaman.model.schema import Column, Path

NAME = "null-shadowed-by-default"
VERDICTS = parse_verdicts("D D D D D D D")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that allow NULL and have a default, if one of both is new."""
    for change in transition.changes:
        match change:
            case AddColumn((name,) as path, Column(nullable=True, default=default), _) | ChangeDefault(
                (name,) as path, None, default
            ) if default is not None:
                before = ""
            case ChangeNullable((name,) as path, False, True):
                before = "NOT NULL"
            case _:
                continue
        column = transition.new.column(name) if transition.new is not None else None
        if (
            column is None
            or not column.nullable
            or column.default is None
            or path in _find_changed(transition)
        ):
            continue
        definition = _words.describe_column(column)
        finding = Finding(
            NAME,
            transition.table,
            path,
            before,
            definition,
            f"{name} allows NULL and has the default {format_scalar(column.default)}: "
            "converters may write the default for NULL",
            _words.restrict_to_column(VERDICTS, transition, name),
            fixes=("set ignore.default.for.nullables=true (Avro), replace.null.with.default=false (JSON)",),
            claims=(
                *_words.claim_new_column(path),
                ("default-added", path),
                ("default-not-representable", path),
            ),
        )
        unsure = any(transition.is_unconfirmed(f"{fact}:{name}") for fact in ("default", "nullable"))
        yield _words.mark_unsure(finding, "note") if unsure else finding


def _find_changed(transition: Transition) -> set[Path]:
    """Finds columns with another default than before, which have their own rule."""
    return {
        c.path
        for c in transition.changes
        if isinstance(c, ChangeDefault) and c.old is not None and c.new is not None
    }


RULE = Rule(
    name=NAME,
    title="a nullable column has a default that may replace NULL",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="defaults",
    examples=(
        Example("id INT", "id INT, n INT DEFAULT 5", fires=(("n",),)),
        Example("n INT", "n INT DEFAULT 5", fires=(("n",),)),
        Example("n INT NOT NULL DEFAULT 5", "n INT DEFAULT 5", fires=(("n",),)),
        Example("id INT", "id INT, n INT", why="there is no default: column-added-nullable"),
        Example("n INT NOT NULL", "n INT NOT NULL DEFAULT 5", why="it forbids NULL: default-added"),
    ),
)
