"""Schema inference: counts of each path and kind of value in records without a schema.

Laws: merging is commutative and associative, and empty fields are its neutral element. So the result is a
function of the set of records, in any order and in any chunks. Beyond the bounds, a fixed priority selects
the paths that are kept, so that their counts are exact: a path that the whole keeps was kept in each part.
A record that is delivered again, as by a copied topic, is not another one among the earliest records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from schemaman.debezium.observation import FieldCount, InferredFields, Observation
from schemaman.debezium.records import Coordinates, Record, hash_record
from schemaman.model.ddl import find_common_type
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import Type, Unknown

ELEMENT = "\0element"
"""The path step of any element of an array. No field has this name: names in BSON have no zero byte.
Source: BSON specification, `cstring`."""

DOTTED = "\0dotted"
"""The path step behind the first name of a path with dots: whether fields, elements or a name with dots
follow is unknown. Digits are written as 0 there."""

KEY = "_id"
"""The field that identifies a document."""

EARLY = 3
"""The number of earliest coordinates that are kept of each path and kind: a field with as many is certain."""

COLUMNS = 500
"""The number of top-level names that are kept of a table."""

PATHS = 250
"""The number of paths and kinds that are kept of one column."""

DEPTH = 16
"""The number of steps of the longest path; deeper values are not counted."""

NULLS = frozenset({"null", "undefined", "json:null"})
"""Kinds that mean the absence of a value."""

NULL_ONLY = Unknown("json:null")
"""The type of a column with nulls alone."""

FieldKind = tuple[Path, str]
"""A path, and the kind of the value that one record has there."""

Moment = tuple[int, str, int, int]


def make_time_key(coordinates: Coordinates) -> Moment:
    """Make the sort key of coordinates in time: the source's clock if known, then the place in the topic."""
    return (
        coordinates.ts_ms or coordinates.read_ms or coordinates.timestamp_ms or 0,
        coordinates.topic,
        coordinates.partition,
        coordinates.offset,
    )


def merge_inferred_fields(parts: Iterable[InferredFields]) -> InferredFields:
    """Merge the inferred fields of all parts."""
    sightings = FieldCounter()
    for part in parts:
        sightings.add_fields(part)
    return sightings.get_fields()


_EarlyRecord = tuple[Moment, Coordinates, str]
"""A record among the earliest, with the hash that identifies it or an empty text."""


def identify_document(record: Record, coordinates: Coordinates) -> str:
    """Identify a record by its bytes, so that the same record of a copied topic has the same hash.

    Values without a key and without a time are not identified: several documents may have equal bytes.
    """
    is_dated = coordinates.ts_ms is not None or coordinates.read_ms is not None
    return hash_record(record) if is_dated or record.key is not None else ""


@dataclass(slots=True)
class _KindCount:
    documents: int = 0
    early: list[_EarlyRecord] = field(default_factory=list)
    last: tuple[Moment, Coordinates] | None = None

    def add_early(self, records: Iterable[_EarlyRecord]) -> None:
        """Add records, each once: of several deliveries, the first one in time stays."""
        kept: list[_EarlyRecord] = []
        known: set[str] = set()
        for one in sorted([*self.early, *records]):
            if not one[2] or one[2] not in known:
                kept.append(one)
                known.add(one[2])
        self.early = kept[:EARLY]

    def add_last(self, last: tuple[Moment, Coordinates]) -> None:
        if self.last is None or self.last < last:
            self.last = last


@dataclass(slots=True)
class _ColumnCounts:
    """The counts of one column; `cut` is true after some paths were left out."""

    counts: dict[FieldKind, _KindCount] = field(default_factory=dict)
    cut: bool = False


