"""A table before and after a recording: which versions are new, changed or removed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import cached_property

from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.schema import TableId

Versions = Sequence[SchemaVersion]
HistoryLookup = Callable[[TableId], TableHistory | None]


class RecordedTable:
    """A table with new entries; its histories are read on first use.

    `count_common` counts the first versions that are known to be equal in two histories, and not compared.
    """

    def __init__(
        self,
        table: TableId,
        before: HistoryLookup,
        after: HistoryLookup,
        count_common: Callable[[Versions, Versions], int] = lambda one, other: 0,
    ) -> None:
        self.table = table
        self._of = (before, after)
        self._count_common = count_common

    @cached_property
    def before(self) -> TableHistory | None:
        """The history before the recording; None for a new table."""
        return self._of[0](self.table)

    @cached_property
    def after(self) -> TableHistory | None:
        """The history after the recording."""
        return self._of[1](self.table)

    @property
    def new(self) -> tuple[SchemaVersion, ...]:
        """The new versions, including those that late evidence inserted between others."""
        return tuple(v for old, v in self._pairs if old is None and v is not None)

    @property
    def changed(self) -> tuple[SchemaVersion, ...]:
        """The versions whose status, revisions or unconfirmed facts changed."""
        return tuple(v for old, v in self._pairs if old and v and _list_facts(old) != _list_facts(v))

    @property
    def confirmed(self) -> tuple[SchemaVersion, ...]:
        """The versions that are confirmed now and were not before."""
        return tuple(v for old, v in self._pairs if old and v and _is_confirmed(v) and not _is_confirmed(old))

    @property
    def new_revisions(self) -> tuple[str, ...]:
        """The numbers of new revisions, such as `3` or `3.1`, also those of new versions."""
        return tuple(
            v.format_number(revision)
            for old, v in self._pairs
            if v is not None
            for revision in v.revisions
            if old is None or revision.number not in {each.number for each in old.revisions}
        )

    @property
    def removed(self) -> tuple[SchemaVersion, ...]:
        """The versions that late evidence removed."""
        return tuple(old for old, v in self._pairs if old is not None and v is None)

    @cached_property
    def _pairs(self) -> list[tuple[SchemaVersion | None, SchemaVersion | None]]:
        """Each version before with the one after, None for a missing one, without common first versions."""
        old = self.before.versions if self.before else ()
        new = self.after.versions if self.after else ()
        common = self._count_common(old, new)
        old, new = old[common:], new[common:]
        pairs: list[tuple[SchemaVersion | None, SchemaVersion | None]] = []
        # Most recordings extend the history: only the part that differs needs the slow comparison.
        for one, other in zip(_list_shapes(old), _list_shapes(new), strict=False):
            if one != other:
                break
            pairs.append((old[len(pairs)], new[len(pairs)]))
        old, new = old[len(pairs) :], new[len(pairs) :]
        match = difflib.SequenceMatcher(None, _list_shapes(old), _list_shapes(new), autojunk=False)
        for word, i, i_end, j, j_end in match.get_opcodes():
            if word == "equal":
                pairs += zip(old[i:i_end], new[j:j_end], strict=True)
            else:
                pairs += [(v, None) for v in old[i:i_end]] + [(None, v) for v in new[j:j_end]]
        return pairs


def _list_shapes(versions: Sequence[SchemaVersion]) -> list[tuple[int, str]]:
    return [(v.incarnation, v.id) for v in versions]


def _list_facts(version: SchemaVersion) -> tuple[object, ...]:
    return (version.status, version.revisions, version.unconfirmed, version.candidates)


def _is_confirmed(version: SchemaVersion) -> bool:
    return version.status == "confirmed" and not version.unconfirmed
