"""Which of the lake tables of one source takes the rows of which version.

Law: each version has one table: a table takes the versions from its first one up to that of its successor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schemaman.history.decisions import Decisions, Rename, apply_decisions
from schemaman.history.versions import SchemaVersion, TableHistory, find_perhaps_made_anew
from schemaman.migration.properties.stamped_version import find_stamped_version, find_version, format_began
from schemaman.migration.properties.table_record import Predecessor, read_record
from schemaman.migration.row_columns import DELETED, KEYLESS
from schemaman.migration.source import migration_source
from schemaman.migration.successor import LakeTableAt
from schemaman.migration.target import LakeTable, is_same_key
from schemaman.migration.type_mapping import list_common_types
from schemaman.model.types import Binary, Bits, Floating, String, Timestamp, Type, widens
from schemaman.sink.column_mapping import find_incarnation
from schemaman.sink.uncertain_keys import is_key_open

ListStuck = Callable[[TableHistory, LakeTable], Collection[str]]
"""Lists the source's columns whose new type the format of a lake table does not make in place."""

_NO_TEXT = (Binary, Bits)
"""Types whose values no text column holds."""
_OTHER_TEXT = (Timestamp, Floating)
"""Types that sources write otherwise than the lake once they turn them into text."""


@dataclass(frozen=True, slots=True)
class RowPlace:
    """The lake table that takes rows now, and the versions from `first` to before `until`; None for no end.

    `until` is where the next table begins. `is_newest`: the table has no successor yet. `rebuilt` is where
    the source was surely another table, if rows come from before; or up to where the key of the next table is
    certain. No later version decides about this one.
    `followed` is up to where the table follows its source: rows from there to its end have a key, or none,
    which no record confirms, and it takes what it surely can of them. None for its end. `is_paused`: the
    table itself goes on after `until`, once it has the rows from before. `log_begin` is the version from
    which a log takes the rows: the source may be another table without a key, and no record confirms one.
    """

    table: LakeTableAt | None
    first: int = 0
    until: int | None = None
    is_newest: bool = True
    rebuilt: int | None = None
    followed: int | None = None
    is_paused: bool = False
    log_begin: int | None = None

    def cut_rebuilt(self, history: TableHistory, end: int | None) -> TableHistory:
        """The history that decides what comes after a table which ends at a version."""
        if self.rebuilt is None or end is None or end >= self.rebuilt:
            return history
        return _cut_from(history, self.rebuilt)

    def cut_successor(self, history: TableHistory, version: SchemaVersion) -> TableHistory:
        """The history that decides about the next table, which begins with a version.

        One that begins before the end that is known has the structure of then, as if batches ended there.
        """
        if self.until is not None and version.number < self.until:
            return _cut_from(history, self.until)
        return self.cut_rebuilt(history, version.number)

    def is_rebuilt(self, history: TableHistory) -> bool:
        """Whether the table ends where its source was made anew: no later record names one of its rows."""
        if self.table is None or self.until is None:
            return False
        if self.until == self.log_begin:
            return True
        lake = self.table.lake
        found = (
            find_next_incarnation(history, lake) or find_types(history, lake) or find_rebuilt(history, lake)
        )
        return found is not None and found.number == self.until

    def has_version(self, number: int) -> bool:
        """Whether the table takes the rows of a version."""
        return self.first <= number and (self.until is None or number < self.until)

    def cut_history(self, history: TableHistory) -> TableHistory:
        """The history of the versions that the table takes; an earlier table keeps what was before them."""
        if self.until is None and not self.first:
            return history
        return replace(history, versions=tuple(v for v in history.versions if self.has_version(v.number)))

    def cut_followed(self, history: TableHistory) -> TableHistory:
        """The history of the versions that the structure of the table follows."""
        history = self.cut_history(history)
        return history if self.followed is None else _cut_from(history, self.followed)

    def drop_candidates(self, history: TableHistory) -> TableHistory:
        """The history without suspected renames where this table begins, and where the next one does.

        Each of the two tables keeps the columns of its own versions, so that their rows need no answer.
        """
        ends = {self.first, self.until} - {0, None}
        if not any(v.candidates and v.number in ends for v in history.versions):
            return history
        versions = (replace(v, candidates=()) if v.number in ends else v for v in history.versions)
        return replace(history, versions=tuple(versions))

    def cut_incarnations(self, history: TableHistory) -> TableHistory:
        """The history without the incarnations after that of the table."""
        last = next((v.incarnation for v in reversed(history.versions) if self.has_version(v.number)), None)
        if last in (None, history.latest.incarnation):
            return history
        return self.cut_history(history)

    def list_later(self, versions: Collection[int]) -> frozenset[int]:
        """The versions whose rows come later, into this table or the next ones."""
        return frozenset() if self.until is None else frozenset(v for v in versions if v >= self.until)


