"""The keys that a table takes one after the other, while the rows of a batch are written.

Law: a row is merged only by the key that its table had when the source wrote the row. So rows come first,
then the next key, then the rows with that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.target import is_same_key


@dataclass(frozen=True, slots=True)
class NextKey:
    """The next key by names of the newest version, and the versions of rows that come under later keys.

    `is_held`: rows with the present key have to be written before. `version` is the first one with the key.
    `is_earlier`: a later version has the present key. So the next one is for late rows alone.
    """

    version: SchemaVersion
    key: tuple[str, ...]
    later: frozenset[int]
    is_held: bool
    is_earlier: bool = False


@dataclass(frozen=True, slots=True)
class KeySequence:
    """The keys of the versions of a table whose rows are to be written, in the order of the history.

    `is_automatic`: the policy changes keys by itself; otherwise a table has the newest key or waits.
    `holds_key`: other rows with the table's present key may wait, or be among those to write.
    """

    history: TableHistory
    versions: frozenset[int] = frozenset()
    is_automatic: bool = False
    holds_key: bool = False

    def find_first(self, history: TableHistory) -> tuple[str, ...] | None:
        """Find the key by which a new table is created, by the names of the newest version of this history.

        None: the newest key. An earlier one is taken only if both have columns and the table has them.
        """
        if not self.is_automatic or not history.latest.schema.key:
            return None
        present = {c.id: c.name for c in history.latest.schema.columns if c.id is not None}
        version = next((v for v in self._list_versions() if "key" not in v.unconfirmed), None)
        if version is None:
            return None
        key = tuple(present[id] for id in _list_key_ids(version) if id in present)
        if not key or len(key) < len(version.schema.key) or is_same_key(key, history.latest.schema.key):
            return None
        return key

    def find_next(self, lake_key: tuple[str, ...], names: Mapping[int, str]) -> NextKey | None:
        """Find the next key of a table; None if it has the newest one, or is not keyed before and after.

        `names` maps ids of columns to names of the table.
        """
        newest = self.history.latest
        if not self.is_automatic or not lake_key or not newest.schema.key:
            return None
        keys = {v.number: tuple(names.get(id, "") for id in _list_key_ids(v)) for v in self.history.versions}
        if is_same_key(keys[newest.number], lake_key):
            return None
        written = [v for v in self._list_versions() if v.number != newest.number] + [newest]
        at = max((n for n, v in enumerate(written) if is_same_key(keys[v.number], lake_key)), default=-1)
        present = {c.id: c.name for c in newest.schema.columns if c.id is not None}
        following = [
            v
            for v in written[at + 1 :]
            if all(id in present for id in _list_key_ids(v)) and v.schema.key and "key" not in v.unconfirmed
        ]
        if not following:
            return None
        ids = _list_key_ids(following[0])
        is_held = at >= 0 or self.holds_key
        later = frozenset(
            v.number
            for v in following
            if v.number in self.versions
            and (is_held or not is_same_key(keys[v.number], keys[following[0].number]))
        )
        is_earlier = any(
            is_same_key(keys[v.number], lake_key)
            for v in self.history.versions
            if v.number > following[0].number and v.incarnation == newest.incarnation
        )
        return NextKey(following[0], tuple(present[id] for id in ids), later, is_held, is_earlier)

    def _list_versions(self) -> Iterator[SchemaVersion]:
        incarnation = self.history.latest.incarnation
        return (
            v for v in self.history.versions if v.number in self.versions and v.incarnation == incarnation
        )


def _list_key_ids(version: SchemaVersion) -> tuple[int, ...]:
    ids = {c.name: c.id for c in version.schema.columns}
    return tuple(id for name in version.schema.key if (id := ids.get(name)) is not None)
