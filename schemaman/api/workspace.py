"""The workspace of a registry: settings, decisions, client libraries, a Spark session.

Commands and programs use the same `Workspace`: a program gets one from `schemaman.open`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from schemaman.api.files import read_text
from schemaman.api.messages import LogMessages, Messages
from schemaman.api.settings_files import resolve_path, resolve_store_url
from schemaman.plugins import defer
from schemaman.settings import Settings
from schemaman.store.sql.store import SqlStore

if TYPE_CHECKING:  # reading records applies no decisions, and most commands need no client for HTTP
    from schemaman.api.client_options import open_schema_registry
    from schemaman.debezium.payload import SchemaLookup
    from schemaman.history.decisions import Decisions, parse
else:
    open_schema_registry = defer("schemaman.api.client_options:open_schema_registry")
    Decisions = defer("schemaman.history.decisions:Decisions")
    parse = defer("schemaman.history.decisions:parse")


def now_ms() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass
class Workspace:
    """Settings, and access to what they name: store, decisions, schema registry.

    `messages` receives progress and warnings. `resources` stay open until `close`: the store, and a Spark
    session that the workspace started.
    """

    settings: Settings
    messages: Messages = field(default_factory=LogMessages)
    clock: Callable[[], int] = now_ms
    resources: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Close all resources."""
        self.resources.close()

    def open_store(self, *, create: bool = False) -> SqlStore:
        """Open the store of the settings, until `close`. Raises as `SqlStore.open`."""
        url = resolve_store_url(self.settings.store)
        store = self.resources.enter_context(SqlStore.open(url, create=create))
        if store.upgraded_from is not None:
            self.messages.inform(
                f"{store.where} had layout {store.upgraded_from} and was upgraded; its log is unchanged"
            )
        return store

    def read_decisions(self) -> Decisions:
        """Read the decisions file; empty if there is none. Raises `BadConfiguration`."""
        path = resolve_path(self.settings.decisions)
        return parse(read_text(path), str(path)) if path.exists() else Decisions()

    def today(self) -> date:
        """Return the current date in UTC."""
        return datetime.fromtimestamp(self.clock() / 1000, UTC).date()

    def open_schema_registry(self) -> SchemaLookup | None:
        """Open the schema registry or export of the settings. Raises as the function in `client_options`."""
        return open_schema_registry(self.settings)
