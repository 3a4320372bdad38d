"""Which renames of a plan the history of its source states; a plan file may state others.

Laws: a rename that no history states needs approval, whatever the file says. Names count as the lake writes
them: without regard to case, to characters that no lake name has, and to what makes room for another name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from schemaman.migration.plan import MigrationSource, Plan
from schemaman.migration.policy import ChangeKind
from schemaman.migration.sql_reader import SqlReader
from schemaman.model.schema import Path

_MADE_ROOM = re.compile(r"__(?:old|new)\d*$")
_NO_LETTER = re.compile(r"\W")
_Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RenameGrounds:
    """Pairs of names of one column, both ways.

    `stated`: a statement or a person states them. `proven`: evidence alone proves them. `fields`: names of
    one nested field. `used` are names, in lower case, of columns that have another one or none now.
    """

    stated: frozenset[_Pair] = frozenset()
    proven: frozenset[_Pair] = frozenset()
    fields: frozenset[_Pair] = frozenset()
    used: frozenset[str] = frozenset()

    def list_kinds(self, plan: Plan) -> Mapping[str, ChangeKind]:
        """List the kinds of the renames of a plan by their statements.

        Columns hang together: steps that exchange names go through names that no column keeps.
        """
        renames = {step.statement: _read_rename(step.statement) for step in plan.steps if _renames(step.kind)}
        kinds = [self._find_kind(old, new) for old, new in follow_renames(plan)]
        strictest = max(kinds, key=_STRICTNESS.index, default=_STRICTNESS[0])
        return {
            statement: strictest if len(path) == 1 else self._find_field_kind(path[-1], new)
            for statement, (path, new) in renames.items()
        }

    def has_pair(self, old: str, new: str) -> bool:
        """Whether two names are those of one column of the source."""
        pair = _plain(old), _plain(new)
        return pair[0] == pair[1] or pair in self.stated or pair in self.proven

    def _find_kind(self, old: str, new: str) -> ChangeKind:
        pair = _plain(old), _plain(new)
        if pair[0] == pair[1]:
            return "reuse-name" if _MADE_ROOM.search(new) else "rename-stated"
        if pair in self.stated:
            return "rename-stated"
        return "rename-proven" if pair in self.proven else "rename-suspected"

    def _find_field_kind(self, old: str, new: str) -> ChangeKind:
        known = _plain(old) == _plain(new) or (_plain(old), _plain(new)) in self.fields
        return "rename-stated" if known else "rename-suspected"


_STRICTNESS: tuple[ChangeKind, ...] = ("rename-stated", "rename-proven", "reuse-name", "rename-suspected")


def find_rename_grounds(
    stated: Iterable[MigrationSource],
    proven: Iterable[MigrationSource],
    followed: Iterable[MigrationSource] = (),
) -> RenameGrounds:
    """Find the grounds for renames in sources that follow what was stated, and what evidence proves, too.

    `followed` are the sources as they were at the version that a plan follows: names are used by then.
    """
    stated = list(stated)
    fields = {
        (_plain(path[-1]), _plain(now.name))
        for source in stated
        for version in source.past
        for path, now in version.nested_fields.items()
        if now.name is not None
    }
    return RenameGrounds(
        frozenset(_list_pairs(stated)),
        frozenset(_list_pairs(proven)),
        frozenset(fields | {(new, old) for old, new in fields}),
        frozenset(
            then.lower()
            for source in followed
            for version in source.past
            for then, now in version.names.items()
            if now is None or now.lower() != then.lower()
        ),
    )


def follow_renames(plan: Plan) -> tuple[_Pair, ...]:
    """List the names of columns before and after all renames of a plan, where they differ."""
    renames = (_read_rename(step.statement) for step in plan.steps if _renames(step.kind))
    return tuple(_list_outcomes((path[0], new) for path, new in renames if len(path) == 1))


def _list_pairs(sources: Iterable[MigrationSource]) -> Iterator[_Pair]:
    for source in sources:
        names: dict[int, set[str]] = {}
        for version in source.past:
            for name, id in version.ids.items():
                names.setdefault(id, set()).add(_plain(name))
        yield from ((old, new) for each in names.values() for old in each for new in each)


def _list_outcomes(renames: Iterable[_Pair]) -> Iterator[_Pair]:
    """The names before and after all renames, in the order in which they run."""
    before: dict[str, str] = {}
    for old, new in renames:
        before[new] = before.pop(old, old)
    return ((old, new) for new, old in before.items() if old != new)


def _renames(kind: str) -> bool:
    return kind == "rename-column"


def _read_rename(statement: str) -> tuple[Path, str]:
    """Read a statement that `require_own_statements` has checked or will check."""
    found = re.search(r" RENAME COLUMN ", statement)
    reader = SqlReader(statement[found.end() :] if found else "")
    path = reader.path()
    reader.take(" TO ")
    return path, reader.name()


def _plain(name: str) -> str:
    return _NO_LETTER.sub("_", _MADE_ROOM.sub("", name)).lower()
