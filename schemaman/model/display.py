"""Values that print themselves: HTML in a notebook, text for `print`.

Reports stand above the values that they show, so a port calls them.
"""

from __future__ import annotations

from collections.abc import Callable

from schemaman.plugins import Port

RENDER_REPORT: Port[Callable[[object, str], str]] = Port("render a report")
"""Renders the report of a value as an HTML fragment (`html`) or as text (`text`)."""


class DisplayedValue:
    """A value with a report: `_repr_html_` for notebooks, `str` for terminals."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The report as an HTML fragment, without script. Source: IPython "Rich display"."""
        return RENDER_REPORT.load()(self, "html")

    def __str__(self) -> str:
        return RENDER_REPORT.load()(self, "text")


def count_noun(number: int, noun: str) -> str:
    """Format a count for a `repr`: `1 table`, `2 tables`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
