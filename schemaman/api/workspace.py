"""What a registry works with: settings, the files of people's answers, client libraries, a Spark session.

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
from schemaman.compat.judge import RULES, Severity, Transition, judge_transition, rate_finding
from schemaman.compat.waivers import Waiver, parse_waivers, select_unexpired
from schemaman.history.decisions import Decisions, parse
from schemaman.io.schema_registry import AnyRegistry
from schemaman.report.views.table_changes import JudgedFinding, TransitionJudge
from schemaman.settings import Settings
from schemaman.store.sql.store import SqlStore


def now_ms() -> int:
    """The time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


@dataclass
class Workspace:
    """Settings, and what they name: store, decisions file, waivers, rules, schema registry.

    `messages` hears of progress and warnings. `resources` are open until `close`: the store, and a Spark
    session that was started here.
    """

    settings: Settings
    messages: Messages = field(default_factory=LogMessages)
    clock: Callable[[], int] = now_ms
    resources: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        """Close everything that was opened."""
        self.resources.close()

    def open_store(self, *, create: bool = False) -> SqlStore:
        """The store of the settings, open until `close`. Raises as `SqlStore.open`."""
        url = resolve_store_url(self.settings.store)
        store = self.resources.enter_context(SqlStore.open(url, create=create))
        if store.upgraded_from is not None:
            self.messages.inform(
                f"{store.where} had layout {store.upgraded_from} and was upgraded; its log is as it was"
            )
        return store

    def read_decisions(self) -> Decisions:
        """What people have decided; nothing where there is no file. Raises `BadConfiguration`."""
        path = resolve_path(self.settings.decisions)
        return parse(read_text(path), str(path)) if path.exists() else Decisions()

    def read_waivers(self) -> Mapping[str, Waiver]:
        """The waivers that have not expired, by fingerprints. Raises `BadConfiguration`."""
        path = resolve_path(self.settings.waivers)
        return select_unexpired(parse_waivers(read_text_if_present(path), str(path)), self.today())

    def today(self) -> date:
        """The day in UTC."""
        return datetime.fromtimestamp(self.clock() / 1000, UTC).date()

    def rule_overrides(self) -> dict[str, Severity]:
        """The severities that the settings give to rules. Raises `UnknownName` for a rule that is none."""
        overrides = dict(self.settings.rules.value)
        for name in overrides:
            RULES.get(name)
        return overrides

    def build_judge(self) -> TransitionJudge:
        """A judge of transitions: which rules fire, and how severe that is for the declared readers.

        Raises:
            UnknownName: an override names no rule.
        """
        overrides, rules, readers = self.rule_overrides(), RULES.load_all(), self.settings.readers.value

        def judge(transition: Transition) -> tuple[JudgedFinding, ...]:
            found = judge_transition(transition, rules)
            return tuple(JudgedFinding(f, rate_finding(f, readers, overrides)) for f in found)

        return judge

    def open_schema_registry(self) -> AnyRegistry | None:
        """The schema registry of the settings, live or an export. Raises as `open_schema_registry`."""
        return open_schema_registry(self.settings)
