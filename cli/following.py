"""Writes the rounds of a command that goes on reading: what happened, when, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from schemaman.api.sources import RecordSources
from schemaman.api.workspace import now_ms
from schemaman.ingest.ingest import Summary
from schemaman.registry import Registry
from schemaman.report.document import Paragraph, Report, Text
from schemaman.report.json.rounds import Round
from schemaman.report.views import words
from schemaman.store.offsets import Partition
from schemaman_cli.options import CommandContext

IDLE_SECONDS = 60.0
"""Seconds between two lines while nothing happens."""

_SHOWN = 3
"""The largest number of partitions that a line names."""


@dataclass(slots=True)
class RoundLog:
    """Writes one report for each round with an event, and a line now and then for rounds without one.

    With the format `json` each report is one line.
    """

    context: CommandContext
    registry: Registry
    sources: RecordSources
    format: str
    _offsets: Mapping[Partition, int] = field(default_factory=dict)
    _idle_since: float | None = None

    def write_round(self, report: Report, done: Summary) -> None:
        """Write the report of a round, under a line with its time, its lag, and the offsets that changed."""
        self._idle_since = None
        self._write(report, done)

    def write_idle_round(self, report: Report, done: Summary) -> None:
        """Write that nothing happened, in the first such round and then once a minute."""
        now = time.monotonic()
        if self._idle_since is None or now - self._idle_since >= IDLE_SECONDS:
            self._idle_since = now
            self._write(replace(report, blocks=()), done)

    def _write(self, report: Report, done: Summary) -> None:
        found = Round(now_ms(), self._find_lag(), self._find_progress(done))
        head = Paragraph((Text(_describe_round(found, done)),))
        data = {**report.data, **found.build_document()}
        self.context.console.append(Report(report.title, (head, *report.blocks), data), self.format)

    def _find_lag(self) -> int | None:
        return sum(self.sources.unread.values()) if self.sources.unread else None

    def _find_progress(self, done: Summary) -> dict[Partition, int]:
        """Find the last read offsets that have changed since the round before."""
        if not done.new and self._offsets:
            return {}
        topics = {topic for topic, _ in self.sources.unread} or None
        read = self.registry.offsets(self.context.settings.stream.value, topics)
        now = {partition: ranges[-1][1] for partition, ranges in read.items() if ranges}
        changed = {p: offset for p, offset in now.items() if self._offsets.get(p) != offset}
        self._offsets = now
        return changed


def _describe_round(found: Round, done: Summary) -> str:
    """Describe a round in a line."""
    parts = [words.format_time(found.at_ms // 1000 * 1000)]
    if done.new:
        parts.append(f"{words.format_count(done.new, 'new record')}")
    else:
        parts.append("nothing new")
    if found.lag is not None:
        parts.append(f"lag {words.format_number(found.lag)}")
    shown = [f"{topic}[{partition}]@{offset}" for (topic, partition), offset in sorted(found.offsets.items())]
    if shown:
        more = len(shown) - _SHOWN
        rest = f" and {words.format_count(more, 'more partition')}" if more > 0 else ""
        parts.append(f"read up to {', '.join(shown[:_SHOWN])}{rest}")
    return " · ".join(parts)
