"""Matches the columns of two structures by their places, where a source adds columns only at the end.

There no place moves: a column is where it was, without the dropped ones in front of it. So names that stand
in each other's places were exchanged, or their columns were dropped and added again.

Law: names are exchanged only where their places changed no more than columns of the same names would have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import widens

_MAX_PAIRS = 40_000
"""Structures with more pairs of columns to compare are matched place by place, without dropped columns."""

_SCALE = 20
_DROPPED = _ADDED = _SCALE
_RETYPED, _WIDENED, _ATTRIBUTE = _SCALE, _SCALE // 2, 1
_RENAMED, _EXCHANGED = _SCALE + 1, _SCALE - 2
"""What a change costs against others. Two renames that exchange names cost less than a drop and an addition;
a rename to a name that nothing had costs more, so that no chain of renames replaces a drop."""


@dataclass(frozen=True, slots=True)
class ColumnPlaces:
    """Columns by their places: pairs of (old, new), and the circles in which names moved.

    In a circle, each name is at the place of the name before it, and the first one at that of the last.
    """

    pairs: tuple[tuple[Column, Column], ...]
    circles: tuple[tuple[str, ...], ...]

    @property
    def exchanged(self) -> frozenset[str]:
        """The names in circles."""
        return frozenset(name for circle in self.circles for name in circle)

    @property
    def unchanged(self) -> frozenset[str]:
        """The names that are at their own places."""
        return frozenset(old.name for old, new in self.pairs if old.name == new.name)


def match_places(before: TableSchema, after: TableSchema) -> ColumnPlaces:
    """Match columns by the fewest changes that keep the order of places, and find names in circles."""
    common = [name for name in after.names if before.column(name) is not None]
    if common == [name for name in before.names if after.column(name) is not None]:
        return ColumnPlaces((), ())  # no name passed another one
    pairs = _pair_columns(before, after)
    by_name = {old.name: (old, new) for old, new in pairs if old.name != new.name}
    circles = _find_circles({old: new.name for old, (_, new) in by_name.items()})
    return ColumnPlaces(
        pairs, tuple(c for c in circles if _is_exchange([by_name[name] for name in c], before, after))
    )


def _find_circles(names: Mapping[str, str]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    passed: set[str] = set()
    for name in names:
        path: list[str] = []
        while name in names and name not in passed:
            passed.add(name)
            path.append(name)
            name = names[name]
        if name in path:
            found.append(tuple(path[path.index(name) :]))
    return found


def _is_exchange(pairs: list[tuple[Column, Column]], before: TableSchema, after: TableSchema) -> bool:
    """Whether the places kept as much as the names did, or changed clearly less where a type changed."""
    by_name = [(old, now) for old, _ in pairs if (now := after.column(old.name)) is not None]
    at_places, of_names = (
        sum(_rate_attributes(a, b, before, after) for a, b in some) for some in (pairs, by_name)
    )
    return at_places <= of_names - (0 if all(widens(old.type, new.type) for old, new in pairs) else _SCALE)


def _pair_columns(before: TableSchema, after: TableSchema) -> tuple[tuple[Column, Column], ...]:
    old, new = before.columns, after.columns
    same = 0
    while same < min(len(old), len(new)) and old[same].name == new[same].name:
        same += 1
    head = tuple(zip(old[:same], new[:same], strict=True))
    if (len(old) - same) * (len(new) - same) > _MAX_PAIRS:
        return (*head, *zip(old[same:], new[same:], strict=False))
    return (*head, *_align_places(before, after, same))


def _align_places(before: TableSchema, after: TableSchema, start: int) -> list[tuple[Column, Column]]:
    """Pair the columns from `start` on: of the new ones, only those at the end have no place before."""
    old, new = before.columns[start:], after.columns[start:]
    costs = [[0] + [-1] * len(new)]
    for i, a in enumerate(old):
        row = [costs[i][0] + _DROPPED]
        for j, b in enumerate(new[: i + 1]):
            paired = costs[i][j] + _rate_pair(a, b, before, after)
            above = costs[i][j + 1]
            row.append(paired if above < 0 else min(paired, above + _DROPPED))
        costs.append(row + [-1] * (len(new) + 1 - len(row)))
    ends = ((cost + (len(new) - j) * _ADDED, -j) for j, cost in enumerate(costs[-1]) if cost >= 0)
    j, pairs = -min(ends)[1], list[tuple[Column, Column]]()
    for i in range(len(old), 0, -1):
        if j and costs[i][j] == costs[i - 1][j - 1] + _rate_pair(old[i - 1], new[j - 1], before, after):
            pairs.append((old[i - 1], new[j - 1]))
            j -= 1
    return pairs[::-1]


def _rate_pair(old: Column, new: Column, before: TableSchema, after: TableSchema) -> int:
    renamed = 0
    if old.name != new.name:
        known = after.column(old.name) is not None and before.column(new.name) is not None
        renamed = _EXCHANGED if known else _RENAMED
    return renamed + _rate_attributes(old, new, before, after)


def _rate_attributes(old: Column, new: Column, before: TableSchema, after: TableSchema) -> int:
    """Rate what changed of a column besides its name."""
    retyped = 0 if old.type == new.type else _WIDENED if widens(old.type, new.type) else _RETYPED
    keyed = (old.name in before.key) != (new.name in after.key)
    others = (old.nullable != new.nullable, old.default != new.default, old.comment != new.comment, keyed)
    return retyped + _ATTRIBUTE * sum(others)
