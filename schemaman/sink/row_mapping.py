"""Map a change of a source row to its lake table: columns by id, values by type, and the key.

Law: a value is written exactly, or its row is quarantined with the reason; nothing is rounded, cut or left
out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from schemaman.debezium.connector import find_connector
from schemaman.debezium.observation import STATEMENT_KINDS
from schemaman.debezium.records import PositionKind, Rank
from schemaman.history.decisions import ENDED
from schemaman.history.versions import SchemaVersion, TableHistory, find_recreated_columns
from schemaman.migration.column_map import make_column_map
from schemaman.migration.foreign_columns import find_foreign_columns
from schemaman.migration.projection.column_names import map_lake_names
from schemaman.migration.projection.metadata_columns import read_metadata_columns
from schemaman.migration.properties.table_record import read_record
from schemaman.migration.row_columns import (
    OFFSET,
    OP,
    ORDER,
    PARTITION,
    STREAM,
    TOPIC,
    list_row_columns,
)
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import list_former_parts, list_text_parts, split_columns
from schemaman.migration.target import LakeTable
from schemaman.model.schema import Column, TableSchema
from schemaman.model.shell import build_command
from schemaman.model.types import Type
from schemaman.sink.field_mapping import find_field_renamings
from schemaman.sink.lake_keys import (
    find_other_key,
    find_partition_ends,
    find_passed,
    find_rekeyed,
    find_settled,
    find_whole_keys,
    list_key_parts,
    list_keys,
    list_possible_keys,
)
from schemaman.sink.progress import NO_ORDERS, UNKNOWN_POSITION, ReadOrders
from schemaman.sink.row_change import Row, RowChange
from schemaman.sink.row_order import format_position, is_surely_before
from schemaman.sink.uncertain_keys import (
    NEVER_PROVEN,
    Claim,
    KeyProof,
    find_key_proofs,
    is_key_made_up,
    read_sent_key,
)
from schemaman.sink.upsert import LakeChange
from schemaman.sink.values.struct_values import FieldRenaming
from schemaman.sink.values.to_lake import fit_text, fit_value
from schemaman.sink.values.to_lake_options import has_assigned_meaning
from schemaman.sink.values.values import BESIDE, UnfitColumn, UnfitValue
from schemaman.sink.written_rows import UnnamedRow

_NO_COLUMN = "the source has dropped this column, and the lake has no column for its values"
_NOT_ADDED = (
    "the lake has no column for its values: `{}` shows what the table lacks and adds it; add-column = ignore "
    "in a [[policy]] leaves such values out"
)
_UNCLEAR_COLUMN = "the lake has a column of this name, and it is not known which column of the source it is"
_UNDECIDED_NAMES = (
    "{} were all recreated, or swapped names: state for each what it became (`schemaman decide "
    "rename`, its own name if it did not change); or set reuse-name = auto in the policy if all are "
    "new columns"
)
_UNKNOWN_POSITION = (
    "the record has no position, and it is not known which rows of its partition precede it. If it "
    "is a delete and its row still exists, delete the row by hand"
)
_EARLIER_KEY = (
    "the row may have been written under an earlier key: the connector reads keys late, and this one is "
    "certain only for later rows; read the table again (signal `execute-snapshot`)"
)
_UNREAD_KEY = (
    "the row may have been written under another key, whose records are in a partition that is not read as "
    "far: it waits for them, or for a batch without records of its table"
)
_OTHER_KEY = (
    "the row was written when the key was {}: it names no row of the table; read the table again (signal "
    "`execute-snapshot`), then delete the record from the quarantine"
)
_OPEN_KEY = (
    "it is not confirmed that the key was ({}) when the source wrote the row: it waits until a later record "
    "confirms a key, or for `schemaman decide confirm {} key`"
)
_MADE_UP_KEY = (
    "the delete may not name its row: another index than the key identifies the rows (REPLICA IDENTITY USING "
    "INDEX), and the connector makes up the key; delete the row by hand, or set REPLICA IDENTITY DEFAULT"
)
_NULL_KEY = (
    "its key is NULL, and a unique index of the source lets several rows have NULL: it names no row of the "
    "table; give the source table a primary key, or the connector `message.key.columns`"
)
_ENDED_TABLE = (
    "it is of a table that has lost this name since, and no lake table surely takes its rows (drop-table and "
    "rename-table = auto keep one); `{}` leaves such rows out"
)
OTHER_TABLE = "its rows go into another lake table of this source, which takes them next"
"""The reason of a row that a lake table leaves to another one; a record's reason has a column before it."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RowMap:
    """Which column of a lake table holds which column of each version of its source.

    `columns` are the table's columns without those that record positions, and those that others or the table
    itself fill. `names` maps ids of source columns
    to them. `unmapped_reasons` maps ids of dropped columns to the reason why their values must not be left
    out. `incarnations` maps the number of each version to its incarnation; `incarnation` is the one in the
    table. `current_names` maps names of the newest version to the lake's where they differ; to an empty one
    where the lake has no such column. `metadata_columns` maps roles to metadata columns. `renamings` has the
    columns whose nested fields have other names in the lake, by the number of a version and their name in it.
    `dropped` are columns of the table that later rows lack, or may lack. `rounded` are columns in which a
    person accepted a floating-point type: the nearest number is written. `names_by_version` has the parts of
    split columns, by the number of a version and the id in it. `siblings` are the other parts of each, which
    are NULL where the column has the value. `key_proofs` has versions whose key may have been read late, and
    what makes it certain; `NEVER_PROVEN` for a key that no record confirms.
    `texts` has the column beside each that holds, as text, the values that its type does not hold; it is one
    of the siblings. `settled` are versions whose key no record confirms, before one with the table's own key.
    `key_parts` are the columns of all keys of the source, where its keys may be read late.
    `possible_keys` are these keys, each without columns that the lake lacks; nothing if it lacks a whole one.
    An empty key there is unknown: see `limit_versions`.
    `whole_keys` are those of versions that show only a part of the next key. `is_over`: no record is known to
    follow that could confirm a key. `closed` is why the table takes no rows any more. `supersedes`: each
    newer row of it has all that an older change has, so that such a change needs no place.
    `settled_ends` are ended incarnations whose late rows a person left out.
    `versions` has the numbers from the first version whose rows the table takes to before those of its
    successor; None for all. `has_replica_identity`: the row before a change may have made-up values.
    `ambiguous` are columns in which versions of the source mean different values by the same one.
    `adds_texts`: columns of texts that values need come with this batch, and such rows are read again.
    `passed` are versions with another key that came and went: a later one surely has the table's own key.
    `truncated` is the order of the newest TRUNCATE that a table with a key took; empty for none.
    `repeats_null_keys`: several rows of the source may have NULL in their key. `keys` are the columns of the
    key of each version, by its number, where keys may be read late; `rekeyed` are those before another key.
    `partition_ends` are the last known positions of the partitions with rows of the table: another one may
    have records that are not read yet. `other_key_from` is the first position of records with another key
    than the table's, once the source had that: newer rows may be others with the same key.
    """

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    names: Mapping[int, str]
    unmapped_reasons: Mapping[int, str]
    incarnations: Mapping[int, int]
    incarnation: int
    current_names: Mapping[str, str] = field(default_factory=dict)
    metadata_columns: Mapping[str, str] = field(default_factory=dict)
    renamings: Mapping[tuple[int, str], FieldRenaming] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    rounded: frozenset[str] = frozenset()
    names_by_version: Mapping[tuple[int, int], str] = field(default_factory=dict)
    siblings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    key_proofs: Mapping[int, KeyProof] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    settled: frozenset[int] = frozenset()
    key_parts: frozenset[str] = frozenset()
    whole_keys: Mapping[int, frozenset[str]] = field(default_factory=dict)
    is_over: bool = False
    closed: str = ""
    supersedes: bool = False
    versions: range | None = None
    has_replica_identity: bool = False
    settled_ends: frozenset[int] = frozenset()
    adds_texts: bool = False
    ambiguous: frozenset[str] = frozenset()
    possible_keys: tuple[tuple[str, ...], ...] = ()
    passed: frozenset[int] = frozenset()
    truncated: str = ""
    repeats_null_keys: bool = False
    keys: Mapping[int, frozenset[str]] = field(default_factory=dict)
    rekeyed: frozenset[int] = frozenset()
    partition_ends: Mapping[tuple[str, int], str] = field(default_factory=dict)
    other_key_from: str = NEVER_PROVEN.position

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The key columns, in key order."""
        return tuple(c for name in self.key for c in self.columns if c.name == name)


@dataclass(frozen=True, slots=True)
class EndedIncarnation:
    """A row of an earlier incarnation of the table: it ended when that table was dropped.

    `reason` says why it waits. It is empty where the row may be left out: the change was delivered before, or
    a person settled it.
    """

    reason: str = ""


@dataclass(frozen=True, slots=True)
class TruncatedRow:
    """A change from before a TRUNCATE of its table, which the lake table took: nothing is left of its row.

    Whichever row it was of, and whatever its values, the TRUNCATE came later and deleted that row. Whether
    the change is written before it or not, the same rows are live after it. So the change needs no row of
    the lake that it names, and no column for its values.
    """


def map_columns(
    recorded: TableHistory,
    live: LakeTable,
    joined: TableHistory | None = None,
    *,
    drops: bool = False,
    ignores_additions: bool = False,
    proves_keys: bool = False,
    is_over: bool = False,
    read_orders: ReadOrders = NO_ORDERS,
) -> RowMap:
    """Map the columns of a table's history to those of a migrated lake table.

    `joined` is the history with more renames applied, and is not split yet: rows are read by the ids of
    `recorded`. `drops`:
    the policy lets the lake drop what the source has dropped, so such values may be left out.
    `ignores_additions`: it leaves out columns that the lake does not have. `proves_keys`:
    no person decides about another key, so that a row waits which may have been written under an earlier one.
    `is_over`: see `RowMap`. `read_orders` are those of earlier batches.
    """
    whole = recorded if joined is None else joined
    history = recorded if joined is None else split_columns(joined, live)
    newest = history.latest
    metadata = read_metadata_columns(live)
    own = {c.name for c in list_row_columns(live.schema.key)}
    source = migration_source(history)
    foreign = find_foreign_columns(source, live)
    columns = tuple(c for c in live.schema.columns if c.name not in own and c.name not in foreign)
    sourced = replace(live, schema=TableSchema(tuple(c for c in columns if c.name not in metadata.values())))
    column_map = make_column_map(source, sourced)
    incarnations = {v.number: v.incarnation for v in history.versions}
    by_name = map_lake_names(newest.schema, sourced)
    current = {
        c.name: by_name.get(c.name, "") if c.id is None else column_map.names.get(c.id, "")
        for c in newest.schema.columns
    }
    recorded_names = (
        {c.name: r.name for r, c in zip(recorded.latest.schema.columns, newest.schema.columns, strict=False)}
        if recorded.latest.number == newest.number
        else {}
    )
    current_names = {
        source_name: lake_name
        for name, lake_name in current.items()
        if (source_name := recorded_names.get(name, name)) != lake_name
    }
    key, incarnation = live.schema.key, newest.incarnation
    same = _match_ids(recorded, history)
    names = {id: column_map.names[current] for id, current in same.items() if current in column_map.names}
    undecided = find_undecided_columns(history)
    present = {c.id for c in newest.schema.columns}
    unmapped = {} if drops else {id: _NO_COLUMN for id, current in same.items() if current not in present}
    if not ignores_additions:
        reason = _NOT_ADDED.format(build_command(("sync",), (str(history.table),)))
        unmapped |= {id: reason for id, current in same.items() if current in present and id not in names}
    unmapped |= {id: undecided[current] for id, current in same.items() if current in undecided}
    unclear = {c.id for c in newest.schema.columns if c.name.lower() in column_map.unclear}
    unmapped |= {
        id: _UNCLEAR_COLUMN for id, current in same.items() if current in unclear and id not in names
    }
    types = {c.name: c.type for c in columns}
    held_types = {id: types[n] for id, n in names.items() if n in types}
    renamings = dict(find_field_renamings(recorded, history, column_map.stamped, held_types))
    missing = _find_missing(history)
    mapped = {lake_name for name, lake_name in current.items() if name not in missing}
    dropped = frozenset(c.name for c in columns).difference(mapped, metadata.values())
    accepted = {a.path[0] for a in history.accepted_types if not a.path[1:]}
    rounded = frozenset(
        lake_name for name, lake_name in current.items() if name in accepted and lake_name in types
    )
    texts = list_text_parts(recorded, live)
    names_by_version = _map_split_columns(recorded, history, column_map.names)
    owners = _find_owners(recorded, whole)
    of_texts = _find_parts(owners, texts, names, names_by_version)
    kept_parts = [*texts.items(), *((id, name) for name, id in list_former_parts(recorded, live).items())]
    # A part whose source column went back to an earlier name may be in the table twice.
    same_ids = {d: c for c, d in _pair_ids(recorded, history)}
    others = [(same_ids[id], name) for name, id in column_map.others.items() if id in same_ids]
    siblings = _list_siblings(owners, kept_parts, others, names, names_by_version)
    proofs = find_key_proofs(recorded) if proves_keys else {}
    passed = find_passed(recorded, proofs, names, key) if proves_keys else frozenset()
    has_keys = bool(proofs or passed)
    whole_keys = find_whole_keys(recorded, proofs, names)
    keys = list_keys(recorded, names) | whole_keys if has_keys else {}
    connector = find_connector(recorded.connector)
    return RowMap(
        columns,
        key,
        names,
        unmapped,
        incarnations,
        incarnation,
        current_names,
        metadata,
        renamings,
        dropped.difference(siblings),
        rounded,
        _map_separated_columns(recorded, history, column_map.names) | names_by_version,
        siblings,
        proofs,
        {name: text for text, parts in of_texts.items() for name in parts},
        find_settled(recorded, proofs, names, key),
        list_key_parts(recorded, names, key) if has_keys else frozenset(),
        whole_keys,
        recorded.has_ended or is_over,
        possible_keys=list_possible_keys(recorded, names, frozenset(siblings), key) if has_keys else (),
        passed=passed,
        truncated=read_record(live.properties).truncated if key else "",
        has_replica_identity=connector.sends_replica_identity,
        repeats_null_keys=connector.repeats_null_keys,
        settled_ends=frozenset(e.incarnation for e in recorded.events if e.is_settled),
        ambiguous=_find_ambiguous(recorded, types, names, names_by_version),
        keys=keys,
        rekeyed=find_rekeyed(keys),
        partition_ends=find_partition_ends(recorded, read_orders) if has_keys else {},
        other_key_from=find_other_key(recorded, keys, key),
    )


def limit_versions(to: RowMap, versions: range) -> RowMap:
    """The map of a table that takes the rows of these versions alone.

    A successor may lack each column of an earlier key, which is then one of unknown columns. Where it begins
    with rows whose key no record confirms, each row of it from before an uncertain one is uncertain, too. By
    the unknown key, any of them may be the same row. So an uncertain update waits if there is another row.
    The first one does not: its row was in no row of this table before.
    """
    doubtful = [number for number in versions if number in to.key_proofs]
    is_first = bool(versions.start and doubtful) and all(
        to.key_proofs.get(number) == NEVER_PROVEN for number in range(versions.start, doubtful[-1])
    )
    keys: tuple[tuple[str, ...], ...] = ((),) if is_first else ()
    return replace(to, versions=versions, possible_keys=to.possible_keys or keys)


def _find_ambiguous(
    history: TableHistory,
    types: Mapping[str, Type],
    names: Mapping[int, str],
    by_version: Mapping[tuple[int, int], str],
) -> frozenset[str]:
    """The columns of the lake in which a value means one thing by some versions, and another by others."""
    meanings: dict[str, set[bool]] = {}
    for version in history.versions:
        for column in version.schema.columns:
            id = column.id or 0
            name = by_version.get((version.number, id)) or names.get(id, "")
            if name in types:
                meaning = has_assigned_meaning(column.type, types[name])
                meanings.setdefault(name, set()).add(meaning)
    return frozenset(name for name, found in meanings.items() if len(found) > 1)


def _find_parts(
    owners: Mapping[int, int],
    texts: Mapping[int, str],
    names: Mapping[int, str],
    by_version: Mapping[tuple[int, int], str],
) -> dict[str, frozenset[str]]:
    """The other columns of the source's column, by any of its ids, for each column of texts."""
    parts = [*names.items(), *((id, name) for (_, id), name in by_version.items())]
    return {
        text: frozenset(name for each, name in parts if owners.get(each, each) == owners.get(id, id))
        for id, text in texts.items()
    }


