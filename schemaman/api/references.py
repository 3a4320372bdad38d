"""Resolves REFs from the history, a file, git, a schema registry or the lake."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module

from schemaman import resolve as resolution
from schemaman.api.files import read_text
from schemaman.api.workspace import Workspace
from schemaman.compat.snapshots import from_text, is_snapshot
from schemaman.errors import NoHistory
from schemaman.history.as_of import has_read_times
from schemaman.history.references import AsOf, Reference, TableName, TableRef, parse
from schemaman.history.versions import TableHistory
from schemaman.io import git
from schemaman.model.column_list import format_columns
from schemaman.model.schema import TableId, TableSchema
from schemaman.registry import Registry
from schemaman.report.views import words
from schemaman.resolve import ReferenceReaders, ResolvedSchema


def resolve_reference(workspace: Workspace, registry: Registry, text: str) -> ResolvedSchema:
    """Resolve a REF to its schema; warn if that schema may be outdated.

    Raises:
        UsageError: the REF is malformed, unknown or ambiguous, or its time is inside an uncertain interval.
        CouldNotDo: the source that the REF names cannot be read.
    """
    reference = parse(text)
    if not isinstance(reference, TableRef):
        return read_outside_history(workspace, reference)
    history = registry.history(registry.find(reference.name))
    found = resolution.select_version(history, reference.selector)
    _warn_of_age(workspace, text, history, found)
    if isinstance(reference.selector, AsOf) and has_read_times(history):
        workspace.messages.warn(
            f"{text}: this source gives only the times at which changes were read; changes may be earlier. "
            "Use a position if you need an exact one"
        )
    return found


def read_outside_history(workspace: Workspace, reference: Reference) -> ResolvedSchema:
    """Resolve a REF to a file, git, a schema registry or the lake, without opening the store.

    Raises:
        UsageError: the REF needs a client that the settings do not name.
        CouldNotDo: the source that the REF names cannot be read.
    """
    readers = ReferenceReaders(
        file=lambda path: _read_schema_text(read_text(path), path),
        git=lambda revision, path: _read_schema_text(git.read_file(revision, path), path),
        registry=partial(_read_subject, workspace),
        lake=partial(_read_lake_schema, workspace),
    )
    return resolution.resolve(reference, _NoHistories(), readers)


def _warn_of_age(workspace: Workspace, text: str, history: TableHistory, found: ResolvedSchema) -> None:
    """Warn if no later record is known than the one that decided, or if the table no longer exists."""
    if found.last_seen is not None:
        seen = words.format_coordinates(found.last_seen)
        workspace.messages.warn(f"{text}: the last known record is of {seen}; later changes are unknown")
    elif history.has_ended and found.version is not None and found.version.number == history.latest.number:
        end = [e for e in history.events if e.kind in ("dropped", "renamed")][-1]
        since = f"was {end.kind} {words.format_coordinates(end.at)}"
        other = f" and is now {end.other}" if end.other else ""
        again = (
            "" if history.is_dropped else "; it was created again, and no record has shown its new schema yet"
        )
        workspace.messages.warn(f"{history.table} {since}{other}{again}: this is its last known schema")


def _read_schema_text(text: str, where: str) -> str:
    """Convert a snapshot to a column list; return any other text unchanged."""
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return format_columns(from_text(text, where).schema) if is_snapshot(document) else text


def _read_subject(workspace: Workspace, subject: str, version: int | None) -> str:
    found: str = import_module("schemaman.api.client_options").read_subject(
        workspace.settings, subject, version
    )
    return found


def _read_lake_schema(workspace: Workspace, name: str) -> TableSchema:
    found: TableSchema = import_module("schemaman.api.spark_session").read_lake_schema(workspace, name)
    return found


class _NoHistories:
    """Raises for any history: the REF is not one of the history."""

    def find(self, name: str | TableName) -> TableId:
        raise NoHistory(f"no history was opened for {name}")

    def history(self, table: TableId) -> TableHistory:
        raise NoHistory(f"no history was opened for {table}")
