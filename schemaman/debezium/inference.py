"""What records without a schema showed: each path and kind of value, counted.

Laws: adding is commutative and associative, and nothing seen adds nothing; so what was seen is a function of
the set of records, however they were ordered or cut. What exceeds the bounds is left out by a priority of its
own, so that what is kept is counted exactly: whatever is kept of the whole was kept of each part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from schemaman.debezium.observation import FieldCount, InferredFields, Observation
from schemaman.debezium.records import Coordinates
from schemaman.model.ddl import find_common_type
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type, Unknown

ELEMENT = "\0element"
"""Stands in a path for any element of an array. No member is called so: names in BSON have no zero byte.
Source: BSON specification, `cstring`."""

DOTTED = "\0dotted"
"""Stands behind the first name of a path that was given with dots: whether what follows are members, elements
or a name with dots cannot be told from the record. Digits are written as 0 there."""

DOCUMENTS = "mongodb"
"""The connector whose tables are collections of documents."""

KEY = "_id"
"""The field that identifies a document."""

EARLY = 3
"""First marks that are kept of each path and kind: as many documents as it takes to believe in one."""

COLUMNS = 500
"""Top-level names that are kept of a table."""

PATHS = 250
"""Paths and kinds that are kept of one column."""

DEPTH = 16
"""Steps of the longest path; what lies deeper is not looked at."""

NULLS = frozenset({"null", "undefined", "json:null"})
"""Kinds that say nothing but that no value is there."""

NULL_ONLY = Unknown("json:null")
"""The type of a column of which nothing but nulls was seen."""

FieldKind = tuple[Path, str]
"""A path and the kind of value that one record showed there."""

Moment = tuple[int, str, int, int]


def make_time_key(mark: Coordinates) -> Moment:
    """What orders marks in time: the source's own clock where it tells it, then the place in the topic."""
    return (mark.ts_ms or mark.read_ms or mark.timestamp_ms or 0, mark.topic, mark.partition, mark.offset)


def merge_inferred_fields(parts: Iterable[InferredFields]) -> InferredFields:
    """What all of the parts showed."""
    sightings = FieldCounter()
    for part in parts:
        sightings.add_fields(part)
    return sightings.get_fields()


@dataclass(slots=True)
class _KindCount:
    documents: int = 0
    early: list[tuple[Moment, Coordinates]] = field(default_factory=list)
    last: tuple[Moment, Coordinates] | None = None

    def add(
        self, documents: int, early: Iterable[tuple[Moment, Coordinates]], last: tuple[Moment, Coordinates]
    ) -> None:
        self.documents += documents
        self.early = sorted([*self.early, *early])[:EARLY]
        if self.last is None or self.last < last:
            self.last = last


@dataclass(slots=True)
class _ColumnCounts:
    """The paths of one column; `cut` once some were left out."""

    counts: dict[FieldKind, _KindCount] = field(default_factory=dict)
    cut: bool = False


class FieldCounter:
    """What is seen, record by record; memory grows with distinct paths, up to the bounds."""

    __slots__ = ("_columns", "_cut", "_documents", "_grown")

    def __init__(self) -> None:
        self._columns: dict[str, _ColumnCounts] = {}
        self._cut = False
        self._documents = 0
        self._grown: set[str] = set()

    def count_record(self, shown: Collection[FieldKind], mark: Coordinates) -> None:
        """Count one record that showed these; one that showed nothing, as a delete, is no document."""
        self._documents += bool(shown)
        now = (make_time_key(mark), mark)
        for path, kind in shown:
            count = self._count(path, kind)
            count.documents += 1
            early = count.early
            if len(early) < EARLY:
                early.append(now)
                early.sort()
            elif now < early[-1]:
                early[-1] = now
                early.sort()
            if count.last is None or count.last < now:
                count.last = now
        if self._grown:
            self._bound(slack=2)

    def add_fields(self, seen: InferredFields) -> None:
        """Count what others saw."""
        self._documents += seen.documents
        self._cut |= () in seen.truncated_paths
        for tally in seen.counts:
            early = [(make_time_key(m), m) for m in tally.early]
            last = (make_time_key(tally.last), tally.last)
            self._count(tally.path, tally.kind).add(tally.documents, early, last)
        for path in seen.truncated_paths:
            if path and path[0] in self._columns:
                self._columns[path[0]].cut = True
        self._bound(slack=2)

    def get_fields(self) -> InferredFields:
        """All of it as a value."""
        self._bound(slack=1)
        tallies = [
            FieldCount(path, kind, count.documents, tuple(mark for _, mark in count.early), count.last[1])
            for column in self._columns.values()
            for (path, kind), count in column.counts.items()
            if count.last is not None
        ]
        cut: list[Path] = [(name,) for name, column in self._columns.items() if column.cut]
        return InferredFields(
            self._documents,
            tuple(sorted(tallies, key=lambda t: (t.path, t.kind))),
            tuple(sorted([*cut, *([()] if self._cut else [])])),
        )

    def _count(self, path: Path, kind: str) -> _KindCount:
        column = self._columns.get(path[0])
        if column is None:
            column = self._columns[path[0]] = _ColumnCounts()
        count = column.counts.get((path, kind))
        if count is None:
            count = column.counts[path, kind] = _KindCount()
            self._grown.add(path[0])
        return count

    def _bound(self, slack: int) -> None:
        """Leave out what is beyond the bounds; with slack not each time, since that costs a sort."""
        if len(self._columns) > COLUMNS * slack:
            kept = sorted(self._columns, key=_rank_column)[:COLUMNS]
            self._columns = {name: self._columns[name] for name in kept}
            self._cut = True
        grown = self._columns if slack == 1 else self._grown
        for column in [self._columns[name] for name in grown if name in self._columns]:
            if len(column.counts) > PATHS * slack:
                first = sorted(column.counts, key=_rank_kind)[:PATHS]
                column.counts = {shown: column.counts[shown] for shown in first}
                column.cut = True
        self._grown.clear()


