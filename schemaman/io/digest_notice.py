"""Sends what was done to the lake to the webhook of the settings, run by run."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.io.notifications import Entry, Warn, send_notification
from schemaman.migration.digest import Digest, RunDigest
from schemaman.model.display import count_noun
from schemaman.model.shell import build_command
from schemaman.settings import NotifySetting


def send_digest(settings: Sequence[NotifySetting], digest: Digest, warn: Warn) -> None:
    """Send one entry for each run that changed a lake table; nothing if none did."""
    runs = [run for run in digest.runs if any(step.state == "done" for step in run.steps)]
    summary = f"{count_noun(len(runs), 'run')} changed the lake"
    send_notification(settings, "digest", summary, [_describe_run(run) for run in runs], warn)


def _describe_run(run: RunDigest) -> Entry:
    done = [step.statement for step in run.steps if step.state == "done"]
    way = run.way_back
    rollback = "" if way is None or way.obstacle else build_command(("plan",), (), "--rollback", run.run)
    return {
        "table": run.source.rpartition("@")[0] or run.table,
        "lake_table": run.table,
        "run": run.run,
        "state": run.state,
        "message": "; ".join(done),
        "rollback": rollback,
    }
