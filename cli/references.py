"""Resolves the REFs of a command."""

from __future__ import annotations

from schemaman.api.references import read_outside_history, resolve_reference
from schemaman.history.references import TableRef, parse
from schemaman.resolve import ResolvedSchema
from schemaman_cli.library import make_workspace, open_registry
from schemaman_cli.options import CommandContext


def resolve(context: CommandContext, text: str) -> ResolvedSchema:
    """Resolve a REF to its schema; only a REF to a table of the history opens the store.

    Raises:
        UsageError: the REF is malformed, unknown or ambiguous, or its time is inside an uncertain interval.
        CouldNotDo: the source that the REF names cannot be read.
    """
    reference = parse(text)
    if isinstance(reference, TableRef):
        return resolve_reference(make_workspace(context), open_registry(context), text)
    return read_outside_history(make_workspace(context), reference)
