"""The changes between two schemas, as a value with a printed form."""

from __future__ import annotations

from collections.abc import Iterable

from schemaman.model.diff import Change
from schemaman.report.document import Event, Report, Text, TimelineBlock
from schemaman.report.formats.html import HtmlFormat
from schemaman.report.formats.text import TextFormat
from schemaman.report.views import words
from schemaman.report.views.table_changes import select_shown_changes


class SchemaDiff(tuple[Change, ...]):
    """The changes that turn one schema into another: a tuple of `Change`, in the order of application.

    `old` and `new` name the two schemas; empty for a schema without a name.
    """

    old: str
    new: str

    def __new__(cls, changes: Iterable[Change], old: str = "", new: str = "") -> SchemaDiff:
        """Make the value from changes and the names of the two schemas."""
        self = super().__new__(cls, changes)
        self.old, self.new = old, new
        return self

    def __repr__(self) -> str:
        kinds = ", ".join(type(change).__name__ for change in self)
        return f"<SchemaDiff {self._title()}: {kinds or 'no difference'}>"

    def __str__(self) -> str:
        return TextFormat().render(self._report()).rstrip("\n")

    def _repr_html_(self) -> str:
        """Render the changes as an HTML fragment. Source: IPython "Rich display"."""
        return HtmlFormat().render_fragment(self._report())

    def _title(self) -> str:
        return f"{self.old or 'old'} → {self.new or 'new'}"

    def _report(self) -> Report:
        lines = tuple(words.describe_changes(select_shown_changes(self)))
        event = Event(self._title(), "", "plain", lines or ((Text("no difference", "muted"),),))
        return Report("diff", (TimelineBlock("", (event,)),), {})
