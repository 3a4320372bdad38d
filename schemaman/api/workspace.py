"""The workspace of a registry: settings, decision and waiver files, client libraries, a Spark session.

Commands and programs use the same `Workspace`: a program gets one from `schemaman.open`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from schemaman.api.client_options import open_schema_registry
from schemaman.api.files import read_text, read_text_if_present
from schemaman.api.messages import LogMessages, Messages
from schemaman.api.settings_files import resolve_path, resolve_store_url
from schemaman.compat.counterexample import add_counterexamples
from schemaman.compat.judge import RULES, Severity, Transition, judge_transition, rate_finding
from schemaman.compat.waivers import Waiver, parse_waivers, select_unexpired
from schemaman.history.decisions import Decisions, parse
from schemaman.io.schema_registry import AnyRegistry
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

    def build_judge(self) -> TransitionJudge:
        """Build a judge of transitions: it applies the rules, waivers and declared readers.

        Raises:
            UnknownName: an override names an unknown rule.
        """
        overrides, rules, readers = self.rule_overrides(), RULES.load_all(), self.settings.readers.value
        waivers = self.read_waivers()

        def judge(transition: Transition) -> tuple[JudgedFinding, ...]:
            found = add_counterexamples(transition, judge_transition(transition, rules))
            return tuple(
                JudgedFinding(f, rate_finding(f, readers, overrides), waivers.get(f.fingerprint))
                for f in found
            )

        return judge

    def open_schema_registry(self) -> AnyRegistry | None:
        """Open the schema registry or export of the settings. Raises as the function in `client_options`."""
        return open_schema_registry(self.settings)