def find_place(
    history: TableHistory,
    tables: Sequence[LakeTableAt],
    versions: Collection[int],
    *,
    begins_successors: bool,
    follows_names: bool = False,
    list_stuck: ListStuck | None = None,
    renames: Sequence[Rename] = (),
    is_quiet: bool = False,
) -> RowPlace | None:
    """Find the table for the first of these versions; None if a table of the list has no known beginning.

    `tables` are the lake table of the source and its successors. `begins_successors`: the policy lets a
    table end where the source loses its key or gets one. `follows_names`: it lets one end whose source was
    dropped or renamed, and which could make no room for the table that has its name now. `list_stuck` lets
    one end where a column of its key gets a type that its format does not make in place; by `renames` on
    proof it may have got another name since. `is_quiet`: see `find_key_end`.
    """
    firsts = [0]
    for each in tables[1:]:
        first = find_first_version(history, each.lake)
        if first is None:
            return None
        firsts.append(first)
    wanted = min(versions, default=history.latest.number)
    for number, table in enumerate(tables[:-1]):
        if wanted < firsts[number + 1]:
            return RowPlace(table, firsts[number], firsts[number + 1], is_newest=False)
    newest = RowPlace(tables[-1] if tables else None, firsts[-1])
    gone = find_gone_key(history, None if newest.table is None else newest.table.lake, versions)
    if begins_successors and gone is not None:
        # The table gets the key while it has its columns, as if the batch ended there.
        place = find_place(
            _cut_from(history, gone.number),
            tables,
            [number for number in versions if number < gone.number],
            begins_successors=begins_successors,
            follows_names=follows_names,
            list_stuck=list_stuck,
            renames=renames,
        )
        if place is None or place.until is not None:
            return place and replace(place, rebuilt=place.rebuilt or gone.number)
        return replace(place, until=gone.number, is_paused=True)
    end = None
    if follows_names and newest.table is not None:
        end = find_next_incarnation(history, newest.table.lake)
    if begins_successors and newest.table is not None and end is None:
        end = find_types(history, newest.table.lake)
    if begins_successors and end is None:
        lake = None if newest.table is None else newest.table.lake
        end = find_rebuilt_among(history, versions) if lake is None else find_rebuilt(history, lake)
        if end is not None and wanted < end.number:
            # The rows from before go on as if the batch ended there.
            newest, history = replace(newest, rebuilt=end.number), _cut_from(history, end.number)
            versions = [number for number in versions if number < end.number]
            if not is_key_open(history):
                end = find_key_end(history, newest.table, versions) or end
    is_last = newest.rebuilt is not None or (is_quiet and end is None)
    if begins_successors and newest.table is not None and is_last and is_key_open(history):
        begin = find_log_made_anew(history, newest.table.lake)
        if begin is not None:
            newest, end = replace(newest, log_begin=begin.number), begin
    if begins_successors and end is None:
        end = find_key_end(history, newest.table, versions, is_quiet=is_quiet)
    # No successor begins at a key that nothing confirms; rows from before it may still need one.
    is_end_open = end is not None and wanted < end.number and is_key_open(history)
    if list_stuck is not None and (end is None or is_end_open):
        whole = history if end is None else _cut_from(history, end.number)
        if newest.table is None:
            retyped = find_retyped_key_among(whole, versions)
        else:
            lake = newest.table.lake
            joined = apply_decisions(whole, Decisions(tuple(renames))) if renames else whole
            retyped = find_retyped_key(joined, lake, list_stuck) or _find_respelled_key(
                whole, lake, newest.first
            )
        later = end if retyped is None else _find_open_begin(whole) or end
        if retyped is not None and later is not None and retyped.number < later.number:
            # The next table begins with a certain key, as if the batch ended before the later versions.
            newest = replace(newest, rebuilt=later.number)
        end = retyped or end
    if end is None:
        begin = None if newest.table is None else find_open_key(history, newest.table.lake)
        if not begins_successors or begin is None or wanted >= begin.number:
            return newest
        # The table gets its last certain key first, as if the batch ended there.
        return replace(newest, until=begin.number, is_paused=True)
    before = _cut_from(history, end.number)
    if begins_successors and before.versions and is_key_open(before):
        begin = find_key_end(before, newest.table, versions, is_quiet=is_quiet)
        if begin is None and newest.table is not None:
            begin = find_uncertain_key(history, newest.table.lake, end)
        if begin is not None and newest.table is not None:
            return replace(newest, until=end.number, followed=begin.number)
        end = begin or end
    return replace(newest, until=end.number)


