"""The library behind a command: workspace, registry, store, and REFs, all closed when the command ends."""

from __future__ import annotations

from schemaman.api import services
from schemaman.api.references import read_outside_history, resolve_reference
from schemaman.api.workspace import Workspace
from schemaman.errors import UsageError
from schemaman.history.references import TableRef, parse
from schemaman.registry import Registry
from schemaman.resolve import ResolvedSchema
from schemaman.store.sql.store import SqlStore
from schemaman.store.urls import has_password
from schemaman_cli.options import CommandContext


def make_workspace(context: CommandContext) -> Workspace:
    """The workspace of a command: its settings, its console, closed when the command ends."""
    return Workspace(context.settings, context.console, resources=context.resources)


def open_registry(context: CommandContext, *, create: bool = False) -> Registry:
    """The registry that the settings name; made if `create` asks for it.

    Raises:
        UsageError: the command line holds a password.
        StoreUnavailable: as `SqlStore.open`.
    """
    _require_no_password(context)
    return services.open_registry(make_workspace(context), create=create)


def open_store(context: CommandContext, *, create: bool = False) -> SqlStore:
    """The store of that registry. Raises as `open_registry`."""
    _require_no_password(context)
    return make_workspace(context).open_store(create=create)


def resolve(context: CommandContext, text: str) -> ResolvedSchema:
    """The schema that a REF means; the store is opened only for a table of the history.

    Raises:
        UsageError: the REF cannot be read, or names nothing, several things, or an uncertain moment.
        CouldNotDo: what it names cannot be read.
    """
    reference = parse(text)
    if isinstance(reference, TableRef):
        return resolve_reference(make_workspace(context), open_registry(context), text)
    return read_outside_history(make_workspace(context), reference)


def _require_no_password(context: CommandContext) -> None:
    setting = context.settings.store
    if setting.origin.startswith("--") and has_password(setting.value):
        raise UsageError(
            "the address of the store holds a password, and others can see a command line",
            hint="say it in PGPASSWORD, ~/.pgpass or SCHEMAMAN_STORE",
        )