def _list_siblings(
    owners: Mapping[int, int],
    kept_parts: Collection[tuple[int, str]],
    others: Collection[tuple[int, str]],
    names: Mapping[int, str],
    by_version: Mapping[tuple[int, int], str],
) -> dict[str, tuple[str, ...]]:
    """The other columns of the source's column, for each column of the lake that is one of several.

    `kept_parts` are columns of texts and of former values, by the id of the source's column; `others` are
    further columns of a split column. A split column may have had another name since: then it has two
    ids, and each part belongs to those of both.
    """
    parts: dict[int, set[str]] = {}
    for id, name in (*((id, name) for (_, id), name in by_version.items()), *kept_parts):
        parts.setdefault(owners.get(id, id), set()).add(name)
    for id, name in (*names.items(), *others):
        if (found := parts.get(owners.get(id, id))) is not None:
            found.add(name)
    return {name: tuple(sorted(found - {name})) for found in parts.values() for name in found}


def _find_owners(recorded: TableHistory, history: TableHistory) -> dict[int, int]:
    """One id of each column for all the ids that it has in a history, and with more renames applied."""
    owners: dict[int, int] = {}
    of_joined: dict[int, int] = {}
    for v, w in zip(recorded.versions, history.versions, strict=True):
        for c, d in zip(v.schema.columns, w.schema.columns, strict=False):
            if c.id is None or d.id is None:
                continue
            mine, other = owners.setdefault(c.id, c.id), of_joined.setdefault(d.id, owners[c.id])
            if mine != other:
                owners = {id: other if owner == mine else owner for id, owner in owners.items()}
                of_joined = {id: other if owner == mine else owner for id, owner in of_joined.items()}
    return owners


