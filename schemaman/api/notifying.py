"""Notifies the webhook of the settings about a check, and about a round of `sync`."""

from __future__ import annotations

from collections.abc import Sequence

from schemaman.api.workspace import Workspace
from schemaman.compat.gate import UNREAD, CheckResult
from schemaman.compat.judge import Finding
from schemaman.io.digest_notice import send_digest
from schemaman.io.notifications import send_notification
from schemaman.model.display import count_noun
from schemaman.registry import Registry
from schemaman.report.json.sync import FollowedTable


def notify_of_check(workspace: Workspace, result: CheckResult) -> None:
    """Send the breaks of a check that are not waived, and the records that it could not read."""
    active = [(f, severity) for f, severity in result.findings if f.fingerprint not in result.waivers]
    breaks = [_build_entry(f) for f, severity in active if severity == "break"]
    summary = f"the check has {count_noun(len(breaks), 'break')}"
    settings, warn = workspace.settings.notify.value, workspace.messages.warn
    send_notification(settings, "break", summary, breaks, warn)
    unread = [_build_entry(f) for f, severity in active if f.rule == UNREAD and severity != "off"]
    summary = (
        f"the check could not read all records of {count_noun(len({e['table'] for e in unread}), 'table')}"
    )
    send_notification(settings, "unknown", summary, unread if result.fail_on != "off" else [], warn)


def _build_entry(finding: Finding) -> dict[str, str]:
    return {
        "table": str(finding.table),
        "path": ".".join(finding.path),
        "rule": finding.rule,
        "fingerprint": finding.fingerprint,
        "message": finding.message,
    }


def notify_of_digest(workspace: Workspace, registry: Registry, position: int) -> None:
    """Send what was done to the lake, as the log after a position tells it."""
    settings = workspace.settings.notify.value
    if any("digest" in setting.events for setting in settings) and registry.store.end() > position:
        digest = registry.digest_after(position, registry.clock())
        send_digest(settings, digest, workspace.messages.warn)


def notify_of_tables(workspace: Workspace, tables: Sequence[FollowedTable]) -> None:
    """Send the lake tables that a round of `sync` did not migrate."""
    entries = [
        {
            "table": followed.table,
            "lake_table": followed.lake_table,
            "state": followed.state,
            "message": "; ".join(followed.reasons),
        }
        for followed in tables
        if not followed.is_current
    ]
    summary = f"{count_noun(len(entries), 'lake table')} not migrated"
    send_notification(workspace.settings.notify.value, "block", summary, entries, workspace.messages.warn)
