"""Settings of subjects: those of the subject, of its context, of all contexts, and the registry's own.

Source: Confluent documentation, "Schema contexts" and "Schema Registry API", config and mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schemaman.store.subject_names import GLOBAL_CONTEXT, format_context, parse_subject
from schemaman.store.subjects import JsonObject, QuarantinedVersion, SubjectName, SubjectRows, SubjectSettings
from schemaman.subjects.faults import RefusedRequest

DEFAULT_CONFIG: Mapping[str, object] = {"compatibilityLevel": "BACKWARD"}
DEFAULT_MODE = "READWRITE"
DEFAULT_POLICY = "AVRO"
"""The policy that asks for nothing beyond Avro's compatibility level."""


def list_scopes(scope: str, context: str) -> Iterator[str]:
    """List the scopes whose settings hold for a scope, the nearest first."""
    yield from dict.fromkeys((scope, format_context(context), format_context(GLOBAL_CONTEXT)))


@dataclass(frozen=True, slots=True)
class Scope:
    """The settings, the mode and the policy that hold for a subject or a context.

    `quarantine` are the quarantined versions of the subject itself.
    """

    config: JsonObject
    mode: str
    policy: str = DEFAULT_POLICY
    quarantine: tuple[QuarantinedVersion, ...] = ()


def read_scope(rows: SubjectRows, scope: str, context: str) -> Scope:
    """Read what holds in a scope; a nearer scope has precedence for each setting.

    READONLY_OVERRIDE of a context holds for all its subjects.
    """
    scopes = list(list_scopes(scope, context))
    found = rows.list_settings(scopes)
    settings = [found.get(each, SubjectSettings()) for each in scopes]
    config = dict(DEFAULT_CONFIG)
    for each in reversed(settings):
        config |= each.config or {}
    modes = [each.mode for each in settings]
    policy = next((each.policy for each in settings if each.policy), DEFAULT_POLICY)
    if "READONLY_OVERRIDE" in modes[1:]:
        return Scope(config, "READONLY_OVERRIDE", policy, settings[0].quarantine)
    mode = next((mode for mode in modes if mode), DEFAULT_MODE)
    return Scope(config, mode, policy, settings[0].quarantine)


def require_writable(rows: SubjectRows, subject: SubjectName) -> Scope:
    """Return what holds for a subject. Raises `RefusedRequest` with 42205 if it is read-only."""
    scope = read_scope(rows, str(subject), subject.context)
    if scope.mode.startswith("READONLY"):
        raise RefusedRequest(42205, f"Subject {subject} is in read-only mode")
    return scope


def follow_alias(rows: SubjectRows, subject: SubjectName) -> SubjectName:
    """Return the subject that another one stands for, or the subject itself."""
    alias = (rows.read_settings(str(subject)).config or {}).get("alias")
    return SubjectName(subject.context, alias) if isinstance(alias, str) and alias else subject


def list_aliases(rows: SubjectRows) -> tuple[tuple[SubjectName, SubjectName], ...]:
    """List each alias with the subject that it stands for, in order."""
    names = [(parse_subject(scope), settings.config) for scope, settings in rows.list_all_settings().items()]
    return tuple(
        (name, SubjectName(name.context, alias))
        for name, config in names
        if isinstance(alias := (config or {}).get("alias"), str) and alias
    )