def _map_split_columns(
    recorded: TableHistory, history: TableHistory, lake_names: Mapping[int, str]
) -> dict[tuple[int, int], str]:
    """The columns of versions whose column is split, by the number of a version and the id in it."""
    pairs = [
        (v.number, c.id, d.id)
        for v, w in zip(recorded.versions, history.versions, strict=True)
        for c, d in zip(v.schema.columns, w.schema.columns, strict=False)
        if c.id is not None and d.id is not None
    ]
    split = {id for _, id, joined in pairs if joined < 0}
    return {
        (number, id): lake_names[joined]
        for number, id, joined in pairs
        if id in split and joined in lake_names
    }


def _map_separated_columns(
    recorded: TableHistory, history: TableHistory, lake_names: Mapping[int, str]
) -> dict[tuple[int, int], str]:
    """The columns of versions whose name may be that of another column later, as `_map_split_columns`."""
    joined = dict[int, set[int]]()
    for id, other in _pair_ids(recorded, history):
        joined.setdefault(id, set()).add(other)
    separated = {id for id, others in joined.items() if len(others) > 1 and min(others) > 0}
    if not separated:
        return {}
    return {
        (v.number, c.id): lake_names[d.id]
        for v, w in zip(recorded.versions, history.versions, strict=True)
        for c, d in zip(v.schema.columns, w.schema.columns, strict=True)
        if c.id in separated and d.id is not None and d.id in lake_names
    }