def pause_place(place: RowPlace, history: TableHistory, versions: Collection[int]) -> RowPlace:
    """Pause a place before a type that holds no value of these versions, which no text holds either.

    The table gets such a value while its column has the type for it, as if the batch ended there. Then it
    goes on with another column beside.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    rows = [v for v in own if v.number in versions]
    at = next((v for v in own if any(_lacks_type(before, v) for before in rows)), None)
    if at is None or not place.has_version(at.number) or not place.is_newest:
        return place
    if place.table is not None:
        lake = place.table.lake
        stamped = find_stamped_version(migration_source(history), lake) if is_of_sink(lake) else None
        if stamped is None or own[stamped].number >= at.number:
            return place
    return replace(place, until=at.number, is_paused=True)


def _lacks_type(before: SchemaVersion, version: SchemaVersion) -> bool:
    """Whether a later version has a type that holds no value of this one, which no text holds either."""
    if before.number >= version.number:
        return False
    types = {c.id: c.type for c in version.schema.columns}
    return any(
        isinstance(c.type, _NO_TEXT) and c.id in types and not widens(c.type, types[c.id])
        for c in before.schema.columns
    )


def _cut_from(history: TableHistory, number: int) -> TableHistory:
    """The history without a version and those after it."""
    return replace(history, versions=tuple(v for v in history.versions if v.number < number))


def find_key_end(
    history: TableHistory, table: LakeTableAt | None, versions: Collection[int], *, is_quiet: bool = False
) -> SchemaVersion | None:
    """Find the version at which a table ends, since the source lost its key or got one; None if it goes on.

    A table whose source has a newest key that no record confirms ends, too, though no successor may begin
    yet. Without a table, it ends only if rows of these versions come from before. A new table has a key that
    a record confirms; where there is none, and `is_quiet`, the first one: no newer record came. Keys that
    came and went in between do not count.
    """
    newest = history.latest
    own = [v for v in history.versions if v.incarnation == newest.incarnation]
    begin = _find_begin(own, lambda v: bool(v.schema.key) != bool(newest.schema.key))
    if table is None:
        certain = [v for v in own if "key" not in v.unconfirmed]
        begin = _find_begin(certain, lambda v: bool(v.schema.key) != bool(newest.schema.key))
        if begin is not None:
            begin = _find_first_alike(own, begin)
        elif is_key_open(history):
            begin = _find_open_begin(history)
            begin = find_key_begin(history) if begin is None and is_quiet else begin
        if begin is None:
            return None
        return begin if any(own[0].number <= number < begin.number for number in versions) else None
    if begin is None:
        return None
    if not is_of_sink(table.lake) or bool(table.lake.schema.key) == bool(newest.schema.key):
        return None
    stamped = find_stamped_version(migration_source(history), table.lake)
    return begin if stamped is not None and own[stamped].number < begin.number else None


def find_gone_key(
    history: TableHistory, lake: LakeTable | None, versions: Collection[int]
) -> SchemaVersion | None:
    """Find the first version that lacks a certain key which rows have, or its types; None if none does.

    `versions` are those of the rows. A key that the table has is none such, nor one that came and went before
    the table's key came back. Without a table, the key of the first of these rows is that of the table.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    rows = [v for v in own if v.number in versions and v.schema.key and "key" not in v.unconfirmed]
    if lake is None:
        held = set(_list_key_ids(rows[0])) if rows else set()
    else:
        stamped = find_stamped_version(migration_source(history), lake) if is_of_sink(lake) else None
        if stamped is None or not lake.schema.key:
            return None
        held = {c.id or c.name for c in own[stamped].schema.columns if c.name in lake.schema.key}
    back = max((v.number for v in own if set(_list_key_ids(v)) == held), default=0)
    lost = (
        next((w for w in own if w.number > v.number and not _has_key(v, w, own)), None)
        for v in rows
        if v.number > back and set(_list_key_ids(v)) != held
    )
    return min(filter(None, lost), key=lambda v: v.number, default=None)