def _rank_column(name: str) -> tuple[bool, bytes]:
    return (name != KEY, _hash_text(name))


def _rank_kind(shown: FieldKind) -> tuple[int, bytes]:
    """Parents before children; among equals by chance, but always the same chance."""
    path, kind = shown
    return (len(path), _hash_text("\0\0".join((*path, kind))))


def _hash_text(text: str) -> bytes:
    data = text.encode(errors="surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest() + data


def name_elements(path: Path) -> Path:
    """The path in the words of tables: `element` inside arrays."""
    return tuple("element" if step == ELEMENT else step for step in path)


def infer_columns(
    names: tuple[str, ...], seen: InferredFields, key: tuple[str, ...], read_name: Callable[[str], str] = str
) -> tuple[Column, ...]:
    """The columns of rows without a schema: their names, and as type the kinds of JSON that were seen.

    `names` and `key` are as they travel; `read_name` gives the name at the source. A column may always be
    null, unless it is of the key: JSON promises nothing.
    """
    kinds: dict[str, set[str]] = {}
    for tally in seen.counts:
        if len(tally.path) == 1:
            kinds.setdefault(tally.path[0], set()).add(tally.kind)
    # Names that only other records of the run have come behind those of the first one.
    told = dict.fromkeys((*names, *sorted(kinds)))
    return tuple(
        Column(read_name(n), infer_type(kinds.get(n, ())), n not in key, emitted_name=n) for n in told
    )


def infer_type(kinds: Iterable[str]) -> Type:
    """The type of a column of which only kinds of JSON values are known; a null hides it."""
    told = {Unknown(kind) for kind in kinds if kind not in NULLS}
    return find_common_type(told) if told else NULL_ONLY


def merge_row_schemas(one: TableSchema, other: TableSchema) -> TableSchema:
    """Two structures of rows with the same names as one; what only one of them knows is known."""
    columns = [replace(c, type=_merge_types(c.type, (other.column(c.name) or c).type)) for c in one.columns]
    return replace(one, columns=tuple(columns))


def hide_types(schema: TableSchema) -> TableSchema:
    """The structure of rows without the types, which a null may hide; in the order of the names."""
    columns = sorted((replace(c, type=NULL_ONLY) for c in schema.columns), key=lambda c: c.name)
    return replace(schema, columns=tuple(columns))


def extract_content(said: Observation) -> Observation:
    """What an observation says, whatever the place, the count, and the types that nulls may hide."""
    schema = said.schema
    if said.evidence == "inferred" and schema is not None:
        schema = hide_types(schema)
    return replace(said, first=_NO_COORDINATES, last=_NO_COORDINATES, count=0, inferred=None, schema=schema)


_NO_COORDINATES = Coordinates("", 0, 0)


def _merge_types(one: Type, other: Type) -> Type:
    known = [t for t in (one, other) if t != NULL_ONLY]
    return find_common_type(known) if known else NULL_ONLY
