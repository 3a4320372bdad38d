"""Checks policies and targets that a program makes; the reader of settings checks those of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from string import Formatter

from schemaman.errors import BadConfiguration, UsageError
from schemaman.migration.policy import (
    ANY,
    KINDS,
    LEVELS,
    Policy,
    PolicyRule,
    ProjectionRule,
    suggest_word,
)
from schemaman.migration.settings import PLACEHOLDERS, TARGET_KEYS, TargetSetting, require_view
from schemaman.migration.target import TARGETS


def require_policy(policy: object) -> None:
    """Check the rules of a policy.

    Raises:
        UsageError: the value is not a policy.
        BadConfiguration: a rule has an unknown level, or names no known kind of change.
    """
    if not isinstance(policy, Policy):
        hint = "use schemaman.Policy(rules=(schemaman.PolicyRule('auto', ('widen',)),))"
        raise UsageError(f"policy is of type {type(policy).__name__}, not a Policy", hint=hint)
    for rule in policy.rules:
        if rule.level not in LEVELS:
            hint = suggest_word(str(rule.level), LEVELS) or f"there are: {', '.join(LEVELS)}"
            raise BadConfiguration(f"a policy rule has the unknown level {rule.level!r}", hint=hint)
        for name in ("changes", "tables", "targets"):
            if not isinstance(patterns := getattr(rule, name), tuple):
                hint = f"{name}=({patterns!r},)"
                raise BadConfiguration(f"the {name} of a policy rule are a tuple of texts", hint=hint)
        for pattern in rule.changes:
            if not any(fnmatchcase(kind, pattern) for kind in KINDS):
                hint = suggest_word(pattern, KINDS) or f"there are: {', '.join(KINDS)}"
                raise BadConfiguration(f"a policy rule names the unknown change {pattern!r}", hint=hint)


def require_targets(targets: object) -> Sequence[TargetSetting]:
    """Return the targets if each one is complete.

    Raises:
        UsageError: the value is not a sequence of targets.
        UnknownName: a format is unknown.
        BadConfiguration: a target has no address or two of them, or an unknown placeholder; or its patterns
            are not a tuple.
    """
    example = "schemaman.TargetSetting('lake', 'delta', ('*',), path='/lake/{table}')"
    found = [*targets] if isinstance(targets, list | tuple) else None
    if found is None or not all(isinstance(each, TargetSetting) for each in found):
        raise UsageError("targets are not a list of TargetSetting", hint=f"targets=[{example}]")
    for target in found:
        TARGETS.get(target.format)
        _require_address(target, example)
        try:
            require_view(target)
        except ValueError as error:
            raise BadConfiguration(str(error), hint="change `view` of the target") from error
    return found


def _require_address(target: TargetSetting, example: str) -> None:
    if not isinstance(target.tables, tuple):
        hint = f"tables=({target.tables!r},)"
        raise BadConfiguration(f"the tables of target {target.name} are a tuple of patterns", hint=hint)
    addresses = [address for address in (target.table, target.path) if address is not None]
    if len(addresses) != 1:
        raise BadConfiguration(f"target {target.name} needs either table or path", hint=example)
    for _, placeholder, _, _ in Formatter().parse(addresses[0]):
        if placeholder is not None and placeholder not in PLACEHOLDERS:
            hint = f"there are: {', '.join(PLACEHOLDERS)}"
            raise BadConfiguration(
                f"target {target.name} has the unknown placeholder {placeholder}", hint=hint
            )


def is_target_key(key: str) -> bool:
    """Whether a `[[target]]` may contain the key."""
    return key in TARGET_KEYS


def require_known_targets(
    rules: Iterable[PolicyRule | ProjectionRule], targets: Iterable[TargetSetting]
) -> None:
    """Raises `BadConfiguration` if a rule names a target that is neither among the targets nor a format."""
    named = {word: rule.origin for rule in rules for word in rule.targets if word != ANY}
    known = (*(target.name for target in targets), *TARGETS.names()) if named else ()
    for word, origin in sorted(named.items()):
        if word not in known:
            hint = suggest_word(word, known) or f"targets are: {', '.join(known)}"
            raise BadConfiguration(f"{origin} names the unknown target {word!r}", hint=hint)
