"""All subjects in their order, in memory, so that a page costs the same wherever it begins.

A database steps over each row before an offset.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from sqlalchemy import Connection, select

from schemaman.store.sql.subject_tables import SUBJECT
from schemaman.store.subjects import SubjectFilter, SubjectName

_LAST = "\U0010ffff"

_COUNTED = select(SUBJECT.c.context, SUBJECT.c.name, SUBJECT.c.live, SUBJECT.c.total).order_by(
    SUBJECT.c.context, SUBJECT.c.name
)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Subjects in order; `before` counts the versions of those before each one, and of all at last."""

    names: Sequence[tuple[str, str]]
    before: Sequence[int] = ()

    def find_range(self, wanted: SubjectFilter) -> tuple[int, int]:
        """The first subject of the context and the prefix, and the one behind the last."""
        if wanted.context is None:
            return 0, len(self.names)
        first = bisect_left(self.names, (wanted.context, wanted.prefix))
        return first, bisect_left(self.names, (wanted.context, wanted.prefix + _LAST), lo=first)


@dataclass(frozen=True, slots=True)
class SubjectOrder:
    """All subjects by context and name: those with a live version, all, and those with a deleted version."""

    live: _Chosen
    all: _Chosen
    deleted: _Chosen

    def list_subjects(self, wanted: SubjectFilter) -> tuple[SubjectName, ...]:
        """List the subjects of one page."""
        chosen = self.deleted if wanted.deleted_only else self._choose(wanted)
        first, end = chosen.find_range(wanted)
        first = min(first + wanted.offset, end)
        end = end if wanted.limit is None else min(end, first + wanted.limit)
        return tuple(SubjectName(*name) for name in chosen.names[first:end])

    def move_start(
        self, wanted: SubjectFilter, latest_only: bool
    ) -> tuple[SubjectName, SubjectFilter] | None:
        """The subject with which a page of versions begins, and the filter whose offset counts from there.

        None if the page begins behind the last version.
        """
        chosen = self._choose(wanted)
        first, end = chosen.find_range(wanted)
        if latest_only:
            start, rest = first + wanted.offset, 0
        else:
            position = chosen.before[first] + wanted.offset
            start = bisect_right(chosen.before, position) - 1
            rest = position - chosen.before[start]
        return (SubjectName(*chosen.names[start]), replace(wanted, offset=rest)) if start < end else None

    def _choose(self, wanted: SubjectFilter) -> _Chosen:
        return self.all if wanted.deleted else self.live


def read_order(connection: Connection) -> SubjectOrder:
    """Read the order of all subjects."""
    rows = connection.execute(_COUNTED).all()
    contexts: dict[str, str] = {}
    named = [((contexts.setdefault(c, c), name), live, total) for c, name, live, total in rows]
    return SubjectOrder(
        _Chosen(
            [name for name, live, _ in named if live],
            list(accumulate((live for _, live, _ in named if live), initial=0)),
        ),
        _Chosen([name for name, _, _ in named], list(accumulate((n for _, _, n in named), initial=0))),
        _Chosen([name for name, live, total in named if live < total]),
    )
