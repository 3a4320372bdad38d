"""Tables and columns as a database's own catalogue describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrueColumn:
    """A column as the catalogue describes it; `type` in the database's own words."""

    name: str
    type: str
    nullable: bool
    generated: bool = False
    labels: tuple[str, ...] = ()
    size: int | None = None
    scale: int | None = None
    default: str | None = None
    number: int = 0
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class TrueTable:
    """A table as it really was; `key` is the primary key, else the first unique index by name.

    `identity`, and the `number` of a column, stay as long as table and column do, whatever their names.
    """

    name: tuple[str, str]
    columns: tuple[TrueColumn, ...]
    key: tuple[str, ...]
    identity: int | None = None


Tables = Mapping[tuple[str, str], TrueTable]
