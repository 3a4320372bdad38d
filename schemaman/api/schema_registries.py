"""Open a schema registry in this process, over a store or in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from schemaman.api.gate_settings import make_policy
from schemaman.api.services import RegistryServices
from schemaman.api.workspace import Workspace
from schemaman.errors import NoHistory, SchemamanError
from schemaman.history.versions import TableHistory
from schemaman.io.notifications import send_notification
from schemaman.model.schema import TableId
from schemaman.registry import Registry
from schemaman.store.log import RegistrationEntry
from schemaman.store.sql.memory_subjects import MemorySubjects
from schemaman.store.sql.store import SqlStore
from schemaman.subjects.lookup import VersionedSchema
from schemaman.subjects.policies import RegistrationGate
from schemaman.subjects.schema_registry import SchemaRegistry, Surroundings
from schemaman.subjects.source_tables import find_tables


def open_schema_registry(store: str | None = None, *, create: bool = False) -> SchemaRegistry:
    """Open the schema registry of a store; without a store, an empty one in memory, for tests and jobs.

    Args:
        store: `sqlite:///PATH`, a path, or `postgresql://…?schema=NAME`, as for `schemaman.open`.
        create: whether to make a missing store.

    Raises:
        StoreUnavailable: the store is missing, damaged or in use.
        UsageError: the address is that of no store.
    """
    if store is None:
        return SchemaRegistry(MemorySubjects())
    opened = SqlStore.open(store, create=create)
    registry = Registry(opened, opened.now_ms)
    histories = DecidedHistories(registry)
    around = Surroundings(
        RegistrationGate(find_table=histories.find_table), histories, RegistrationRecorder(registry).record
    )
    return SchemaRegistry(opened, surroundings=around)


def make_served_registry(workspace: Workspace, store: SqlStore) -> SchemaRegistry:
    """Make the registry of a server: with the gate, the waivers and the webhook of the settings.

    Settings and waivers are read once, decisions with each question.

    Raises:
        BadConfiguration: the settings of the gate or its waivers are invalid.
    """
    registry = Registry(store, workspace.clock, RegistryServices(workspace))
    histories = DecidedHistories(registry)
    gate = RegistrationGate(make_policy(workspace, None, None, lambda _: ()), histories.find_table)
    around = Surroundings(
        gate,
        histories,
        RegistrationRecorder(registry, workspace).record,
        QuarantineNotifier(workspace).notify,
    )
    return SchemaRegistry(store, surroundings=around)


class DecidedHistories:
    """The histories of a registry with people's decisions."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def find_by_alias(self, name: str) -> tuple[TableId, ...]:
        """The tables whose events have that topic or record name, in order."""
        return self._registry.store.find_by_alias(name)

    def history(self, table: TableId) -> TableHistory | None:
        """The history of a table."""
        try:
            return self._registry.history(table)
        except NoHistory:
            return None

    def find_table(self, names: Sequence[str]) -> TableId:
        """Find the table of a topic or a record; without one in the history, a table with the first name."""
        found = find_tables(self, names)
        return found[0] if found else TableId("", "", "", names[0] if names else "")


class RegistrationRecorder:
    """Writes registrations into the log of a store, after they are durable."""

    def __init__(self, registry: Registry, workspace: Workspace | None = None) -> None:
        self._registry = registry
        self._workspace = workspace

    def record(self, entries: Sequence[RegistrationEntry]) -> None:
        """Write registrations with one commit; a log that cannot be written is a warning, no refusal."""
        try:
            self._registry.note(*entries)
        except SchemamanError as error:
            if self._workspace is None:
                return
            for entry in entries:
                self._workspace.messages.warn(
                    f"version {entry.version} of {entry.subject} is registered, and not in the log: "
                    f"{error.message}",
                    error.hint,
                )


class QuarantineNotifier:
    """Tells the webhook of the settings of quarantined versions, without making a client wait."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def notify(self, found: VersionedSchema) -> None:
        """Send the failures of a quarantined version."""
        version, mark = found.version, found.quarantine
        entries = [
            {
                "table": str(version.subject),
                "version": str(version.number),
                "path": str(failure.get("path", "")),
                "rule": str(failure.get("rule", "")),
                "message": str(failure.get("message", "")),
            }
            for failure in (() if mark is None else mark.failures)
        ]
        summary = f"version {version.number} of the subject {version.subject} is quarantined"
        settings = self._workspace.settings.notify.value
        words = (settings, "quarantine", summary, entries, self._workspace.messages.warn)
        if settings:
            threading.Thread(target=send_notification, args=words, daemon=False).start()
