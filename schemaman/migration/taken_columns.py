"""Which column of a lake table takes the values of which column of the table of an earlier name.

Laws: a column is found by its id in the history, never by its name alone, since the source may have given its
name to another one. A value goes into a column that holds it exactly; a column that the later table lacks is
added to it, so that no value stays behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from schemaman.debezium.records import Coordinates
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.migration.casts import is_convertible, is_spelled_alike
from schemaman.migration.column_map import make_column_map
from schemaman.migration.foreign_columns import read_foreign
from schemaman.migration.moved_parts import list_parts
from schemaman.migration.properties.displaced_columns import format_displaced, read_displaced
from schemaman.migration.properties.names import (
    DISPLACED_PROPERTY,
    FOREIGN_PROPERTY,
    KEPT_PROPERTY,
    SPLIT_PROPERTY,
    format_paths,
    format_property,
)
from schemaman.migration.properties.stamped_version import find_stamped_version, format_began
from schemaman.migration.properties.table_record import (
    DisplacedColumn,
    SplitColumn,
    format_split,
    read_record,
)
from schemaman.migration.row_columns import KEYED, KEYLESS, OFFSET, PARTITION, STREAM, TOPIC
from schemaman.migration.source import migration_source
from schemaman.migration.split_columns import (
    FORMER,
    TEXT,
    find_free_name,
    list_former_parts,
    list_text_parts,
)
from schemaman.migration.target import LakeTable, find_column
from schemaman.model.name_adjustment import DISPLACED_SUFFIX
from schemaman.model.schema import Column
from schemaman.model.types import Decimal, Integer, widens

_ROW_COLUMNS = frozenset(name for name, _ in (*KEYED, *KEYLESS))


@dataclass(frozen=True, slots=True)
class TakenColumns:
    """Pairs of columns, the earlier table's with the one that takes its values; and what is to be added.

    `added` are columns of the pairs that the later table lacks, and `properties` what it records of them.
    `unmatched` are columns of the earlier table whose values no column takes exactly.
    """

    pairs: tuple[tuple[Column, Column], ...]
    added: tuple[Column, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()

    def find_key(self, earlier: LakeTable, later: LakeTable) -> tuple[tuple[str, str], ...]:
        """Find the columns by which rows of both tables are the same; empty if their keys are not one.

        A log has no key: the place of its record tells a row.
        """
        place = (STREAM, TOPIC, PARTITION, OFFSET)
        names = {old.name: (old, new) for old, new in self.pairs}
        key = [names.get(name) for name in earlier.schema.key or place]
        found = [pair for pair in key if pair is not None]
        same = {new.name for _, new in found} == {*(later.schema.key or place)}
        is_whole = same and len(found) == len(key) and bool(earlier.schema.key) == bool(later.schema.key)
        alike = all(is_spelled_alike(old.type, new.type) for old, new in found)
        return tuple((old.name, new.name) for old, new in found) if is_whole and alike else ()


def match_taken_columns(
    former: TableHistory,
    earlier: LakeTable,
    history: TableHistory,
    later: LakeTable,
    began: Coordinates | None,
) -> TakenColumns:
    """Match the columns of a lake table with those of the table of the next name of its source.

    Args:
        former: the history of the earlier name, with the incarnation of the table as its newest, not split.
        earlier: the lake table of that name.
        history: the history of the later name, not split.
        later: the lake table of that name.
        began: where the source got the later name; None if no event shows it.
    """
    matcher = _Matcher(former, earlier, history, later, began)
    for column in earlier.schema.columns:
        matcher.match(column)
    return matcher.finish()


class _Matcher:
    """The later table while columns are matched one by one."""

    def __init__(
        self,
        former: TableHistory,
        earlier: LakeTable,
        history: TableHistory,
        later: LakeTable,
        began: Coordinates | None,
    ) -> None:
        self.former, self.earlier, self.history, self.later = former, earlier, history, later
        self.source = migration_source(history)
        self.versions = [v for v in history.versions if v.incarnation == history.latest.incarnation]
        self.own, self.there = _list_held(former, earlier), _list_held(history, later)
        self.last = {c.id: c.name for c in former.latest.schema.columns if c.id is not None}
        self.first = self._find_first_version(began)
        record = read_record(later.properties)
        self.split, self.displaced = dict(record.split), dict(record.displaced)
        self.kept, self.foreign = list(record.kept), list(record.foreign)
        self.pairs: list[tuple[Column, Column]] = []
        self.added: list[Column] = []
        self.unmatched: list[str] = []

    def match(self, column: Column) -> None:
        """Find or add the column that takes the values of one."""
        taken = {new.name for _, new in self.pairs}
        roles = {name: role for role, name in read_record(self.earlier.properties).metadata.items()}
        metadata = read_record(self.later.properties).metadata
        twin = metadata.get(roles[column.name]) if column.name in roles else None
        if column.name in _ROW_COLUMNS or twin is not None:
            found = find_column(self.later.schema, twin or column.name)
            self._pair(column, found if found is not None and found.type == column.type else None)
            return
        part = self.own.get(column.name)
        source_name = self.last.get(part.id) if part is not None else None
        id = None if source_name is None else self._find_id(source_name)
        if source_name is not None and id is None:
            self.unmatched.append(column.name)
            return
        if id is None or part is None:
            self._pair(column, self._add_kept(column))
            return
        held = [find_column(self.later.schema, n) for n, p in self.there.items() if p.id == id]
        holders = [c for c in held if c is not None and c.name not in taken]
        texts = [c for c in holders if self.there[c.name].is_text]
        typed = [c for c in holders if c not in texts]
        if part.is_text:
            self._pair(column, texts[0] if texts else self._add_part(column, id, TEXT))
            return
        same = [c for c in typed if c.type == column.type]
        wider = [c for c in typed if _holds_exactly(column, c)]
        if not same and not wider and column.name in self.earlier.schema.key:
            wider = [c for c in typed if c.name in self.later.schema.key and _is_same_number(column, c)]
        if same or wider:
            self._pair(column, (same or wider)[-1])
        elif held:
            self._pair(column, self._add_part(column, id, FORMER))
        else:
            self._pair(column, self._add_dropped(column, id))

    def finish(self) -> TakenColumns:
        """The columns that were matched, and what the later table records of the added ones."""
        record = read_record(self.later.properties)
        properties: dict[str, str] = {}
        if self.split != dict(record.split):
            properties[SPLIT_PROPERTY] = format_split(self.split)
        if self.displaced != dict(record.displaced):
            properties[DISPLACED_PROPERTY] = format_displaced(self.displaced)
        if self.kept != list(record.kept):
            properties[KEPT_PROPERTY] = format_paths(self.kept)
        if self.foreign != list(record.foreign):
            properties[FOREIGN_PROPERTY] = format_property(self.foreign)
        return TakenColumns(tuple(self.pairs), tuple(self.added), properties, tuple(self.unmatched))

    def _find_first_version(self, began: Coordinates | None) -> SchemaVersion | None:
        """The version with which the source began under its later name; None if no event shows it."""
        ends = {e.at for e in self.former.events if e.kind == "renamed" and e.other == self.history.table}
        return next((v for v in self.versions if v.at in {began, *ends}), None)

    def _find_id(self, name: str) -> int | None:
        """The id under the later name of a column that the source called so last under the earlier one."""
        versions = self.versions if self.first is None else [self.first]
        ids = {column.id for v in versions if (column := v.schema.column(name)) is not None}
        return next(iter(ids)) if len(ids) == 1 else None

    def _pair(self, column: Column, found: Column | None) -> None:
        if found is None:
            self.unmatched.append(column.name)
        else:
            self.pairs.append((column, found))

    def _add(self, column: Column, name: str) -> Column:
        names = {c.name for v in self.versions for c in v.schema.columns}
        used = (*self.later.schema.names, *(c.name for c in self.added), *self.split, *self.displaced)
        is_free = name.lower() not in {n.lower() for n in (*used, *names)}
        free = name if is_free else find_free_name(name, (*used, *names))
        added = Column(free, column.type, comment=column.comment)
        self.added.append(added)
        return added

    def _add_kept(self, column: Column) -> Column:
        """A column for values of one that the source had dropped, or that others fill."""
        added = self._add(column, column.name)
        if column.name in read_foreign(self.earlier):
            self.foreign.append(added.name)
            return added
        was = read_displaced(self.earlier).get(column.name)
        if was is not None or added.name != column.name:
            name = was.column or was.was if was is not None else column.name
            self.displaced[added.name] = DisplacedColumn(name)
        self.kept.append((added.name,))
        return added

    def _add_part(self, column: Column, id: int, holds: str) -> Column:
        """A further column for values that no column of the same source column holds."""
        at, now = self._find_last(id)
        added = self._add(column, now.name)
        past = self.source.past[at]
        self.split[added.name] = SplitColumn(now.name, past.id, format_began(past.began), holds)
        return added

    def _add_dropped(self, column: Column, id: int) -> Column:
        """A column for values of one that the source dropped under its later name."""
        at, last = self._find_last(id)
        is_used = any(c.name == last.name and c.id != id for v in self.versions for c in v.schema.columns)
        added = self._add(column, f"{last.name}{DISPLACED_SUFFIX}" if is_used else column.name)
        past = self.source.past[at]
        entry = DisplacedColumn(last.name, last.name, past.id, format_began(past.began))
        self.displaced[added.name] = entry
        self.kept.append((added.name,))
        return added

    def _find_last(self, id: int) -> tuple[int, Column]:
        """The last version that has a column, by its place, and the column."""
        return next(
            (at, column)
            for at, version in reversed(list(enumerate(self.versions)))
            for column in version.schema.columns
            if column.id == id
        )


@dataclass(frozen=True, slots=True)
class _Held:
    """What a column of a lake table holds: a column of the source by its id, or texts of it."""

    id: int
    is_text: bool = False


def _list_held(history: TableHistory, lake: LakeTable) -> dict[str, _Held]:
    """Each column of a lake table that holds one of its source; those of one source column in their order."""
    source = migration_source(history)
    stamped = find_stamped_version(source, lake)
    parts = {} if stamped is None else list_parts(history, lake, stamped)
    held = {name: _Held(id) for name, id in list_former_parts(history, lake).items()}
    for id, its_parts in parts.items():
        held |= {name: _Held(id) for name in its_parts}
    held |= {name: _Held(id, True) for id, name in list_text_parts(history, lake).items()}
    known = {each.id for each in held.values()}
    names = make_column_map(source, lake).names
    return held | {n: _Held(id) for id, n in names.items() if id not in known and n not in held}


def _holds_exactly(old: Column, new: Column) -> bool:
    """Whether a column holds each value of another one as it is; some types are equal in the lake alone."""
    return widens(old.type, new.type) and is_convertible(old.type, new.type)


def _is_same_number(old: Column, new: Column) -> bool:
    """Whether both columns have exact numbers.

    Where the source gives the column of a key such a type, a row keeps its number, or no row has it: equal
    numbers of both types are one row, as Spark compares them. A text may have several spellings of one.
    """
    return all(isinstance(c.type, Integer | Decimal) for c in (old, new))


def list_perhaps_inexact(columns: TakenColumns) -> tuple[tuple[Column, Column], ...]:
    """List the pairs of columns of which the later one does not hold each value of the earlier one."""
    return tuple(
        (old, new) for old, new in columns.pairs if old.type != new.type and not _holds_exactly(old, new)
    )


def list_required(columns: TakenColumns, later: LakeTable) -> Iterator[tuple[Column | None, Column]]:
    """The required columns of the later table that may get NULL, each with the one that fills it, if any."""
    filled = {new.name: old for old, new in columns.pairs}
    for column in later.schema.columns:
        old = filled.get(column.name)
        if not column.nullable and (old is None or old.nullable):
            yield old, column
