"""REFs read wherever they lie: history, file, git, schema registry, lake."""

from __future__ import annotations

import json
from functools import partial

from schemaman import resolve as resolution
from schemaman.api.client_options import read_client_options
from schemaman.api.files import read_text
from schemaman.api.settings_files import resolve_path
from schemaman.api.spark_session import read_lake_schema
from schemaman.api.workspace import Workspace
from schemaman.compat.snapshots import from_text, is_snapshot
from schemaman.errors import NoHistory, UsageError
from schemaman.history.as_of import has_read_times
from schemaman.history.references import AsOf, Reference, TableName, TableRef, parse
from schemaman.history.versions import TableHistory
from schemaman.io import git, schema_registry
from schemaman.io.apicurio import Apicurio
from schemaman.model.column_list import format_columns
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.report.views import words
from schemaman.resolve import ReferenceReaders, ResolvedSchema


def resolve_reference(workspace: Workspace, registry: Registry, text: str) -> ResolvedSchema:
    """The schema that a REF means; a warning tells where it may not be that of now.

    Raises:
        UsageError: the REF cannot be read, or names nothing, several things, or an uncertain moment.
        CouldNotDo: what it names cannot be read.
    """
    reference = parse(text)
    if not isinstance(reference, TableRef):
        return read_outside_history(workspace, reference)
    history = registry.history(registry.find(reference.name))
    found = resolution.select_version(history, reference.selector)
    _warn_of_age(workspace, text, history, found)
    if isinstance(reference.selector, AsOf) and has_read_times(history):
        workspace.messages.warn(
            f"{text}: times of this source are those at which its changes were read; they may have been "
            "made earlier: name a position where that matters"
        )
    return found


def read_outside_history(workspace: Workspace, reference: Reference) -> ResolvedSchema:
    """The schema that a REF to a file, git, a registry or the lake means; no store is opened for it.

    Raises:
        UsageError: the REF needs a client that the settings do not name.
        CouldNotDo: what it names cannot be read.
    """
    readers = ReferenceReaders(
        file=lambda path: _read_schema_text(read_text(path), path),
        git=lambda revision, path: _read_schema_text(git.read_file(revision, path), path),
        registry=partial(_read_subject, workspace),
        lake=partial(read_lake_schema, workspace),
    )
    return resolution.resolve(reference, _NoHistories(), readers)


def _warn_of_age(workspace: Workspace, text: str, history: TableHistory, found: ResolvedSchema) -> None:
    """Warn where nothing is known after the record that decided, or the table has ended."""
    if found.last_seen is not None:
        seen = words.format_coordinates(found.last_seen)
        workspace.messages.warn(f"{text}: its last record is of {seen}; what came after is not known")
    elif history.has_ended and found.version is not None and found.version.number == history.latest.number:
        end = [e for e in history.events if e.kind in ("dropped", "renamed")][-1]
        since = f"was {end.kind} {words.format_coordinates(end.at)}"
        other = f" and is now {end.other}" if end.other else ""
        anew = "" if history.is_dropped else "; it stands again, and no record has shown its structure yet"
        workspace.messages.warn(f"{history.table} {since}{other}{anew}: this is its last structure")


def _read_schema_text(text: str, where: str) -> str:
    """A snapshot as a column list; any other text as it is."""
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return format_columns(from_text(text, where).schema) if is_snapshot(document) else text


def _read_subject(workspace: Workspace, subject: str, version: int | None) -> str:
    settings = workspace.settings
    setting = settings.registry
    if not setting.value:
        raise UsageError("no registry is known", hint="say registry = URL or FILE in schemaman.toml")
    if not schema_registry.is_url(setting.value):
        return schema_registry.read_subject(str(resolve_path(setting)), subject, version)
    client = schema_registry.open_registry(setting.value, read_client_options(settings.registry_config))
    if isinstance(client, Apicurio):
        raise UsageError("Apicurio's own REST knows no subjects", hint="say its address …/apis/ccompat/v7")
    return client.fetch_subject(subject, version)


class _NoHistories:
    """The histories of a REF that needs none."""

    def find(self, name: str | TableName) -> TableId:
        raise NoHistory(f"no history was opened for {name}")

    def history(self, table: TableId) -> TableHistory:
        raise NoHistory(f"no history was opened for {table}")