def _has_key(keyed: SchemaVersion, version: SchemaVersion, own: Sequence[SchemaVersion]) -> bool:
    """Whether a later version has all columns of a key, in types that hold its values."""
    return _does_go_on(_list_key_types(keyed), own[own.index(keyed) : own.index(version) + 1])


def find_uncertain_key(history: TableHistory, lake: LakeTable, end: SchemaVersion) -> SchemaVersion | None:
    """Find the first of the last versions before an end whose key no record confirms; None if none matters.

    A table whose key is not the last certain one gets that one first, as if the batch ended before the
    uncertain versions. Each row is then merged by the key that it surely had, and the rows after it are as
    uncertain as before. If that key has more columns, and they go on, it is as unique as before. Another one
    would end the table: it matters only if the table ends by its own key, too, which it may get back if that
    goes on.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    stamped = find_stamped_version(migration_source(history), lake) if is_of_sink(lake) else None
    before = [v for v in own if v.number < end.number]
    begin = _find_begin(before, lambda v: "key" not in v.unconfirmed)
    if begin is None or stamped is None or own[stamped].number >= begin.number:
        return None
    certain = before[before.index(begin) - 1]
    held = {c.id: c.type for c in own[stamped].schema.columns if c.name in lake.schema.key}
    if not held or not certain.schema.key or held.keys() == set(_list_key_ids(certain)):
        return None
    if not _does_go_on(held, [*before[stamped:], end]):
        return begin
    wider = {c.id: c.type for c in certain.schema.columns if c.name in certain.schema.key}
    is_wider = held.keys() < wider.keys()
    return begin if is_wider and _does_go_on(wider, [*before[before.index(certain) :], end]) else None


def find_open_key(history: TableHistory, lake: LakeTable) -> SchemaVersion | None:
    """Find the first of the last versions whose key no record confirms; None if none matters.

    It matters if the lake table does not have the certain key from before it yet.
    """
    begin = _find_open_begin(history)
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    stamped = find_stamped_version(migration_source(history), lake) if is_of_sink(lake) else None
    if begin is None or stamped is None or own[stamped].number >= begin.number or not lake.schema.key:
        return None
    certain = own[own.index(begin) - 1]
    held = {c.id for c in own[stamped].schema.columns if c.name in lake.schema.key}
    return begin if certain.schema.key and held and held != set(_list_key_ids(certain)) else None


def _does_go_on(key: Mapping[int | None, Type], versions: Sequence[SchemaVersion]) -> bool:
    """Whether the last version has all columns of a key of the first one, in types that hold its values."""
    held = {**key}
    for earlier, version in pairwise(versions):
        held |= _follow_proven(held, earlier, version)
    kept = [c for c in versions[-1].schema.columns if c.id in held]
    return len(kept) == len(key) and all(widens(held[c.id], c.type) for c in kept)


def _follow_proven(
    held: Mapping[int | None, Type], before: SchemaVersion, version: SchemaVersion
) -> dict[int | None, Type]:
    """The columns of a version that columns of the one before it became on proof, with the types of those."""
    types = {c.name: held[c.id] for c in before.schema.columns if c.id in held}
    became = {c.new: types[c.old] for c in version.candidates if c.grade == "proven" and c.old in types}
    return {c.id: became[c.name] for c in version.schema.columns if c.name in became}


def find_retyped_key(history: TableHistory, lake: LakeTable, list_stuck: ListStuck) -> SchemaVersion | None:
    """Find the version from which the key has a type that the lake table cannot get; None if there is none.

    A row is merged by the values of its key, so that such a column cannot be split. One that gets such a type
    before it comes into the key can be, until then.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    stamped = find_stamped_version(migration_source(history), lake) if is_of_sink(lake) else None
    if stamped is None:
        return None
    # The table may still have the key from before one that no record confirms.
    held = {c.id: c.type for c in own[stamped].schema.columns if c.name in lake.schema.key}
    keyed = _list_key_types(own[stamped]) | held
    # The last one wins: a column has the type of the first version that has it.
    types = {c.id: c.type for v in reversed(own[stamped:]) for c in v.schema.columns}
    newest = {} if "key" in own[-1].unconfirmed else _list_key_types(own[-1])
    changed = {
        c.name: c.id
        for c in own[-1].schema.columns
        if (c.id in keyed or c.id in newest) and types[c.id] != c.type
    }
    parts = read_record(lake.properties).split
    names = (parts[n].column if n in parts else n for n in (list_stuck(history, lake) if changed else ()))
    stuck = {changed[name] for name in names if name in changed}
    columns = ((v, c) for v in own[stamped:] for c in v.schema.columns if c.id in stuck)
    return next(
        (v for v, c in columns if c.type != types[c.id] and (c.id in keyed or c.name in v.schema.key)), None
    )