def _find_missing(history: TableHistory) -> frozenset[str]:
    """Columns of the newest version that rows lack which come after all rows that show it.

    Those rows are of an older version: the record that dropped the columns is not read yet.
    """
    newest = history.latest
    versions = [v for v in history.versions[:-1] if v.incarnation == newest.incarnation]
    kind = newest.at.position.kind
    shown = max(_find_last_rank(newest, kind), newest.at.position.rank)
    later = [v for v in versions if _find_last_rank(v, kind) > shown]
    ids_by_version = [{c.id for c in v.schema.columns} for v in later]
    return frozenset(c.name for c in newest.schema.columns if any(c.id not in ids for ids in ids_by_version))


def _find_last_rank(version: SchemaVersion, kind: PositionKind) -> Rank:
    """The rank of the last row of a version, among positions of one kind; empty if no row has one."""
    rows = (e for e in version.evidence if e.kind not in STATEMENT_KINDS)
    positions = (coordinates.position for e in rows for coordinates in e.coordinates)
    return max((position.rank for position in positions if position.kind == kind), default=())


def _match_ids(history: TableHistory, joined_history: TableHistory) -> dict[int, int]:
    """Each id of a column in a history, and its last id in the history with more renames applied."""
    return dict(_pair_ids(history, joined_history))


def _pair_ids(history: TableHistory, joined_history: TableHistory) -> list[tuple[int, int]]:
    """The id of each column of each version, and that in the history with more renames applied."""
    pairs = zip(history.versions, joined_history.versions, strict=True)
    columns = (zip(v.schema.columns, w.schema.columns, strict=True) for v, w in pairs)
    return [(c.id, d.id) for found in columns for c, d in found if c.id is not None and d.id is not None]


