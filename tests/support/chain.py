"""The real chain, from a recording to histories, findings, plans and migrations, as tests ask for it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from schemaman.compat.judge import RULES, Transition, judge_transition, rate_finding
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.ingest.ingest import ingest
from schemaman.io import files, schema_registry
from schemaman.migration.apply.apply import Migration, StoreJournal
from schemaman.migration.apply.apply import apply as apply_plan
from schemaman.migration.plan import Plan, Policy
from schemaman.migration.planner import make_plan
from schemaman.migration.source import migration_source
from schemaman.migration.target import Executor, LakeTable, Target
from schemaman.migration.targets import delta, iceberg
from schemaman.registry import Registry
from schemaman.report.views.table_changes import JudgedFinding, build_chapter
from schemaman.store.memory import MemoryStore
from schemaman.store.sql.store import SqlStore
from tests.support.checkout import CAPTURES, STORIES

STREAM = "main"
TARGETS: dict[str, Target] = {"delta": delta.TARGET, "iceberg": iceberg.TARGET}


def now_ms() -> int:
    """The time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


@cache
def histories(run: str) -> tuple[TableHistory, ...]:
    """The histories that a recording, or the records `written` for a story, teach through a real store."""
    folder = (STORIES if run.startswith("written/") else CAPTURES) / run
    registered = folder / "registry.json"
    schemas = schema_registry.load_export(str(registered)) if registered.exists() else lambda id: None
    with tempfile.TemporaryDirectory() as place:
        store = SqlStore.open(f"sqlite:///{Path(place) / 'store.db'}", create=True)
        registry = Registry(store, now_ms)
        summary = ingest(files.read_records(files.find_file(str(folder))), registry, STREAM, schemas)
        assert not summary.rejects
        found = registry.tables()
        store.close()
    return found


def history(run: str, table: str) -> TableHistory:
    """The history of one table, named by its last two parts."""
    return next(h for h in histories(run) if ".".join(h.table.parts[-2:]) == table)


def as_of(history: TableHistory, version: SchemaVersion) -> TableHistory:
    """What was known when that version was the newest one."""
    versions = history.versions[: history.versions.index(version) + 1]
    events = tuple(e for e in history.events if e.incarnation < version.incarnation)
    return replace(history, versions=versions, events=events)


def plan(
    history: TableHistory,
    version: SchemaVersion,
    live: LakeTable | None,
    target: str,
    table: str,
    policy: Policy,
    answers: Mapping[tuple[str, str], bool],
) -> Plan:
    """The plan that brings a lake table to one version; `answers` are people's decisions on renames."""
    return make_plan(migration_source(as_of(history, version), answers), live, TARGETS[target], table, policy)


def apply(plan: Plan, executor: Executor) -> Migration:
    """Apply what a plan does not refuse, journalled."""
    journal = StoreJournal(MemoryStore())
    return apply_plan(plan, executor, journal, now_ms, run="story", partial=True, approved=True)


def judged(transition: Transition) -> tuple[JudgedFinding, ...]:
    """What every rule says of a step, and how grave that is when everybody reads the table."""
    return tuple(JudgedFinding(f, rate_finding(f)) for f in judge_transition(transition, RULES.load_all()))


def finding_lines(history: TableHistory, versions: Sequence[SchemaVersion]) -> Iterator[str]:
    """What the rules say about the steps that lead to these versions, a line a finding."""
    numbers = {v.number for v in versions[1:]}
    for stage in build_chapter(history, judged).stages:
        if stage.version.number in numbers or (stage.revision.number and stage.version == versions[0]):
            label = f"{stage.version.number}.{stage.revision.number}".removesuffix(".0")
            for found in stage.findings:
                finding = found.finding
                place = ".".join(finding.path) or "(table)"
                yield f"{label}  {found.severity:6}  {finding.rule}  {place}: {finding.message}"
