"""What a statement reads: columns with roles, the tables it names, and what could not be resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from schemaman.model.schema import Path

Role = Literal[
    "projected", "filter", "join-key", "group-key", "order", "window", "aggregated", "whole-row", "excluded",
    "written", "declared",
]  # fmt: skip
ROLES: tuple[Role, ...] = (
    "projected", "filter", "join-key", "group-key", "order", "window", "aggregated", "whole-row", "excluded",
    "written", "declared",
)  # fmt: skip
"""What a statement does with a column. `declared`: the settings name it, and no statement was read."""

ROW_ROLES: frozenset[Role] = frozenset(["filter", "join-key", "group-key", "window"])
"""The roles of columns that decide which rows a view has: each reader of the view depends on them."""

Origin = tuple[str, Path]
"""A column of a relation: the key of the relation, then the path of the column."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column that a query returns: its name, and the columns that its value comes from.

    `is_starred`: a star over a table returns it. `is_plain`: it is a column and not another expression, so
    that its nested fields are those of the column.
    """

    name: str
    origins: frozenset[Origin] = frozenset()
    is_starred: bool = False
    is_plain: bool = True


@dataclass(frozen=True, slots=True)
class StatementReads:
    """What one statement reads and writes.

    `uses` are roles by column; `relations` are the keys of all relations that it names. `outputs` are
    the columns that it returns; they are all unless `is_open`. `unresolved`
    are sentences about names that could not be resolved, each with the name of the column, empty if it may be
    any; `columns` counts the resolved column references. `outside` are names of tables that are not known.
    `rows` are the relations whose whole rows it reads or writes, also with columns of earlier versions;
    `former` are those columns, which it then returned.
    """

    uses: Mapping[Origin, frozenset[Role]] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()
    outputs: tuple[Output, ...] = ()
    is_open: bool = False
    unresolved: tuple[tuple[str, str], ...] = ()
    columns: int = 0
    outside: frozenset[str] = frozenset()
    rows: Mapping[str, Role] = field(default_factory=dict)
    former: tuple[str, ...] = ()