def find_undecided_columns(history: TableHistory, *, reused: bool = False) -> dict[int, str]:
    """Dropped columns by id, each with the reason why it may be a present column: the rename is undecided.

    `reused`: names that came back mean other columns.
    """
    now = {c.id: c.name for c in history.latest.schema.columns if c.id is not None}
    reach, found = dict(now), dict[int, str]()
    for before, after in reversed(list(pairwise(history.versions))):
        names = {c.id: c.name for v in (before, after) for c in v.schema.columns if c.id is not None}
        for old, new, why in _list_candidates(before, after, reused=reused):
            if old not in now and new in reach:
                reach.setdefault(old, reach[new])
                step = f"{history.table}@{after.number}", names[old], names[new]
                asked = f"`{build_command(('decide', 'rename'), step)}`, or not-rename, answers it"
                became = f"rename not decided: it may have become {reach[new]}; {asked}"
                found.setdefault(old, why or became)
    return found


def _list_candidates(
    before: SchemaVersion, after: SchemaVersion, *, reused: bool
) -> Iterator[tuple[int, int, str]]:
    """Columns of a version with the columns of the next one that they may be; a reason if it is no rename."""
    pairs = [(candidate.old, candidate.new, "") for candidate in after.candidates]
    dropped, added = find_recreated_columns(before, after)
    names = sorted({*dropped, *added})
    if len(names) > 1 and not reused:
        pairs += [(old, new, _UNDECIDED_NAMES.format(", ".join(names))) for old in dropped for new in added]
    for name, other, why in pairs:
        old, new = before.schema.column(name), after.schema.column(other)
        if old is not None and new is not None and old.id is not None and new.id is not None:
            yield old.id, new.id, why


def goes_elsewhere(reason: str) -> bool:
    """Whether a record was left to another lake table, so that its reason says nothing of its own table."""
    return reason.endswith(OTHER_TABLE)


def map_change(change: RowChange, to: RowMap) -> LakeChange | EndedIncarnation | TruncatedRow | UnfitColumn:
    """The change in columns and types of the lake table. A TRUNCATE is no change of a row."""
    if change.ambiguity == UNKNOWN_POSITION and to.key:
        return UnfitColumn(to.key[0], _UNKNOWN_POSITION)
    if change.version is not None and to.incarnations.get(change.version, to.incarnation) != to.incarnation:
        return EndedIncarnation(_explain_ended(change, to))
    if to.versions is not None and change.version is not None and change.version not in to.versions:
        reason = _explain_open_key(change) if _is_key_open(change, to) else OTHER_TABLE
        return UnfitColumn(to.columns[0].name, reason)
    if to.truncated and change.version is not None and is_surely_before(change.order, to.truncated):
        return TruncatedRow()
    if to.closed:
        return UnnamedRow(to.columns[0].name, to.closed, tuple(_list_names(change, {}, to)))
    record = (change.record.topic, change.record.partition, change.record.offset)
    image = change.before if change.op == "d" else change.after
    if change.op == "d" and not to.key:
        lacking = next((c for c in change.unread_reasons.items() if _is_required(c[0], change, to)), None)
        if lacking is not None:
            return UnfitColumn(*lacking)
    # Of a deleted row only the key is written.
    mapped = {} if change.op == "d" and to.key else _map_values(image or {}, change, to)
    if isinstance(mapped, UnfitColumn):
        return mapped
    unavailable = frozenset(n for n in (_find_lake_name(u, change, to) for u in change.unavailable) if n)
    if not to.key:
        if unavailable:
            return UnfitColumn(
                min(unavailable), "the value was not sent, and a table without a key has no old row"
            )
        return LakeChange(
            change.op, change.order, record, mapped | _fill_row_columns(change) | _fill_metadata(change, to)
        )
    key = _map_key(change, mapped, to)
    if isinstance(key, UnfitColumn):
        return UnnamedRow(key.column, key.reason, tuple(_list_names(change, mapped, to)))
    values = key if change.op == "d" else mapped | key
    claim = _find_claim(change, key if change.op == "d" else mapped, to)
    key = {name: values[name] for name in to.key}
    if _is_key_shared(change, key, to):
        return UnfitColumn(next(name for name in to.key if key[name] is None), _NULL_KEY)
    values = {**values, **_fill_metadata(change, to)}
    return LakeChange(
        change.op,
        change.order,
        record,
        values,
        unavailable - key.keys(),
        change.redelivered,
        claim or _find_weak_claim(change, to),
    )


def _list_names(change: RowChange, image: Mapping[str, object], to: RowMap) -> Iterator[Mapping[str, object]]:
    """The values of the record's own key, and those of the table's key in the row."""
    whole = change.after or change.before or {}
    sent = change.key or {name: whole[name] for name in change.schema.key if name in whole}
    own = _map_values(sent, change, to)
    parts = {} if isinstance(own, UnfitColumn) else {n: v for n, v in own.items() if v is not None}
    if parts and len(parts) == len(sent):
        yield parts
    if _has_values(image, to.key) and parts.keys() != set(to.key):
        yield {name: image[name] for name in to.key}


def read_mapped_key(change: RowChange, to: RowMap) -> dict[str, object] | None:
    """The table's key from a record that cannot be written; None if the record lacks it, or there is none.

    Of a record that perhaps had another key, it is that of the row that it shows: later ones of it wait, too.
    """
    key = _map_key(change, {}, to) if to.key else None
    if not isinstance(key, UnfitColumn):
        return None if key is None or _is_key_shared(change, key, to) else key
    row = change.before if change.op == "d" else change.after
    is_known = _is_key_uncertain(change, to) or change.op != "d"
    image = _map_values(row or {}, change, to) if is_known else {}
    if isinstance(image, UnfitColumn) or not _has_values(image, to.key):
        return None
    return {name: image[name] for name in to.key}


