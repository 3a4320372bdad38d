"""Notifies the webhook of the settings about batches: blocked tables, and rows that went to quarantine."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from schemaman.io.digest_notice import send_digest
from schemaman.io.notifications import send_notification
from schemaman.model.display import count_noun
from schemaman.registry import Registry
from schemaman.settings import NotifyEvent, NotifySetting
from schemaman.spark.streaming.batch_report import BatchReport

_LOGGER = logging.getLogger("schemaman")


class BatchNotices:
    """Sends what is new in a batch; what the batch before showed already is not sent again."""

    def __init__(self, settings: Sequence[NotifySetting]) -> None:
        self._settings = settings
        self._known: set[tuple[NotifyEvent, str]] = set()

    def send(self, report: BatchReport) -> None:
        """Send the tables that are newly blocked, and those whose rows newly go to quarantine."""
        if not self._settings:
            return
        blocked = {t.source_table: t.blocked for t in report.tables if t.blocked}
        quarantined = {
            t.source_table: f"{count_noun(t.quarantined, 'record')} in quarantine"
            for t in report.tables
            if t.quarantined
        }
        if report.rejected:
            quarantined[""] = f"{count_noun(report.rejected, 'record')} could not be decoded"
        known, self._known = self._known, set()
        self._send_new("block", "tables are blocked", blocked, known)
        self._send_new("quarantine", "records went to quarantine", quarantined, known)

    def send_digest(self, registry: Registry, position: int) -> None:
        """Send what was done to the lake after a position of the log, if the settings ask for it."""
        if any("digest" in setting.events for setting in self._settings):
            send_digest(self._settings, registry.digest_after(position, registry.clock()), _warn)

    def _send_new(
        self,
        event: NotifyEvent,
        summary: str,
        found: Mapping[str, str],
        known: set[tuple[NotifyEvent, str]],
    ) -> None:
        self._known |= {(event, table) for table in found}
        entries = [
            {"table": table, "message": text} for table, text in found.items() if (event, table) not in known
        ]
        send_notification(self._settings, event, summary, entries, _warn)


def _warn(text: str, hint: str | None) -> None:
    _LOGGER.warning("%s", f"{text} (hint: {hint})" if hint else text)
