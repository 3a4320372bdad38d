"""Rows and bytes that a commit wrote, from the texts in which a format tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def select_cost(metrics: object, rows: Sequence[str], sizes: Sequence[str]) -> dict[str, int]:
    """Select `rows` and `bytes` from the metrics of a commit: of each the first metric that it has.

    A number that the commit does not have is left out.
    """
    if not isinstance(metrics, Mapping):
        return {}
    found: dict[str, int] = {}
    for cost, names in (("rows", rows), ("bytes", sizes)):
        text = next((str(metrics[name]) for name in names if name in metrics), "")
        if text.isdecimal():
            found[cost] = int(text)
    return found