def find_retyped_key_among(history: TableHistory, versions: Collection[int]) -> SchemaVersion | None:
    """Find the version from which a key has a type that does not hold the values of rows before it.

    `versions` are those of the rows, for which there is no table yet. Values that were in no key count once
    their column is surely in one.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    own = own[next((n for n, v in enumerate(own) if v.number in versions), len(own)) :]
    for number, version in enumerate(own):
        types = {c.id: c.type for c in version.schema.columns}
        keyed = {} if "key" in version.unconfirmed else _list_key_types(version)
        before = (
            (c.id, c.type)
            for v in own[:number]
            for c in v.schema.columns
            if c.id in keyed or (c.id in types and c.name in v.schema.key)
        )
        if not all(_is_type_held(type, types[id]) for id, type in before):
            return version
    return None


def _find_respelled_key(history: TableHistory, lake: LakeTable, first: int) -> SchemaVersion | None:
    """Find the version from which a column of texts is in the key that a table has from another type.

    `first` is the number of the table's first version. Its older rows have such a value as the lake spells
    it: a later change of one of them, by the text of the source, would name another row.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    types = {c.name: c.type for c in lake.schema.columns if c.name not in lake.schema.key}
    keyed = {} if "key" in own[-1].unconfirmed else _list_key_types(own[-1])
    texts = {c.id for c in own[-1].schema.columns if c.id in keyed and types.get(c.name) == String()}
    respelled = {
        c.id
        for v in own
        for c in v.schema.columns
        if c.id in texts and v.number >= first and isinstance(c.type, _OTHER_TEXT)
    }
    certain = (v for v in own if "key" not in v.unconfirmed)
    return next((v for v in certain if not respelled.isdisjoint(_list_key_types(v))), None)


