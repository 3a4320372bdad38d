"""A column lost its default.

What happened: A column had a default and has none now. In an Avro schema, that may be the default null of an
optional field.

Why it hurts: Data of the version before has the column and can be read. Data that is older than a required
column was filled with the default, and now a new Avro reader refuses it.

What to do: Keep the default while readers read data from before the column was added, or read such data with
its own schema. For a nullable column nothing is needed, since null takes the place of the default.

Sources: Avro specification, Schema Resolution (a reader's field that was not written needs a default).
"""

from __future__ import annotations

from collections.abc import Iterator

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.column_list import format_scalar
from schemaman.model.diff import ChangeDefault

NAME = "default-removed"
VERDICTS = parse_verdicts("B N N N N N ·")


def check(transition: Transition) -> Iterator[Finding]:
    """Finds columns that had a default and have none now."""
    for change in transition.changes:
        match change:
            case ChangeDefault((name,) as path, old, None) if old is not None:
                column = transition.new.column(name) if transition.new else None
                required = column is not None and not column.nullable
                effect = "data from before the column needs it" if required else "null takes its place"
                default = format_scalar(old)
                finding = Finding(
                    NAME,
                    transition.table,
                    path,
                    default,
                    "",
                    f"{name} lost its default {default}: {effect}",
                    # The data of the step has the column; only older data may miss it.
                    _words.apply_resolution(
                        VERDICTS, backward=False, forward=False, milder="danger" if required else "note"
                    ),
                    fixes=(f"keep the default {default} while readers read data from before the column",),
                )
                unsure = any(transition.is_unconfirmed(f"{fact}:{name}") for fact in ("default", "nullable"))
                yield _words.mark_unsure(finding, "note") if unsure else finding
            case _:
                continue
    for fact in transition.list_facts("null-default-removed"):
        for name in fact.columns:
            yield Finding(
                NAME,
                transition.table,
                tuple(name.split(".")),
                "null",
                "",
                f"{name} lost its default: data from before the field needs one",
                _words.apply_resolution(VERDICTS, backward=False, forward=False, milder="danger"),
                fixes=("keep the default while readers read data from before the field",),
            )


RULE = Rule(
    name=NAME,
    title="a column lost its default",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="defaults",
    examples=(
        Example(
            "id INT NOT NULL, n INT NOT NULL DEFAULT 0", "id INT NOT NULL, n INT NOT NULL", fires=(("n",),)
        ),
        Example("n INT DEFAULT 5", "n INT", fires=(("n",),)),
        Example("n INT NOT NULL DEFAULT 5", "n INT NOT NULL", fires=(("n",),), unconfirmed=("default:n",)),
        Example("n INT", "n INT", fires=(("n",),), facts=(StepFact("null-default-removed", columns=("n",)),)),
        Example("n INT", "n INT DEFAULT 5", why="the other way round: default-added"),
        Example("id INT, n INT DEFAULT 5", "id INT", why="the column is gone: column-dropped"),
    ),
)
