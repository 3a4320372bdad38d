"""One key that changes is one finding: the rules about keys, and what each of them claims of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from schemaman.compat.judge import Finding, Transition
from schemaman.model.diff import ChangeKey, ChangeNullable, ChangeType
from schemaman.model.schema import Path

KEY_RULES = (
    "primary-key-gained",
    "primary-key-lost",
    "key-column-removed",
    "key-column-added",
    "key-columns-reordered",
    "key-column-renamed",
    "key-column-type-changed",
    "key-column-nullable",
    "key-source-changed",
    "key-override-changed",
    "key-not-in-value",
    "key-bytes-changed",
    "approximate-key",
)
"""The rules about keys; an earlier one claims the findings of the later ones."""

_NULLABILITY = ("became-nullable", "became-required")


def join_findings(transition: Transition, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Lets the first finding of a rule about keys claim the others, and what follows from the key.

    A column that joins or leaves the key changes its nullability with it. While the key is not confirmed, the
    nullability that was read with it is not either.
    """
    all_findings = tuple(findings)
    for index, finding in enumerate(all_findings):
        later = KEY_RULES[KEY_RULES.index(finding.rule) + 1 :]
        claims = [(f.rule, f.path) for f in all_findings[index + 1 :]]
        claims += [(rule, path) for rule in later for path in _list_paths(transition)]
        claims += [(rule, (name,)) for rule in _NULLABILITY for name in _list_followers(transition)]
        yield replace(finding, claims=(*finding.claims, *claims))


def list_names(transition: Transition) -> tuple[str, ...]:
    """List the columns of the key before and after, by all their names."""
    schemas = [schema for schema in (transition.old, transition.new) if schema is not None]
    return tuple(dict.fromkeys(name for schema in schemas for name in schema.key))


def _list_paths(transition: Transition) -> tuple[Path, ...]:
    """List where findings about the key may be: the table, its columns, and what changed inside of them."""
    names = list_names(transition)
    inside = (c.path for c in transition.changes if isinstance(c, ChangeType) and c.path[0] in names)
    return ((), *((name,) for name in names), *inside)


def _list_followers(transition: Transition) -> set[str]:
    """List the columns whose nullability changed with the key."""
    changed = {c.path[0] for c in transition.changes if isinstance(c, ChangeNullable) and not c.path[1:]}
    found: set[str] = set()
    for change in transition.changes:
        match change:
            case ChangeKey(old, new):
                found |= changed & ({*old} ^ {*new})
                if transition.is_unconfirmed("key"):
                    found |= {name for name in changed if transition.is_unconfirmed(f"nullable:{name}")}
            case _:
                continue
    return found