def _list_key_types(version: SchemaVersion) -> dict[int | None, Type]:
    key = version.schema.key
    return {c.id: c.type for c in version.schema.columns if c.name in key and c.id is not None}


def _is_type_held(old: Type, new: Type) -> bool:
    """Whether the key of a new table can have a type that holds the values of both.

    The source and the lake spell some types otherwise as text: then a row would not have its later key.
    """
    if new == String():
        return not isinstance(old, (*_NO_TEXT, *_OTHER_TEXT))
    return widens(old, new) or bool(list_common_types(old, new))


def find_next_incarnation(history: TableHistory, lake: LakeTable) -> SchemaVersion | None:
    """Find the first version of the present table if the lake table has the rows of an ended one."""
    incarnation, newest = find_incarnation(lake, history), history.latest.incarnation
    if incarnation in (None, newest) or not is_of_sink(lake):
        return None
    return next(v for v in history.versions if v.incarnation == newest)


def find_types(history: TableHistory, lake: LakeTable) -> SchemaVersion | None:
    """Find the first version with types if the lake table has texts, since nothing showed any before."""
    newest = history.latest
    if not read_record(lake.properties).untyped or newest.status == "inferred" or not is_of_sink(lake):
        return None
    return next(v for v in history.versions if v.incarnation == newest.incarnation)


