"""The keys of the versions of a source, in columns of its lake table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from schemaman.debezium.observation import STATEMENT_KINDS
from schemaman.history.versions import TableHistory
from schemaman.migration.target import is_same_key
from schemaman.sink.progress import ReadOrders
from schemaman.sink.row_order import format_position, parse_order
from schemaman.sink.uncertain_keys import NEVER_PROVEN, KeyProof


def list_key_parts(history: TableHistory, names: Mapping[int, str], key: Collection[str]) -> frozenset[str]:
    """The columns of the lake table that are in a key of the present incarnation, or in that of the table."""
    versions = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    ids = {c.id for v in versions for c in v.schema.columns if c.name in v.schema.key and c.id is not None}
    return frozenset({*key, *(names[id] for id in ids if id in names)})


def list_keys(history: TableHistory, names: Mapping[int, str]) -> dict[int, frozenset[str]]:
    """The key of each version in columns of the lake table, or of the source where it has no such column."""
    return {
        v.number: frozenset(names.get(c.id or 0, c.name) for c in v.schema.columns if c.name in v.schema.key)
        for v in history.versions
    }


def find_rekeyed(keys: Mapping[int, frozenset[str]]) -> frozenset[int]:
    """The versions after which the source had another key."""
    later: set[frozenset[str]] = set()
    found = set()
    for number in sorted(keys, reverse=True):
        if later - {keys[number]}:
            found.add(number)
        later.add(keys[number])
    return frozenset(found)


def find_other_key(history: TableHistory, keys: Mapping[int, frozenset[str]], key: Collection[str]) -> str:
    """From where on records show another key than that of the lake table, as text of a position."""
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    same = [keys.get(v.number, frozenset()) == frozenset(key) for v in own]
    later = (v for n, v in enumerate(own) if not same[n] and any(same[:n]))
    return next((format_position(v.at.position) for v in later), NEVER_PROVEN.position)


def find_partition_ends(history: TableHistory, read_orders: ReadOrders) -> dict[tuple[str, int], str]:
    """The last known position of each partition with rows of a table, as text of `row_order`.

    The history has the first and the last record of a run, which are of two partitions at most.
    """
    found: dict[tuple[str, int], str] = {}
    rows = (e for v in history.versions for e in v.evidence if e.kind not in STATEMENT_KINDS)
    for at in (at for each in rows for at in each.coordinates if at.position.kind != "none"):
        here = (at.topic, at.partition)
        found[here] = max(found.get(here, ""), format_position(at.position))
    for (table, topic, partition), orders in read_orders.items():
        if table == history.table:
            here = (topic, partition)
            found[here] = max(found.get(here, ""), *(parse_order(order)[0] for order in orders))
    return found


def list_possible_keys(
    history: TableHistory, names: Mapping[int, str], split: frozenset[str], key: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """The keys of the present incarnation in columns of the lake table; nothing if it has no column of one.

    A part of a key is the same for more rows than the key. The values of a `split` column are in several
    columns, so that no comparison finds equal ones.
    """
    keys = {tuple(sorted(key))}
    for version in (v for v in history.versions if v.incarnation == history.latest.incarnation):
        ids = (c.id or 0 for c in version.schema.columns if c.name in version.schema.key)
        columns = tuple(sorted(names[id] for id in ids if id in names))
        if (version.schema.key and not columns) or not split.isdisjoint(columns):
            return ()
        keys.add(columns)
    return tuple(sorted(keys - {()}))


def find_whole_keys(
    history: TableHistory, proofs: Mapping[int, KeyProof], names: Mapping[int, str]
) -> dict[int, frozenset[str]]:
    """The columns of the lake table in the next key, for versions that show only a part of it as theirs.

    A connector that reads the key later than the row leaves out the columns that the row lacks, also one that
    has another name in it. So the part was perhaps never a key.

    Source: Debezium PgOutputMessageDecoder.handleRelationMessage, `primaryKeyColumns.retainAll(columnNames)`.
    """
    found: dict[int, frozenset[str]] = {}
    for before, version in reversed(list(pairwise(history.versions))):
        key, following = before.schema.key, version.schema.key
        if found.get(version.number) and key == following:
            found[before.number] = found[version.number]
        is_part = key == tuple(name for name in following if name in before.schema.names)
        if before.incarnation == version.incarnation and is_part and key != following:
            ids = {c.name: c.id or 0 for c in version.schema.columns}
            found[before.number] = frozenset(names.get(ids[name], name) for name in following)
    return {number: key for number, key in found.items() if proofs.get(number) == NEVER_PROVEN}


def find_settled(
    history: TableHistory, proofs: Mapping[int, KeyProof], names: Mapping[int, str], key: Collection[str]
) -> frozenset[int]:
    """The versions whose key nothing confirms, before a confirmed one whose key is that of the lake table."""
    last = max(_list_same_keys(history, names, key), default=0)
    return frozenset(number for number, at in proofs.items() if at == NEVER_PROVEN and number < last)


def find_passed(
    history: TableHistory, proofs: Mapping[int, KeyProof], names: Mapping[int, str], key: Collection[str]
) -> frozenset[int]:
    """The versions with a confirmed key that is not that of the lake table, between two which have it."""
    same = _list_same_keys(history, names, key)
    between = range(min(same, default=0), max(same, default=0))
    return frozenset(
        v.number
        for v in history.versions
        if v.number in between
        and v.number not in same
        and v.schema.key
        and proofs.get(v.number) != NEVER_PROVEN
    )


def _list_same_keys(history: TableHistory, names: Mapping[int, str], key: Collection[str]) -> list[int]:
    """The versions of the present incarnation that surely have the key of the lake table."""
    return [
        v.number
        for v in history.versions
        if "key" not in v.unconfirmed
        and v.incarnation == history.latest.incarnation
        and is_same_key([names.get(c.id or 0, "") for c in v.schema.columns if c.name in v.schema.key], key)
    ]
