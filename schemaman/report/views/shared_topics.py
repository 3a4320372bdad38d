"""Finds topics that several tables share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemaman.history.summary import TableSummary
from schemaman.model.schema import TableId
from schemaman.report.views import words


@dataclass(frozen=True, slots=True)
class SharedTopics:
    """The tables of each topic that several tables have now, by stream and topic."""

    tables: Mapping[tuple[str, str], tuple[TableId, ...]]

    def list_topics(self, summary: TableSummary) -> tuple[str, ...]:
        """List the topics of a table that other tables have, too."""
        return tuple(t for t in summary.topics if summary.table in self._find_tables(summary, t))

    def describe(self, summary: TableSummary) -> str:
        """Describe with whom a table shares its topics; empty if it does not."""
        topics = self.list_topics(summary)
        others = {t for topic in topics for t in self._find_tables(summary, topic)} - {summary.table}
        if not others:
            return ""
        which = next(iter(others)) if len(others) == 1 else words.format_count(len(others), "other table")
        return f"shares {'its topic' if len(topics) == 1 else 'topics'} with {which}"

    def _find_tables(self, summary: TableSummary, topic: str) -> tuple[TableId, ...]:
        return self.tables.get((summary.table.stream, topic), ())


def find_shared_topics(summaries: Iterable[TableSummary]) -> SharedTopics:
    """Find the topics that several tables have now; a table that has ended shares none."""
    found: dict[tuple[str, str], dict[TableId, None]] = {}
    for summary in summaries:
        for topic in summary.current_topics if not summary.is_dropped else ():
            found.setdefault((summary.table.stream, topic), {})[summary.table] = None
    return SharedTopics({topic: tuple(tables) for topic, tables in found.items() if len(tables) > 1})
