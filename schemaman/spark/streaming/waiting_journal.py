"""Writes into the journal what waits after a batch: blocked tables, and records in quarantine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from schemaman.migration.apply.journal import Journal, target_id
from schemaman.migration.apply.waiting import Waiting, WaitingKind, WaitingState, list_waiting_lines
from schemaman.model.shell import build_command
from schemaman.registry import Registry
from schemaman.sink.waiting_records import fill_commands, find_command
from schemaman.spark.streaming.batch_report import BatchReport, TableReport
from schemaman.spark.streaming.quarantine import UNKNOWN_TABLE, Quarantine, QuarantinedTable
from schemaman.spark.streaming.sink_table import SinkTable

_UNREAD = "they were not decoded; they are tried again whenever the history of their topic grows"


class WaitingJournal:
    """Writes the lines of one sink; a table without anything that waits reads no journal."""

    def __init__(self, registry: Registry, journal: Journal, quarantine: Quarantine) -> None:
        self._registry = registry
        self._journal = journal
        self._unread = target_id(quarantine.format, quarantine.table)
        self._waiting: set[tuple[str, WaitingKind]] | None = None

    def write_lines(
        self,
        report: BatchReport,
        sink_tables: Iterable[SinkTable],
        quarantined: Sequence[QuarantinedTable],
    ) -> None:
        """Write what has changed: `quarantined` are all records in quarantine after the batch.

        `sink_tables` are the lake tables of the batch, and of the records in quarantine.
        """
        tables = {each.lake_table: each for each in sink_tables}
        now: dict[tuple[str, WaitingKind], Waiting | None] = {(self._unread, "records"): None}
        for each in tables.values():
            now[_make_target(each), "records"] = None
        for held in quarantined:
            waiting = self._describe_records(held, tables)
            now |= {} if waiting is None else {(waiting.target, "records"): waiting}
        for done in report.tables:
            if done.lake_table in tables:
                sink_table = tables[done.lake_table]
                now[_make_target(sink_table), "table"] = (
                    _describe_table(done, sink_table) if done.blocked or done.plan else None
                )
        self._write_changes(now)

    def _write_changes(self, now: Mapping[tuple[str, WaitingKind], Waiting | None]) -> None:
        if self._waiting is None:  # another process may have left something
            asked = dict(now)
        else:
            asked = {key: w for key, w in now.items() if w is not None or key in self._waiting}
        journal = [
            line for target in {t for t, _ in asked} for line in self._journal.read_target_lines(target)
        ]
        lines = list_waiting_lines(journal, asked)
        if lines:
            self._registry.note(*lines)
        kept = {key for key in self._waiting or () if key not in now}
        self._waiting = kept | {key for key, waiting in now.items() if waiting is not None}

    def _describe_records(self, held: QuarantinedTable, tables: Mapping[str, SinkTable]) -> Waiting | None:
        """Describe the records of a table in quarantine; None for a table of another sink."""
        if held.lake_table == UNKNOWN_TABLE:
            unread = build_command(("rejects",), ())
            return Waiting(
                "records", "quarantine", self._unread, "", _UNREAD, unread, held.records, held.oldest_ms
            )
        sink_table = tables.get(held.lake_table)
        if sink_table is None:
            return None
        target, source = _make_target(sink_table), str(sink_table.table)
        reason = fill_commands(held.reason, source)
        # A plan that needs an approval is in the line of its table.
        command = "" if reason.startswith("needs approval") else find_command(reason)
        return Waiting("records", "quarantine", target, source, reason, command, held.records, held.oldest_ms)


def _make_target(sink_table: SinkTable) -> str:
    return target_id(sink_table.target.format, sink_table.lake_table)


def _describe_table(report: TableReport, sink_table: SinkTable) -> Waiting:
    """Describe a table whose plan waits, with the command that plans for it: the plan says what to do."""
    plan = report.plan
    asks = plan is not None and bool(plan.approvals_needed) and not plan.refusals
    format, table = sink_table.target.format, sink_table.lake_table
    files: tuple[str, ...] = ("-o", "waiting.plan.json")
    if plan is not None and plan.phase is not None:
        files = ("--recipe", "-o", "waiting.plans")
    options = ("--target", format, "--table", table, *files)
    command = build_command(("plan",), (str(sink_table.table),), *options)
    state: WaitingState = "approval" if asks else "blocked"
    needed = "" if plan is None else "; ".join(f"needs approval: {each}" for each in plan.approvals_needed)
    reason = fill_commands(report.blocked or needed, str(sink_table.table))
    return Waiting("table", state, _make_target(sink_table), report.source_table, reason, command)
