"""Which column of its source each column of a lake table holds, by the table's own version stamp.

Laws: a name alone does not decide, since a dropped column may have had the name that another column has now;
no answer depends on the policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from schemaman.migration.plan import MigrationSource, PreviousVersion
from schemaman.migration.properties.displaced_columns import read_displaced
from schemaman.migration.properties.stamped_version import find_stamped_version, find_version
from schemaman.migration.properties.table_record import DisplacedColumn, read_record
from schemaman.migration.target import LakeTable


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """Which column of a lake table holds each column of the newest incarnation, by ids; no two share one.

    `unclear` are names of the source, in lower case, whose column in the table is unknown, or is not the one
    that it should be. `stamped` is the previous version that the table's stamp means, None if unknown.
    `others` are further columns of the table that hold a column of the source, each with its id.
    """

    names: Mapping[int, str]
    unclear: frozenset[str] = frozenset()
    stamped: int | None = None
    others: Mapping[str, int] = field(default_factory=dict)


def make_column_map(source: MigrationSource, lake: LakeTable) -> ColumnMap:
    """Find the source column of each lake column; `lake` lacks the columns that are not the source's."""
    past, stamped = source.past, find_stamped_version(source, lake)
    current = past[-1].ids if past else {}
    newest = {id: name.lower() for version in past for name, id in version.ids.items()}
    names, displaced = read_names(lake), read_displaced(lake)
    up_to_stamp = _HeldIds(names, past if stamped is None else past[: stamped + 1])
    since = [] if stamped is None else [_HeldIds(names, [version]) for version in past[stamped + 1 :]]
    found: dict[int, str] = {}
    others: dict[str, int] = {}
    unclear: set[str] = set()
    for lake_name in lake.schema.names:
        source_name = names.get(lake_name, lake_name).lower()
        entry = displaced.get(lake_name)
        id = _find_displaced_id(entry, past) if entry else _find_held_id(lake_name, up_to_stamp, since)
        if id is None:
            unclear.add(source_name)
        elif id not in found:
            found[id] = lake_name
        elif newest.get(id) == source_name:
            others[found[id]], found[id] = id, lake_name
        else:
            others[lake_name] = id
    source_names = {names.get(lake_name, lake_name) for lake_name in lake.schema.names}
    lost = {
        name.lower()
        for name in source.schema.names
        if current.get(name) not in found and name in source_names
    }
    return ColumnMap(found, frozenset(unclear | lost), stamped, others)


@dataclass(frozen=True, slots=True)
class FormerName:
    """A column of a lake table that has earlier values of the column `current`.

    `last` is the number of the last of the previous versions in which the source called it so.
    """

    name: str
    current: str
    last: int


def find_former_names(source: MigrationSource, lake: LakeTable) -> tuple[FormerName, ...]:
    """Find the lake columns that are one column of the source with another one of the table.

    So it is where a rename was answered after the table had got both. `lake` is that of `make_column_map`.

    A displaced column records the version that the table then had. A batch may have passed over later ones
    that still called the column so. Their rows have its values there too: they are from before the rename.
    """
    past, column_map = source.past, make_column_map(source, lake)
    names, displaced = read_names(lake), read_displaced(lake)
    present = {*source.past[-1].ids.values()} if past else set[int]()
    found: list[FormerName] = []
    for lake_name in lake.schema.names if column_map.stamped is not None else ():
        entry = displaced.get(lake_name)
        end = find_version(past, entry.version, entry.began) if entry else column_map.stamped
        source_name = entry.column if entry else names.get(lake_name, lake_name)
        versions = () if end is None else past[: end + 1]
        last = next(
            (number for number in reversed(range(len(versions))) if source_name in versions[number].ids), None
        )
        id = None if last is None else versions[last].ids[source_name]
        if last is not None:
            later = range(last + 1, len(past))
            # A name that never ended was decided to have stayed: no later version tells the columns apart.
            ended = next((number for number in later if past[number].ids.get(source_name) != id), last + 1)
            last = ended - 1
        current = column_map.names.get(id) if id is not None else None
        if last is not None and last + 1 < len(past) and id in present and current not in (None, lake_name):
            assert current is not None
            found.append(FormerName(lake_name, current, last))
    return tuple(found)


class _HeldIds:
    """The columns that a table holds, by names in some versions, oldest first."""

    def __init__(self, names: Mapping[str, str], versions: Sequence[PreviousVersion]) -> None:
        self.spellings = FormerSpellings(names, (version.names for version in versions))
        self.ids = {name: id for version in versions for name, id in version.ids.items()}

    def find_id(self, lake_name: str) -> int | None:
        """The last column of these versions that has the source name which the table records."""
        name = self.spellings.find_name(lake_name)
        return None if name is None else self.ids.get(name)


def _find_held_id(lake_name: str, up_to_stamp: _HeldIds, since: Sequence[_HeldIds]) -> int | None:
    """The id of the source column that a column of a lake table holds; None if unknown.

    `up_to_stamp` has the versions up to the stamped one: the last column of that name is it. A younger column
    counts only if no other one has had its name since.
    """
    found = up_to_stamp.find_id(lake_name)
    if found is not None:
        return found
    ids = {each.find_id(lake_name) for each in since} - {None}
    return ids.pop() if len(ids) == 1 else None


def _find_displaced_id(entry: DisplacedColumn, past: Sequence[PreviousVersion]) -> int | None:
    """The id of a column whose name in the table is not its own."""
    last = find_version(past, entry.version, entry.began)
    versions = () if last is None else past[: last + 1]
    return _HeldIds({}, versions).find_id(entry.column) if entry.column else None


class FormerSpellings:
    """How the source called the columns of a live table, version by version.

    `source_names` is what the table says (`read_names`), `versions` are the names of each, oldest first.
    """

    def __init__(self, source_names: Mapping[str, str], versions: Iterable[Iterable[str]]) -> None:
        self.source_names = source_names
        self.taken = frozenset(source_names.values())
        self.versions: list[dict[str, list[str]]] = []
        for names in versions:
            self.versions.append({})
            for name in names:
                self.versions[-1].setdefault(name.lower(), []).append(name)

    def find_name(self, lake_name: str) -> str | None:
        """What a column of the lake was called in the last version that had it."""
        exact = self.source_names.get(lake_name, lake_name)
        others = self.taken - {exact} if lake_name in self.source_names else self.taken
        alike = [names.get(exact.lower(), []) for names in self.versions]
        if lake_name in self.source_names and any(exact in names for names in alike):
            return exact
        for found in reversed(alike):
            if exact in found and exact not in others:
                return exact
            own = [name for name in found if name not in others]
            if own:
                # Of those that only case tells apart the first one has the name, as in `told_apart`.
                seen = list(dict.fromkeys(name for names in alike for name in names))
                return min(own, key=seen.index)
        return None


def read_names(lake: LakeTable) -> dict[str, str]:
    """What a table says of its names, for columns that it has: name in the lake → the source's."""
    recorded = read_record(lake.properties).names
    return {
        lake_name: source_name
        for lake_name, source_name in recorded.items()
        if lake_name in lake.schema.names
    }
