"""The order in which a lake table is brought to the newest version of its source, in `sync` and in the sink.

Law: each stage finds the table as the stages before it left it, and none runs once the table is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeVar

Stage = Literal[
    "move-tables",
    "choose-table",
    "rewrite-columns",
    "split-columns",
    "keep-dropped",
    "migrate",
    "keep-displaced",
    "unite-columns",
    "take-rows",
    "change-key",
]

STAGES: tuple[Stage, ...] = (
    "move-tables",  # the lake table has its name before anything is read of it
    "choose-table",  # the table that takes the newest rows, which a successor may be
    "rewrite-columns",
    "split-columns",
    "keep-dropped",
    "migrate",  # the ordinary plan
    "keep-displaced",  # other columns have the names by now
    "unite-columns",
    "take-rows",
    "change-key",  # last: the rows have all columns
)
"""All stages in their order; who writes no rows has no dropped columns to keep."""


class Staged(Protocol):
    """A lake table between two stages."""

    @property
    def is_stopped(self) -> bool:
        """Whether no further stage is run."""
        ...


T = TypeVar("T", bound=Staged)


def run_stages(table: T, stages: Mapping[Stage, Callable[[T], T]]) -> T:
    """Run stages in their order, until one stops the table; return the table as the last one left it."""
    for name in STAGES:
        if name in stages and not table.is_stopped:
            table = stages[name](table)
    return table
