"""Settings of subjects: those of the subject, of its context, of all contexts, and the registry's own.

Source: Confluent documentation, "Schema contexts" and "Schema Registry API", config and mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from schemaman.store.subject_names import GLOBAL_CONTEXT, format_context
from schemaman.store.subjects import JsonObject, SubjectName, SubjectRows
from schemaman.subjects.faults import RefusedRequest

DEFAULT_CONFIG: Mapping[str, object] = {"compatibilityLevel": "BACKWARD"}
DEFAULT_MODE = "READWRITE"


def list_scopes(scope: str, context: str) -> Iterator[str]:
    """List the scopes whose settings hold for a scope, the nearest first."""
    yield from dict.fromkeys((scope, format_context(context), format_context(GLOBAL_CONTEXT)))


def read_config(rows: SubjectRows, scope: str, context: str) -> JsonObject:
    """Read the settings that hold in a scope; a nearer scope has precedence for each setting."""
    found = dict(DEFAULT_CONFIG)
    for each in reversed(list(list_scopes(scope, context))):
        found |= rows.read_settings(each).config or {}
    return found


def read_mode(rows: SubjectRows, scope: str, context: str) -> str:
    """Read the mode that holds in a scope; READONLY_OVERRIDE of a context holds for all its subjects."""
    modes = [rows.read_settings(each).mode for each in list_scopes(scope, context)]
    if "READONLY_OVERRIDE" in modes[1:]:
        return "READONLY_OVERRIDE"
    return next((mode for mode in modes if mode), DEFAULT_MODE)


def require_writable(rows: SubjectRows, subject: SubjectName) -> str:
    """Return the mode of a subject. Raises `RefusedRequest` with 42205 if it is read-only."""
    mode = read_mode(rows, str(subject), subject.context)
    if mode.startswith("READONLY"):
        raise RefusedRequest(42205, f"Subject {subject} is in read-only mode")
    return mode


def follow_alias(rows: SubjectRows, subject: SubjectName) -> SubjectName:
    """Return the subject that another one stands for, or the subject itself."""
    alias = (rows.read_settings(str(subject)).config or {}).get("alias")
    return SubjectName(subject.context, alias) if isinstance(alias, str) and alias else subject