def _fill_metadata(change: RowChange, to: RowMap) -> dict[str, object]:
    """The values of the table's metadata columns for a change."""
    record, ms = change.record, change.ts_ms
    values = {
        "op": change.op,
        "ts": None if ms is None else _EPOCH + timedelta(milliseconds=ms),
        "deleted": change.op == "d",
        "position": change.order,
        "stream": record.stream,
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
    }
    return {name: values[role] for role, name in to.metadata_columns.items() if role in values}


def fill_truncate_metadata(change: RowChange, to: RowMap) -> dict[str, object]:
    """The values of the metadata columns for rows that a TRUNCATE deletes."""
    return {
        **_fill_metadata(change, to),
        **({to.metadata_columns["deleted"]: True} if "deleted" in to.metadata_columns else {}),
    }


def _fill_row_columns(change: RowChange) -> dict[str, object]:
    record = change.record
    return {
        ORDER: change.order,
        OP: change.op,
        STREAM: record.stream,
        TOPIC: record.topic,
        PARTITION: record.partition,
        OFFSET: record.offset,
    }


def _map_key(change: RowChange, image: Mapping[str, object], to: RowMap) -> dict[str, object] | UnfitColumn:
    """The table's key by the record's own key, else by a row image that is certain to have the same key."""
    then, is_open = _list_then(change, to), _is_key_open(change, to)
    is_new = change.op == "c" and not change.redelivered
    if change.version in to.settled and is_new and _has_values(image, to.key):
        # A row that was created then is a new one, whatever its key was: it has that of the table.
        return {name: image[name] for name in to.key}
    is_doubtful = change.version in to.passed or _is_key_uncertain(change, to)
    if change.op in ("u", "d") and is_doubtful and _may_lack_keys(change, to):
        return UnfitColumn(to.key[0], _UNREAD_KEY)
    sent = _read_passed_key(change, image, to) or _read_uncertain_key(change, image, to)
    if sent is not None:
        return sent
    if is_open and not (is_new and then == set(to.key)):
        return UnfitColumn(to.key[0], _explain_open_key(change))
    if then and then != set(to.key):
        keys = f"({', '.join(change.schema.key)}), and the table's is ({', '.join(to.key)})"
        return UnfitColumn(to.key[0], _OTHER_KEY.format(keys))
    if change.op == "d" and to.has_replica_identity and is_key_made_up(change.before or {}, change.schema):
        return UnfitColumn(to.key[0], _MADE_UP_KEY)
    # A row that was created then is a new one by either key.
    is_unknown = change.before is not None or not _find_claim(change, image, to)
    if change.op in ("u", "d") and _is_key_uncertain(change, to) and is_unknown:
        return UnfitColumn(to.key[0], _EARLIER_KEY)
    if change.op == "u" and to.keys and to.has_replica_identity and _has_other_key_before(change):
        return UnfitColumn(to.key[0], _EARLIER_KEY)
    own = _map_values(change.key or {}, change, to)
    if isinstance(own, UnfitColumn):
        return own
    if all(own.get(name) is not None for name in to.key):
        return {name: own[name] for name in to.key}
    missing = [name for name in to.key if name not in own]
    if not missing:
        return {name: own[name] for name in to.key}
    if change.op != "d" and all(name in image for name in to.key) and _is_key_unchanged(change, image, to):
        return {name: image[name] for name in to.key}
    if change.op == "d" and change.key is None:
        before = _map_values(change.before or {}, change, to)
        sent = {} if isinstance(before, UnfitColumn) else {n: v for n, v in before.items() if v is not None}
        # PostgreSQL sends the columns of the replica identity, which are never NULL, and nothing else.
        if tuple(sent) == to.key:
            return sent
    record = ", ".join(change.key or ()) or "none"
    wanted = ", ".join(to.key)
    return UnfitColumn(missing[0], f"the record's key ({record}) lacks columns of the table's key ({wanted})")


def _is_key_shared(change: RowChange, key: Mapping[str, object], to: RowMap) -> bool:
    """Whether several rows of the source may have the key of a record, since it has NULL."""
    return to.repeats_null_keys and None in key.values() and None in (change.key or {}).values()


def _is_key_uncertain(change: RowChange, to: RowMap) -> bool:
    """Whether the row may have been written under another key than that of its version."""
    if change.version not in to.key_proofs:
        return False
    then = _list_then(change, to)
    return any(key != then for key in _list_keys_then(change, to)) or _is_key_open(change, to)


def _read_uncertain_key(
    change: RowChange, image: Mapping[str, object], to: RowMap
) -> dict[str, object] | None:
    """The table's key of a row whose key at the source is uncertain, if the row tells it; else None."""
    if not _is_key_uncertain(change, to):
        return None
    if change.op in ("u", "d") and change.before is not None:
        before = _map_before(change, to)
        sent = read_sent_key(before, to.key)
        if sent is None or (change.op == "u" and any(image.get(n) != v for n, v in sent.items())):
            return None
        if frozenset() in _list_keys_before(change, to):
            return None
        if change.op == "u":
            return sent
        # What a delete tells of other keys is compared with the row of the lake.
        parts = (read_sent_key(before, (name,)) or {} for name in to.key_parts)
        return {name: value for part in (sent, *parts) for name, value in part.items()}
    claim = _find_claim(change, image, to)
    if claim in ("fresh", "alone") or (claim == "alike" and _is_key_open(change, to)):
        # PostgreSQL sends the old row if a column of the key changes: a part of each key did not.
        return {name: image[name] for name in to.key}
    return None


