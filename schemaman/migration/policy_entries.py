"""The `[[policy]]` entries of `schemaman.toml` as rules: selectors, and a level for each kind of change.

[[policy]]
tables = "billing.*"
targets = ["raw"]
drop-column = "approve"
"rename-*" = "block"
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from schemaman.policy import ANY, KINDS, LEVELS, NEVER, PolicyRule, nearest

SELECTORS = ("tables", "targets")


def policies(value: object) -> tuple[PolicyRule, ...]:
    """The rules of all entries, in their order.

    Raises:
        ValueError: an entry that says nothing, an unknown kind or level, or a level that a kind cannot have.
    """
    if not isinstance(value, list | tuple):
        raise ValueError("policies are written as [[policy]]")
    return tuple(rule for number, entry in enumerate(value, 1) for rule in _policy(entry, number))


def _policy(entry: Any, number: int) -> Iterator[PolicyRule]:
    if not isinstance(entry, dict):
        raise ValueError(f"policy {number} is not a table")
    if not entry.keys() - set(SELECTORS):
        raise ValueError(f"policy {number} says no level; write a kind of change = a level")
    tables, targets = (patterns(entry.get(key, ANY)) for key in SELECTORS)
    if not tables or not targets:
        raise ValueError(f"policy {number} means no {'targets' if tables else 'tables'}")
    for kind, told in entry.items():
        if kind in SELECTORS:
            continue
        if not any(fnmatchcase(known, kind) for known in KINDS):
            hint = nearest(kind, (*KINDS, *SELECTORS)) or f"there are: {', '.join(KINDS)}"
            raise ValueError(f"policy {number} names an unknown kind of change {kind!r}; {hint}")
        level = next((known for known in LEVELS if known == told), None)
        if level is None:
            hint = nearest(str(told), LEVELS) or f"there are: {', '.join(LEVELS)}"
            raise ValueError(f"policy {number}: {kind}: unknown level {told!r}; {hint}")
        never = next((barred for known, barred in NEVER.items() if known == kind), frozenset())
        if level in never:
            able = ", ".join(each for each in LEVELS if each not in never)
            raise ValueError(f"policy {number}: {kind} cannot be {level}; it may be {able}")
        yield PolicyRule(level, (kind,), tables, targets, f"[[policy]] {number}")


def patterns(value: object) -> tuple[str, ...]:
    """One pattern or several, in a list or between commas. Raises `ValueError` for anything else."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise ValueError(f"expected a list of texts, found {value!r}")
