"""Show the state of every target and every run."""

from __future__ import annotations

import click

from schemaman.api.spark_session import list_waiting_records
from schemaman.api.workspace import now_ms
from schemaman.registry import Registry
from schemaman.report.json.status import fold_run_states, fold_target_states
from schemaman.report.views.migrations import build_status_report
from schemaman_cli.group import command
from schemaman_cli.library import make_workspace, open_store
from schemaman_cli.options import CommandContext, format_option, with_context


@command("status", "schemaman status", "schemaman status --quarantine ice.raw.quarantine")
@click.option("--quarantine", metavar="LAKE_TABLE", help="Also show what waits in this quarantine of a sink.")
@format_option("text", "json", "markdown", "html")
@with_context
def status(context: CommandContext, quarantine: str | None, format: str) -> None:
    """Show every migrated target: its last plan, completed steps, lease and known drift; then every run.

    The process of a run in state stopped has died. To continue that run, use schemaman resume RUN.
    """
    store = open_store(context)
    journal, leases, now = Registry(store, now_ms).dated_journal(), store.leases(), store.now_ms()
    runs, targets = fold_run_states(journal, leases, now), fold_target_states(journal, leases, now)
    waiting = None if quarantine is None else list_waiting_records(make_workspace(context), quarantine)
    context.console.show(build_status_report(runs, targets, waiting), format)


COMMAND = status