def _read_passed_key(change: RowChange, image: Mapping[str, object], to: RowMap) -> dict[str, object] | None:
    """The table's key, and what else the record has of its own, under a key that came and went; else None.

    A new row has no row in the lake, which a live one of its key would be: two rows may share that key then.
    A change that kept a key with all columns of the table's kept that, too: its row is the same in both, and
    each other one of the table's key waits. Nothing shows which row it was where the table's key is no part.
    """
    if change.version not in to.passed or change.redelivered:
        return None
    own = _map_values(change.key or {}, change, to)
    if change.op == "c":
        return {name: image[name] for name in to.key} if _has_values(image, to.key) else None
    if (
        isinstance(own, UnfitColumn)
        or change.op not in ("u", "d")
        or not set(to.key) < _list_then(change, to)
    ):
        return None
    is_kept = change.op == "d" or (change.before is None and all(image.get(n) == v for n, v in own.items()))
    is_whole = own.keys() == _list_then(change, to) and own.keys() <= to.key_parts
    return own if is_kept and is_whole and _has_values(own, to.key) else None


def _find_claim(change: RowChange, image: Mapping[str, object], to: RowMap) -> Claim:
    """What the lake must confirm of a row whose key at the source is uncertain, or came and went."""
    if _read_passed_key(change, image, to) is not None:
        return "fresh" if change.op == "c" else "alike"
    if not _is_key_uncertain(change, to) or not _has_values(image, to.key):
        return ""
    then, is_open = _list_then(change, to), _is_key_open(change, to)
    # The next record may still confirm the newest key, and give the row another table.
    is_over = (change.version or 0) < max(to.incarnations) or to.is_over
    if change.op == "c":
        return "fresh" if is_open and is_over and then != set(to.key) else ""
    if change.op not in ("u", "d"):
        return ""
    others = {key for key in _list_keys_then(change, to) if key != set(to.key)}
    if change.before is not None:
        # PostgreSQL sends each column of the key that the row had.
        before = _map_before(change, to)
        others = {key for key in others if not key or read_sent_key(before, key) is not None}
    is_part = all(set(to.key) < key for key in others)
    if change.before is not None:
        # The row before it names the row of the lake, if each row with that key is there, or waits.
        return "" if not others else "alike" if _list_keys_before(change, to) else "alone"
    if set(to.key) < then and is_part:
        return "alone"
    is_certain = is_over if is_open else then == set(to.key)
    return "alike" if is_certain else ""


def _find_weak_claim(change: RowChange, to: RowMap) -> Claim:
    """What the lake must confirm of a row whose key is that of the table by all that is known."""
    if not _is_key_uncertain(change, to):
        return "first" if to.possible_keys and change.op != "d" and change.version in to.rekeyed else ""
    if change.op == "d":
        return "alone"
    is_new = change.op == "c" and not change.redelivered
    return "" if not to.possible_keys else "fresh" if is_new else "first"


def _list_then(change: RowChange, to: RowMap) -> frozenset[str]:
    """The columns of the lake table in the key that the record shows, or of which it shows a part."""
    whole = None if change.version is None else to.whole_keys.get(change.version)
    if whole is not None:
        return whole
    return frozenset(_find_lake_name(name, change, to) or name for name in change.schema.key)


def _list_keys_then(change: RowChange, to: RowMap) -> Iterator[frozenset[str]]:
    """The keys that the source may have had when it wrote the row, in columns of the lake table.

    PostgreSQL updates no row of a table without a key, unless it sends the whole row as it was before.

    Source: PostgreSQL "Logical Replication", Replica Identity: such an update fails on the publisher.
    """
    yield _list_then(change, to)
    sends_none = change.op == "u" and change.before is None and not change.is_flattened
    number = change.version or 0
    while (proof := to.key_proofs.get(number)) and not proof.is_certain(change.position, change.ts_ms):
        number -= 1
        key = to.keys.get(number, frozenset())
        if key or not (sends_none and to.has_replica_identity and number in to.keys):
            yield key


def _list_keys_before(change: RowChange, to: RowMap) -> set[frozenset[str]]:
    """The keys of versions in an earlier table that the source may still have had when it wrote the row.

    Their rows are in that table: no row of this one shows that another row has the same values.
    """
    first = 0 if to.versions is None else to.versions.start
    number, found = change.version or 0, set[frozenset[str]]()
    while (proof := to.key_proofs.get(number)) and not proof.is_certain(change.position, change.ts_ms):
        number -= 1
        found |= {to.keys.get(number, frozenset())} if number < first else set()
    return found


def _may_lack_keys(change: RowChange, to: RowMap) -> bool:
    """Whether another partition may have unread records of a key that the source had before the change."""
    topic, number, at = change.record.topic, change.record.partition, format_position(change.position)
    others = (end for here, end in to.partition_ends.items() if here[0] == topic and here[1] != number)
    return not to.is_over and any(end < at for end in others)


