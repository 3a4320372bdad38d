"""A change that no rule covers.

What happened: A column has another type, or NULL is allowed now, and none of the rules knows this change.

Why it hurts: Nobody has worked out which readers it breaks. A gate that passes it would promise more than it
knows.

What to do: Compare the types before and after, and look at a few records from both sides of the change. If
your readers can read both, waive the finding.

Sources: none; this is the finding of last resort.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from schemaman.compat.judge import Example, Finding, Rule, Transition, cap_verdicts, parse_verdicts
from schemaman.compat.rules import _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeNullable, ChangeType
from schemaman.model.types import without_labels

NAME = "not-judged"
VERDICTS = parse_verdicts("B B B B B B B")
_OTHERS = parse_verdicts("· · B B B B B")
"""Without Avro, which decides for itself."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds changes of type, and columns that became nullable."""
    for change in transition.changes:
        match change:
            case ChangeType(path, old, new) if without_labels(old) != without_labels(new):
                before, after = format_type(old), format_type(new)
                backward, forward = _words.check_resolution(transition, path, old, new)
            case ChangeNullable(path, False, True):
                before, after = "NOT NULL", "nullable"
                backward, forward = False, not _words.is_renamed(transition, path)
            case _:
                continue
        yield Finding(
            NAME,
            transition.table,
            path,
            before,
            after,
            f"no rule covers the change of {_words.join_path(path)} from {before} to {after}: "
            "which readers it breaks is not known",
            _words.apply_resolution(
                _words.restrict_to_column(_OTHERS, transition, path[0]), backward=backward, forward=forward
            ),
            fixes=(
                "compare records from both sides of the change; waive the finding if your readers read both",
            ),
            claims=(("avro-incompatible", path[:1]),),
        )


def keep_unexplained(transition: Transition, finding: Finding, others: Sequence[Finding]) -> Finding | None:
    """Keeps the finding if no other rule has one at the same place.

    A finding about the key or the name of a column says nothing about its type.
    """
    near = [other for other in others if other.path == finding.path]
    if finding.after == "nullable" and near:
        return None
    if any(o.before.startswith(finding.before) and o.after.startswith(finding.after) for o in near):
        return None
    if finding.after != "nullable" or not transition.is_unconfirmed(f"nullable:{finding.path[0]}"):
        return finding
    message = f"{finding.message} (not confirmed: {_words.LATER})"
    return replace(finding, message=message, verdicts=cap_verdicts("danger", finding.verdicts))


RULE = Rule(
    name=NAME,
    title="a change that no rule covers",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    last_resort=keep_unexplained,
    examples=(
        Example("a INTERVAL", "a UUID", fires=(("a",),)),
        Example("a BIGINT", "a INT", why="integer-narrowed covers it"),
        Example("a INT", "a INT", why="nothing changed"),
    ),
)
