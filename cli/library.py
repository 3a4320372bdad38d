"""Opens workspace, registry and store for a command; all close when the command ends."""

from __future__ import annotations

from schemaman.api import services
from schemaman.api.workspace import Workspace
from schemaman.errors import UsageError
from schemaman.registry import Registry
from schemaman.store.sql.store import SqlStore
from schemaman.store.urls import has_password
from schemaman_cli.options import CommandContext


def make_workspace(context: CommandContext) -> Workspace:
    """Make the workspace of a command from its settings and console; it closes when the command ends."""
    return Workspace(context.settings, context.console, resources=context.resources)


def open_registry(context: CommandContext, *, create: bool = False) -> Registry:
    """Open the registry that the settings name; `create` makes a missing one.

    Raises:
        UsageError: the command line contains a password.
        StoreUnavailable: as `SqlStore.open`.
    """
    _require_no_password(context)
    return services.open_registry(make_workspace(context), create=create)


def open_store(context: CommandContext, *, create: bool = False) -> SqlStore:
    """Open the store of that registry. Raises as `open_registry`."""
    _require_no_password(context)
    return make_workspace(context).open_store(create=create)


def _require_no_password(context: CommandContext) -> None:
    setting = context.settings.store
    if setting.origin.startswith("--") and has_password(setting.value):
        raise UsageError(
            "the store URL on the command line contains a password, and other users can see command lines",
            hint="put the password in PGPASSWORD, ~/.pgpass or SCHEMAMAN_STORE",
        )