def _map_before(change: RowChange, to: RowMap) -> dict[str, object]:
    """The row before a change in columns of the lake; none of it if a value does not fit."""
    found = _map_values(change.before or {}, change, to)
    return {} if isinstance(found, UnfitColumn) else found


def _has_other_key_before(change: RowChange) -> bool:
    """Whether the row before an update has another key than its record shows.

    Debezium sends a change of the key as a delete and a new row. So the key was another one then.
    """
    after, sent = change.after or {}, read_sent_key(change.before or {}, change.schema.key) or {}
    return any(name in after and after[name] != value for name, value in sent.items())


def _is_key_open(change: RowChange, to: RowMap) -> bool:
    """Whether no record confirms the key that the record shows."""
    return change.version is not None and to.key_proofs.get(change.version) == NEVER_PROVEN


def _explain_ended(change: RowChange, to: RowMap) -> str:
    """Why a row of an ended incarnation waits; empty if it may be left out."""
    number = change.version or 0
    if change.redelivered or to.incarnations.get(number) in to.settled_ends:
        return ""
    return _ENDED_TABLE.format(build_command(("decide", "confirm"), (f"{change.table}@{number}", ENDED)))


def _explain_open_key(change: RowChange) -> str:
    return _OPEN_KEY.format(", ".join(change.schema.key), change.table)


def _has_values(image: Mapping[str, object], key: Iterable[str]) -> bool:
    """Whether a row has a value in each column of a key."""
    return all(image.get(name) is not None for name in key)


def _is_key_unchanged(change: RowChange, image: Mapping[str, object], to: RowMap) -> bool:
    """Whether an update left the key as it was: PostgreSQL sends the old row only where the key changed.

    Source: PostgreSQL "Logical Replication Message Formats", Update: the old tuple is there if the replica
    identity changed, or is FULL.
    """
    if change.op != "u" or change.before is None:
        return True
    before = _map_values(change.before, change, to)
    return not isinstance(before, UnfitColumn) and all(before.get(n) == image.get(n) for n in to.key)


def _map_values(row: Row, change: RowChange, to: RowMap) -> dict[str, object] | UnfitColumn:
    """The values of a row by columns of the lake, without those that the policy leaves out."""
    columns = find_lake_columns(change, to)
    found: dict[str, object] = {}
    for name, value in row.items():
        column, lake_name, lake_type = columns.get(name, _NO_LAKE_COLUMN)
        if lake_name is None or column is None:
            reason = to.unmapped_reasons.get(column.id) if column and column.id is not None else None
            if reason is not None and value is not None:
                return UnfitColumn(name, reason)
            continue
        renaming = None if change.version is None else to.renamings.get((change.version, name))
        try:
            value = value if renaming is None else renaming.rename_value(value)
        except UnfitValue as reason:
            return UnfitColumn(name, str(reason))
        source = column.type if renaming is None else renaming.type
        assert lake_type is not None
        is_rounded, has_meanings = lake_name in to.rounded, lake_name in to.ambiguous
        fitted = fit_value(value, source, lake_type, name, rounded=is_rounded, has_meanings=has_meanings)
        if isinstance(fitted, UnfitColumn):
            if lake_name in to.key or not fitted.reason.endswith(BESIDE):
                return replace(fitted, reason=fitted.reason.removesuffix(BESIDE))
            if lake_name not in to.texts:
                return fitted
            lake_name, fitted = to.texts[lake_name], fit_text(value, source)
        found[lake_name] = fitted
        found |= dict.fromkeys(to.siblings.get(lake_name, ()))
    return found


def _find_lake_name(name: str, change: RowChange, to: RowMap) -> str | None:
    """The lake's name of a column of the record's version."""
    return find_lake_columns(change, to).get(name, _NO_LAKE_COLUMN)[1]


_Found = tuple[Column | None, str | None, Type | None]
_NO_LAKE_COLUMN: _Found = (None, None, None)
_MOST_FOUND = 256
_found_columns: dict[tuple[int, int, int | None], tuple[TableSchema, RowMap, dict[str, _Found]]] = {}
"""What many changes have in common, by the identities of two objects, which the entries keep alive."""


def find_lake_columns(change: RowChange, to: RowMap) -> Mapping[str, _Found]:
    """Each column of the record's version with its name and type in the lake."""
    at = (id(change.schema), id(to), change.version)
    known = _found_columns.get(at)
    if known is None:
        types = {c.name: c.type for c in to.columns}
        found: dict[str, _Found] = {}
        for column in reversed(change.schema.columns):
            name = _choose_lake_name(column, change, to)
            found[column.name] = (column, name, None if name is None else types.get(name))
        if len(_found_columns) >= _MOST_FOUND:
            _found_columns.clear()
        known = _found_columns[at] = (change.schema, to, found)
    return known[2]


def _choose_lake_name(column: Column, change: RowChange, to: RowMap) -> str | None:
    name = column.name
    if column.id is not None and change.version is not None:
        return to.names_by_version.get((change.version, column.id)) or to.names.get(column.id)
    if name in to.current_names:
        return to.current_names[name] or None
    others = {*to.current_names.values(), *to.metadata_columns.values()}
    alike = (c.name for c in to.columns if c.name.lower() == name.lower() and c.name not in others)
    return next(alike, None)


def _is_required(name: str, change: RowChange, to: RowMap) -> bool:
    """Whether a value of a column would be written, or could not be left out."""
    column = change.schema.column(name)
    kept = column is not None and column.id is not None and column.id in to.unmapped_reasons
    return kept or _find_lake_name(name, change, to) is not None
