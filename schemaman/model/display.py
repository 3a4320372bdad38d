"""Values that print themselves: HTML in a notebook, text for `print`.

Reports stand above the values that they show, so `schemaman.report.display` is loaded by name when a value is
shown, as a plug-in is.
"""

from __future__ import annotations

from importlib import import_module


class DisplayedValue:
    """A value with a report: `_repr_html_` for notebooks, `str` for terminals."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The report as an HTML fragment, without script. Source: IPython "Rich display"."""
        return render_value(self, "html")

    def __str__(self) -> str:
        return render_value(self, "text")


def count_noun(number: int, noun: str) -> str:
    """Format a count for a `repr`: `1 table`, `2 tables`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def render_value(value: object, format: str) -> str:
    """The report of a value as an HTML fragment (`html`) or as text (`text`)."""
    rendered: str = import_module("schemaman.report.display").render(value, format)
    return rendered