def find_rebuilt(history: TableHistory, lake: LakeTable) -> SchemaVersion | None:
    """Find the version at which the source table was another one for its lake table; None if none was.

    It got another key, and columns by which the lake table knows its rows are gone: they were dropped, or the
    table was made anew under its name. Newer rows name no row of the lake table. The same holds where key and
    columns changed at once, which `find_perhaps_made_anew` lists.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    stamped = find_stamped_version(migration_source(history), lake) if is_of_sink(lake) else None
    if stamped is None:
        return None
    held = {c.id for c in own[stamped].schema.columns if c.name in lake.schema.key}
    return _find_rebuilt(own[stamped:], held, find_perhaps_made_anew(history))


def find_log_made_anew(history: TableHistory, lake: LakeTable) -> SchemaVersion | None:
    """Find the first version without a key that may be of another table than a keyed lake table has.

    No record confirms that it has no key: it counts only once no record can follow that confirms one. A log
    has each change as it was sent, whatever its key, so that it mixes no rows. Rows of the same table lie in
    it, too, as those of one that lost its key do.
    """
    if not lake.schema.key or not is_of_sink(lake):
        return None
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    stamped = find_stamped_version(migration_source(history), lake)
    if stamped is None:
        return None
    held = {c.id: c.type for c in own[stamped].schema.columns if c.name in lake.schema.key}
    made_anew = find_perhaps_made_anew(history)
    for before, version in pairwise(own[stamped:]):
        held |= _follow_proven(held, before, version)
        if version.schema.key:
            return None
        if version.number in made_anew or held.keys().isdisjoint(c.id for c in version.schema.columns):
            return version
    return None


def find_rebuilt_among(history: TableHistory, versions: Collection[int]) -> SchemaVersion | None:
    """Find the version at which a source was surely another table than for the first of these versions.

    So a new lake table ends where it would if it had been there before: wherever batches end.
    """
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    own = own[next((n for n, v in enumerate(own) if v.number in versions), len(own)) :]
    if not own:
        return None
    return _find_rebuilt(own, set(_list_key_ids(own[0])), find_perhaps_made_anew(history))


def _find_rebuilt(
    own: Sequence[SchemaVersion], held: Collection[int | str | None], made_anew: Collection[int]
) -> SchemaVersion | None:
    """Find the first of these versions that lacks columns by which rows are known; `held` are their ids.

    `made_anew` are numbers of versions that may be those of another table. A certain key with more columns
    becomes that of the lake table before the next version comes.
    """
    for before, version in pairwise(own):
        key = set(_list_key_ids(before))
        held = key if "key" not in before.unconfirmed and key.issuperset(held) else held
        if version.schema.key and version.number in made_anew:
            return version
        proven = {c.old for c in version.candidates if c.grade == "proven"}
        ids = {c.id for c in version.schema.columns}
        lost = {c.id for c in before.schema.columns if c.id not in ids and c.name not in proven}
        is_other_key = not set(_list_key_ids(version)) <= {c.id for c in before.schema.columns}
        if version.schema.key and (lost.intersection(held) or (not held and lost and is_other_key)):
            return version
    return None


def _find_first_alike(versions: Sequence[SchemaVersion], version: SchemaVersion) -> SchemaVersion:
    """Find the first version of those right before a version that have a key, or none, as it has.

    No record confirms theirs: a table that ended after them would wait for one that never comes.
    """
    at = versions.index(version)
    while at and bool(versions[at - 1].schema.key) == bool(version.schema.key):
        at -= 1
    return versions[at]


def _find_open_begin(history: TableHistory) -> SchemaVersion | None:
    """Find the first of the last versions whose key no record confirms; None if that of the newest is."""
    own = [v for v in history.versions if v.incarnation == history.latest.incarnation]
    return _find_begin(own, lambda v: "key" not in v.unconfirmed)


def _find_begin(
    versions: Sequence[SchemaVersion], is_before: Callable[[SchemaVersion], bool]
) -> SchemaVersion | None:
    """Find the first of the last versions that are none of before; None if all or none of them are."""
    last = next((n for n, v in reversed(list(enumerate(versions))) if is_before(v)), None)
    return None if last is None or last + 1 == len(versions) else versions[last + 1]


def find_key_begin(history: TableHistory) -> SchemaVersion | None:
    """Find the first version with the present key; None if there was no other one in this incarnation."""
    newest = history.latest
    own = [v for v in history.versions if v.incarnation == newest.incarnation]
    return _find_begin(own, lambda v: not is_same_key(_list_key_ids(v), _list_key_ids(newest)))


def _list_key_ids(version: SchemaVersion) -> list[int | str]:
    return [c.id or c.name for c in version.schema.columns if c.name in version.schema.key]


def make_predecessor(table: LakeTableAt, version: SchemaVersion, history: TableHistory) -> Predecessor:
    """What a successor records of the table before it, if its rows begin with this version."""
    cut = replace(history, versions=tuple(v for v in history.versions if v.number <= version.number))
    source = migration_source(cut)
    return Predecessor(table.address, source.id, format_began(source.began))


def find_first_version(history: TableHistory, lake: LakeTable) -> int | None:
    """The number of the first version whose rows a successor has."""
    predecessor = read_record(lake.properties).predecessor
    if predecessor is None:
        return None
    source, newest = migration_source(history), history.latest.incarnation
    # As the source lists them: those of ended incarnations, and then those of the present one.
    numbers = [v.number for v in history.versions if v.incarnation != newest]
    numbers += [v.number for v in history.versions if v.incarnation == newest]
    found = find_version((*source.ended, *source.past), predecessor.version, predecessor.began)
    return None if found is None else numbers[found]


def is_of_sink(lake: LakeTable) -> bool:
    """Whether the sink writes the rows of a table."""
    names = set(lake.schema.names)
    return DELETED in names or names.issuperset(name for name, _ in KEYLESS)
