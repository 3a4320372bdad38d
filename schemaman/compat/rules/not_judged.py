"""A change that no rule covers.

What happened: A column has another type, and none of the rules knows this change.

Why it hurts: Nobody has worked out which readers it breaks. A gate that passes it would promise more than it
knows.

What to do: Compare the types before and after, and look at a few records from both sides of the change. If
your readers can read both, waive the finding.

Sources: none; this is the finding of last resort.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemaman.compat.judge import Example, Finding, Rule, StepFact, Transition, parse_verdicts
from schemaman.compat.rules import _facts, _words
from schemaman.model.ddl import format_type
from schemaman.model.diff import ChangeType
from schemaman.model.types import without_labels

NAME = "not-judged"
VERDICTS = parse_verdicts("B B B B B B B")
_OTHERS = parse_verdicts("· · B B B B B")
"""Without Avro, which decides for itself."""


def check(transition: Transition) -> Iterator[Finding]:
    """Finds changes of type; other labels of an enum alone are none."""
    for change in transition.changes:
        match change:
            case ChangeType(path, old, new) if without_labels(old) != without_labels(new):
                before, after = format_type(old), format_type(new)
                backward, forward = _words.check_resolution(transition, path, old, new)
                yield Finding(
                    NAME,
                    transition.table,
                    path,
                    before,
                    after,
                    f"no rule covers the change of {_words.join_path(path)} from {before} to {after}: "
                    "which readers it breaks is not known",
                    _words.apply_resolution(
                        _words.restrict_to_column(_OTHERS, transition, path[0]),
                        backward=backward,
                        forward=forward,
                    ),
                    fixes=(
                        "compare records from both sides of the change; "
                        "waive the finding if your readers read both",
                    ),
                    claims=(("avro-incompatible", path[:1]), *_words.claim_default(path)),
                )
            case _:
                continue
    for fact in transition.list_facts("encoding"):
        yield _facts.build_fact_finding(
            NAME,
            VERDICTS,
            transition,
            fact,
            f"no rule covers the encoding of {', '.join(fact.columns)}, which went from {fact.before} "
            f"to {fact.after}: which readers it breaks is not known",
            "compare records from both sides of the change; waive the finding if your readers read both",
        )


def keep_unexplained(transition: Transition, finding: Finding, others: Sequence[Finding]) -> Finding | None:
    """Keeps the finding unless another rule tells of the same change of type, and does not claim this one."""
    del transition
    explained = any(
        other.path == finding.path
        and other.before.startswith(finding.before)
        and other.after.startswith(finding.after)
        and (NAME, finding.path) not in other.claims
        for other in others
    )
    return None if explained else finding


RULE = Rule(
    name=NAME,
    title="a change that no rule covers",
    verdicts=VERDICTS,
    check=check,
    page=__doc__ or "",
    family="types",
    last_resort=keep_unexplained,
    examples=(
        Example("a INTERVAL", "a BOOLEAN", fires=(("a",),)),
        Example("a INT", "a INT", fires=((),), facts=(StepFact("encoding", "x", "y", ("a",), "main:shop"),)),
        Example("a BIGINT", "a INT", why="integer-narrowed covers it"),
        Example("a INT", "a INT", why="nothing changed"),
    ),
)
