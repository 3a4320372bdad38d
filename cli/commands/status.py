"""Show the state of every target and every run."""

from __future__ import annotations

import click

from schemaman.api.spark_session import list_waiting_records
from schemaman.api.workspace import now_ms
from schemaman.history.table_renames import list_questions
from schemaman.registry import Registry
from schemaman.report.json.status import fold_run_states, fold_target_states, list_followed_tables
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

    Open questions of these tables come last, each with the command that settles it.

    The process of a run in state stopped has died. To continue that run, use schemaman resume RUN.
    """
    store, decisions = open_store(context), make_workspace(context).read_decisions()
    registry = Registry(store, now_ms)
    journal, leases, now = registry.dated_journal(), store.leases(), store.now_ms()
    runs, targets = fold_run_states(journal, leases, now), fold_target_states(journal, leases, now)
    waiting = None if quarantine is None else list_waiting_records(make_workspace(context), quarantine)
    known = {str(table): table for table in store.tables()}
    followed = (known[name] for name in list_followed_tables(targets) if name in known)
    histories = [registry.history(table, decisions) for table in followed]
    questions = list_questions(histories, decisions.table_renames)
    context.console.show(build_status_report(runs, targets, questions, waiting), format)


COMMAND = status
