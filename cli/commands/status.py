"""Show where every target and every run of a plan stands."""

from __future__ import annotations

from schemaman.registry import Registry
from schemaman.report.json.status import fold_run_states, fold_target_states
from schemaman.report.views.migrations import build_status_report
from schemaman_cli.group import verb
from schemaman_cli.options import Door, door, format_option
from schemaman_cli.wiring import now_ms, open_store


@verb("status", "schemaman status", "schemaman status --format json")
@format_option("text", "json", "markdown", "html")
@door
def status(door: Door, format: str) -> None:
    """Show every target that was migrated: its plan, how far it came, who holds it, drift that was found.

    Every run that the journal knows stands below. One that stopped without an end died: schemaman resume RUN
    goes on from where its table stands.
    """
    store = open_store(door)
    journal, leases, now = Registry(store, now_ms).dated_journal(), store.leases(), store.now_ms()
    runs, targets = fold_run_states(journal, leases, now), fold_target_states(journal, leases, now)
    door.console.show(build_status_report(runs, targets), format)


COMMAND = status
