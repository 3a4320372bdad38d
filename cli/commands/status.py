"""Show where every target and every run of a plan stands."""

from __future__ import annotations

from schemaman.api.workspace import now_ms
from schemaman.registry import Registry
from schemaman.report.json.status import fold_run_states, fold_target_states
from schemaman.report.views.migrations import build_status_report
from schemaman_cli.group import command
from schemaman_cli.library import open_store
from schemaman_cli.options import CommandContext, format_option, with_context


@command("status", "schemaman status", "schemaman status --format json")
@format_option("text", "json", "markdown", "html")
@with_context
def status(context: CommandContext, format: str) -> None:
    """Show every target that was migrated: its plan, how far it came, who holds it, drift that was found.

    Every run that the journal knows stands below. One that stopped without an end died: schemaman resume RUN
    goes on from where its table stands.
    """
    store = open_store(context)
    journal, leases, now = Registry(store, now_ms).dated_journal(), store.leases(), store.now_ms()
    runs, targets = fold_run_states(journal, leases, now), fold_target_states(journal, leases, now)
    context.console.show(build_status_report(runs, targets), format)


COMMAND = status