class FieldCounter:
    """Counts the fields of records, one by one; memory grows with distinct paths, up to the bounds."""

    __slots__ = ("_columns", "_cut", "_documents", "_grown")

    def __init__(self) -> None:
        self._columns: dict[str, _ColumnCounts] = {}
        self._cut = False
        self._documents = 0
        self._grown: set[str] = set()

    def count_record(
        self, shown: Collection[FieldKind], coordinates: Coordinates, record: Record | None = None
    ) -> None:
        """Count one record with these fields; a record without any, as a delete, is no document."""
        self._documents += bool(shown)
        now = make_time_key(coordinates)
        hash: str | None = None
        for path, kind in shown:
            count = self._get_count(path, kind)
            count.documents += 1
            if len(count.early) < EARLY or now < count.early[-1][0]:
                if hash is None:
                    hash = "" if record is None else identify_document(record, coordinates)
                count.add_early([(now, coordinates, hash)])
            count.add_last((now, coordinates))
        if self._grown:
            self._drop_excess(slack=2)

    def add_fields(self, inferred: InferredFields) -> None:
        """Add the counts of other records."""
        self._documents += inferred.documents
        self._cut |= () in inferred.truncated_paths
        for count in inferred.counts:
            known = self._get_count(count.path, count.kind)
            known.documents += count.documents
            hashes = count.hashes or ("",) * len(count.early)
            known.add_early((make_time_key(m), m, hash) for m, hash in zip(count.early, hashes, strict=True))
            known.add_last((make_time_key(count.last), count.last))
        for path in inferred.truncated_paths:
            if path and path[0] in self._columns:
                self._columns[path[0]].cut = True
        self._drop_excess(slack=2)

    def get_fields(self) -> InferredFields:
        """Return all counts as a value."""
        self._drop_excess(slack=1)
        counts = [
            FieldCount(
                path,
                kind,
                count.documents,
                tuple(coordinates for _, coordinates, _ in count.early),
                count.last[1],
                _list_hashes(count.early),
            )
            for column in self._columns.values()
            for (path, kind), count in column.counts.items()
            if count.last is not None
        ]
        cut: list[Path] = [(name,) for name, column in self._columns.items() if column.cut]
        return InferredFields(
            self._documents,
            tuple(sorted(counts, key=lambda t: (t.path, t.kind))),
            tuple(sorted([*cut, *([()] if self._cut else [])])),
        )

    def _get_count(self, path: Path, kind: str) -> _KindCount:
        column = self._columns.get(path[0])
        if column is None:
            column = self._columns[path[0]] = _ColumnCounts()
        count = column.counts.get((path, kind))
        if count is None:
            count = column.counts[path, kind] = _KindCount()
            self._grown.add(path[0])
        return count

    def _drop_excess(self, slack: int) -> None:
        """Drop the paths beyond the bounds; `slack` saves the sort at every single record."""
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


def _list_hashes(early: Iterable[_EarlyRecord]) -> tuple[str, ...]:
    """List the hashes of records; none if nothing identifies any of them."""
    hashes = tuple(hash for _, _, hash in early)
    return hashes if any(hashes) else ()


def _rank_column(name: str) -> tuple[bool, bytes]:
    return (name != KEY, _hash_text(name))


def _rank_kind(shown: FieldKind) -> tuple[int, bytes]:
    """Rank parents before children; a hash ranks equals, the same in every process."""
    path, kind = shown
    return (len(path), _hash_text("\0\0".join((*path, kind))))


def _hash_text(text: str) -> bytes:
    data = text.encode(errors="surrogatepass")
    return hashlib.blake2b(data, digest_size=8).digest() + data


def name_elements(path: Path) -> Path:
    """Replace the step of array elements by `element`, as in paths of tables."""
    return tuple("element" if step == ELEMENT else step for step in path)


def infer_columns(
    names: tuple[str, ...],
    inferred: InferredFields,
    key: tuple[str, ...],
    read_name: Callable[[str], str] = str,
) -> tuple[Column, ...]:
    """Infer the columns of rows without a schema: their names, and the kinds of JSON values as types.

    `names` and `key` are field names of events; `read_name` returns the name at the source. Every column
    except those of the key is nullable, since JSON has no constraint.
    """
    kinds: dict[str, set[str]] = {}
    for count in inferred.counts:
        if len(count.path) == 1:
            kinds.setdefault(count.path[0], set()).add(count.kind)
    # Names that only other records of the run have come behind those of the first one.
    fields = dict.fromkeys((*names, *sorted(kinds)))
    return tuple(
        Column(read_name(n), infer_type(kinds.get(n, ())), n not in key, emitted_name=n) for n in fields
    )


def infer_type(kinds: Iterable[str]) -> Type:
    """Infer the type of a column from the kinds of its JSON values; nulls do not count."""
    types = {Unknown(kind) for kind in kinds if kind not in NULLS}
    return find_common_type(types) if types else NULL_ONLY


def merge_row_schemas(one: TableSchema, other: TableSchema) -> TableSchema:
    """Merge two schemas of rows with the same names; a type that only one of them has is kept."""
    columns = [replace(c, type=_merge_types(c.type, (other.column(c.name) or c).type)) for c in one.columns]
    return replace(one, columns=tuple(columns))


def hide_types(schema: TableSchema) -> TableSchema:
    """Remove the types of a row's schema, which nulls may hide, and sort its columns by name."""
    columns = sorted((replace(c, type=NULL_ONLY) for c in schema.columns), key=lambda c: c.name)
    return replace(schema, columns=tuple(columns))


def extract_content(observation: Observation) -> Observation:
    """Reduce an observation to its content, without coordinates, counts, and types that nulls may hide."""
    schema = observation.schema
    if observation.evidence == "inferred" and schema is not None:
        schema = hide_types(schema)
    return replace(
        observation, first=_NO_COORDINATES, last=_NO_COORDINATES, count=0, inferred=None, schema=schema
    )


_NO_COORDINATES = Coordinates("", 0, 0)


def _merge_types(one: Type, other: Type) -> Type:
    known = [t for t in (one, other) if t != NULL_ONLY]
    return find_common_type(known) if known else NULL_ONLY
