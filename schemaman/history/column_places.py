"""Matches the columns of two structures by their places, where a source adds columns only at the end.

There no place moves: a column is where it was, without the dropped ones in front of it. So names that stand
in each other's places were exchanged, or their columns were dropped and added again.

Law: names are exchanged only where the types at their places changed no more than under the names.
Keys, NOT NULL and defaults do not count against it: a source may read them by name, and later than the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from schemaman.model.schema import KEPT_SCHEMAS, Column, TableSchema
from schemaman.model.types import widens

_MAX_PAIRS = 40_000
"""Structures with more pairs of columns to compare are matched place by place, without dropped columns."""

_SCALE = 20
_DROPPED = _ADDED = _SCALE
_RETYPED, _WIDENED, _ATTRIBUTE = _SCALE + 2, _SCALE // 2, 1
_RENAMED, _EXCHANGED = _SCALE + 1, _SCALE - 3
"""What a change costs against others. Two renames that exchange names cost less than a drop and an addition;
a rename to a name that nothing had costs more, so that no chain of renames replaces a drop. It costs less
than another type: a column that took the name of a dropped one has the type that it had."""


@dataclass(frozen=True, slots=True)
class ColumnPlaces:
    """Columns by their places: pairs of (old, new), and the circles and chains in which names moved.

    Each column of a circle has the name of the next one now, and the last one that of the first. In a chain,
    the first name was given up and the last one is taken over or new; a name in it is of two columns.
    `handed_on` are the steps of all chains, also of those in which the columns of the names kept as much.
    """

    pairs: tuple[tuple[Column, Column], ...]
    circles: tuple[tuple[str, ...], ...]
    chains: tuple[tuple[str, ...], ...] = ()
    handed_on: tuple[tuple[Column, Column], ...] = ()

    @property
    def moved(self) -> frozenset[str]:
        """The names in circles and chains."""
        return frozenset(name for names in (*self.circles, *self.chains) for name in names)

    @property
    def unchanged(self) -> frozenset[str]:
        """The names that are at their own places."""
        return frozenset(old.name for old, new in self.pairs if old.name == new.name)


@lru_cache(KEPT_SCHEMAS)
def match_places(before: TableSchema, after: TableSchema) -> ColumnPlaces:
    """Match columns by the fewest changes that keep the order of places, and find names in circles."""
    pairs = _pair_columns(before, after)
    by_name = {old.name: (old, new) for old, new in pairs if old.name != new.name}
    names = {old: new.name for old, (_, new) in by_name.items()}
    circles = _find_circles(names)
    circles = [
        each for each in circles if _is_likelier([by_name[n] for n in each], each, before, after, _rate_type)
    ]
    chains, handed_on = list[tuple[str, ...]](), list[tuple[Column, Column]]()
    for chain in _find_chains(names):
        both = [n for n in chain if before.column(n) is not None and after.column(n) is not None]
        steps = [by_name[name] for name in chain[:-1]] if both else []
        handed_on += steps
        if both and _is_likelier(steps, both, before, after, _rate_attributes, by=_ATTRIBUTE):
            chains.append(chain)
    return ColumnPlaces(pairs, tuple(circles), tuple(chains), tuple(handed_on))


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


def _find_chains(names: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    taken = {*names.values()}
    for name in names:
        chain = [name]
        while name not in taken and chain[-1] in names:
            chain.append(names[chain[-1]])
        if len(chain) > 1:
            yield tuple(chain)


def _is_likelier(
    pairs: Sequence[tuple[Column, Column]],
    names: Sequence[str],
    before: TableSchema,
    after: TableSchema,
    rate: Callable[[Column, Column, TableSchema, TableSchema], int],
    by: int = 0,
) -> bool:
    """Whether the places changed less, `by` a difference, than columns did that have these names twice.

    A place that got another type, and not a wider one, needs the difference of one type.
    """
    by_name = [
        (a, b) for n in names if (a := before.column(n)) is not None and (b := after.column(n)) is not None
    ]
    at_places, of_names = (sum(rate(a, b, before, after) for a, b in some) for some in (pairs, by_name))
    least = by if all(widens(old.type, new.type) for old, new in pairs) else _SCALE
    return at_places <= of_names - least


def _pair_columns(before: TableSchema, after: TableSchema) -> tuple[tuple[Column, Column], ...]:
    old, new = before.columns, after.columns
    first, last = 0, 0
    while first < min(len(old), len(new)) and _is_kept(old[first], new[first]):
        first += 1
    shorter = min(len(old), len(new)) - first
    while len(new) <= len(old) and last < shorter and _is_kept(old[-1 - last], new[-1 - last]):
        last += 1
    ends = slice(first, len(old) - last), slice(first, len(new) - last)
    between = old[ends[0]], new[ends[1]]
    aligned: Iterable[tuple[Column, Column]] = zip(*between, strict=False)
    if len(between[0]) * len(between[1]) <= _MAX_PAIRS:
        aligned = _align_places(*between, before, after, can_add=not last)
    tail = zip(old[ends[0].stop :], new[ends[1].stop :], strict=True)
    return (*zip(old[:first], new[:first], strict=True), *aligned, *tail)


def _is_kept(old: Column, new: Column) -> bool:
    """Whether a column with its name at its place stayed; one of another type may be another one."""
    return old.name == new.name and (widens(old.type, new.type) or widens(new.type, old.type))


def _align_places(
    old: Sequence[Column], new: Sequence[Column], before: TableSchema, after: TableSchema, *, can_add: bool
) -> list[tuple[Column, Column]]:
    """Pair columns in order; with `can_add`, new ones at the end may have had no place before."""
    costs = [[0] + [-1] * len(new)]
    for i, a in enumerate(old):
        row = [costs[i][0] + _DROPPED]
        for j, b in enumerate(new[: i + 1]):
            paired = costs[i][j] + _rate_pair(a, b, before, after)
            above = costs[i][j + 1]
            row.append(paired if above < 0 else min(paired, above + _DROPPED))
        costs.append(row + [-1] * (len(new) + 1 - len(row)))
    found = ((cost + (len(new) - j) * _ADDED, -j) for j, cost in enumerate(costs[-1]) if cost >= 0)
    j, pairs = -min(found)[1] if can_add else len(new), list[tuple[Column, Column]]()
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
    keyed = (old.name in before.key) != (new.name in after.key)
    others = (old.nullable != new.nullable, old.default != new.default, old.comment != new.comment, keyed)
    return _rate_type(old, new, before, after) + _ATTRIBUTE * sum(others)


def _rate_type(old: Column, new: Column, before: TableSchema, after: TableSchema) -> int:
    return 0 if old.type == new.type else _WIDENED if widens(old.type, new.type) else _RETYPED
