"""The result of one round of `sync`, as a value with a printed form."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from schemaman.ingest.ingest import Summary
from schemaman.model.display import count_noun
from schemaman.report.formats.html import HtmlFormat
from schemaman.report.formats.text import TextFormat
from schemaman.report.json.sync import FollowedTable
from schemaman.report.views.sync import build_sync_report


@dataclass(frozen=True, slots=True)
class SyncResult:
    """One round of `sync`: the records read, and the result of each checked lake table.

    The `state` of a table is `current`, `applied`, `waiting` (for an approval), `refused` or `failed`.
    """

    read: Summary
    tables: tuple[FollowedTable, ...]

    def __repr__(self) -> str:
        counts = Counter(table.state for table in self.tables)
        states = ", ".join(f"{count} {state}" for state, count in counts.items()) or "no lake table to check"
        return f"<SyncResult: {count_noun(self.read.new, 'new record')}; {states}>"

    def __str__(self) -> str:
        return TextFormat().render(build_sync_report(self.read, self.tables)).rstrip("\n")

    def _repr_html_(self) -> str:
        """Render the round as an HTML fragment. Source: IPython "Rich display"."""
        return HtmlFormat().render_fragment(build_sync_report(self.read, self.tables))
