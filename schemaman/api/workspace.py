"""The workspace of a registry: settings, decision and waiver files, client libraries, a Spark session.

Commands and programs use the same `Workspace`: a program gets one from `schemaman.open`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from importlib import import_module

from schemaman.api.files import read_text, read_text_if_present
from schemaman.api.messages import LogMessages, Messages
from schemaman.api.settings_files import resolve_path, resolve_store_url
from schemaman.compat.consumers import Readership
from schemaman.compat.gate import GatePolicy
from schemaman.compat.judge import RULES, Finding, Reader, Severity, Transition, judge_transition
from schemaman.compat.waivers import Waiver, parse_waivers, select_unexpired
from schemaman.debezium.payload import SchemaLookup
from schemaman.history.decisions import Decisions, parse
from schemaman.report.views.table_changes import JudgedFinding, TransitionJudge
from schemaman.settings import Settings
from schemaman.store.sql.store import SqlStore


def now_ms() -> int:
    """Return the time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass
class Workspace:
    """Settings, and access to what they name: store, decisions, waivers, rules, schema registry.

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

    def read_waivers(self) -> Mapping[str, Waiver]:
        """Read the unexpired waivers by fingerprint. Raises `BadConfiguration`."""
        return select_unexpired(self.read_all_waivers(), self.today())

    def read_all_waivers(self) -> tuple[Waiver, ...]:
        """Read all waivers, expired ones too. Raises `BadConfiguration`."""
        path = resolve_path(self.settings.waivers)
        return parse_waivers(read_text_if_present(path), str(path))

    def today(self) -> date:
        """Return the current date in UTC."""
        return datetime.fromtimestamp(self.clock() / 1000, UTC).date()

    def rule_overrides(self) -> dict[str, Severity]:
        """Return the severities that the settings give to rules. Raises `UnknownName` for an unknown rule."""
        overrides = dict(self.settings.rules.value)
        for name in overrides:
            RULES.get(name)
        return overrides

    def list_readers(self, level: str | None = None) -> tuple[Reader, ...]:
        """List the readers that count for every table.

        Declared consumers count for what they read, and a level decides about Avro alone. With either, other
        readers count only if the settings list them.
        """
        setting = self.settings.readers
        is_narrowed = level is not None or bool(self.settings.consumers.value)
        return () if is_narrowed and setting.origin == "default" else setting.value

    def build_judge(self, readership: Readership | None = None) -> TransitionJudge:
        """Build a judge of transitions: it applies rules and waivers, and rates for readers and consumers.

        Without a `readership` no SQL is read, and a consumer with SQL counts for every table.

        Raises:
            UnknownName: an override names an unknown rule.
        """
        declared = (
            replace(c, tables=("*",), columns=("*",)) if c.sql else c for c in self.settings.consumers.value
        )
        known = readership or Readership(tuple(declared))
        policy = GatePolicy(self.list_readers(), self.rule_overrides(), readership=known)
        rules, waivers = RULES.load_all(), self.read_waivers()
        examples = import_module("schemaman.compat.counterexample")  # most commands judge nothing

        def judge(transition: Transition) -> tuple[JudgedFinding, ...]:
            found: tuple[Finding, ...] = examples.add_counterexamples(
                transition, judge_transition(transition, rules)
            )
            return tuple(
                JudgedFinding(f, policy.rate(f), known.list_affected(f), waivers.get(f.fingerprint))
                for f in found
            )

        return judge

    def open_schema_registry(self) -> SchemaLookup | None:
        """Open the schema registry or export of the settings. Raises as the function in `client_options`."""
        clients = import_module("schemaman.api.client_options")  # most commands need no client for HTTP
        found: SchemaLookup | None = clients.open_schema_registry(self.settings)
        return found
