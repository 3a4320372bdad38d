"""From what documents showed to the structures that are published: versions that only grow.

Laws: what is published is a function of what was seen, whatever the order; each version holds the one before
it; shapes that alternate for ever are as many versions as there are shapes at most.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.debezium.connector import find_connector
from schemaman.debezium.inference import (
    DOTTED,
    EARLY,
    ELEMENT,
    KEY,
    NULLS,
    Moment,
    make_time_key,
    merge_inferred_fields,
    name_elements,
)
from schemaman.debezium.observation import FieldCount, InferredFields, Observation
from schemaman.debezium.records import Coordinates
from schemaman.model.ddl import find_common_type, quote_name
from schemaman.model.schema import Column, Path, TableSchema
from schemaman.model.types import (
    Array,
    Binary,
    Boolean,
    Field,
    Floating,
    Integer,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Timestamp,
    Type,
    Unknown,
    Uuid,
)

MIN_DOCUMENTS = EARLY
"""The number of documents that must show a kind of value at a path before it is published. The first document
and the key need only one, because rows without their key are lost."""

SETTLING_RECORDS = 10
"""Records of a partition in which a version takes in what else is new: a release seldom shows all of its
fields in one document."""

MAX_VERSIONS = 64
"""The largest number of separate versions; the last one absorbs later fields, as field names may be data."""

DORMANT_RECORDS = 1_000
"""Records of a partition in which a field did not show, before it is called dormant."""

MAX_OBJECT_FIELDS = 100
"""The number of fields of one object above which the names count as data and the object as a map."""

_MAX_NAMES = 5
_TYPES: Mapping[str, Type] = {
    "double": Floating(64),
    "string": String(),
    "binData": Binary(),
    "uuid": Uuid(),
    "bool": Boolean(),
    "date": Timestamp(3, zoned=True),
    "int": Integer(32),
    "integer": Integer(32),
    "long": Integer(64),
    "decimal": Numeric(),
}
"""Source: BSON types; a date counts milliseconds, a decimal has a scale in each value."""


Remark = tuple[str, str, tuple[Coordinates, ...]]
"""Something to know about what was seen: a word for programs, a message, and where it shows."""


@dataclass(frozen=True, slots=True)
class PublishedSchema:
    """A structure that was published, and where it began: after the record at `after`, no later than `at`."""

    schema: TableSchema
    at: Coordinates
    after: Coordinates | None


PublishedObservation = tuple[Observation, Coordinates | None]
"""The observations of one schema, and the last record that was certainly before it."""


def publish_observations(
    observations: Sequence[Observation],
) -> tuple[tuple[PublishedObservation, ...], InferredFields]:
    """Combine the observations of one collection: one for each schema, and all inferred fields.

    A run counts for the schema that was valid at the beginning of the run.
    """
    inferred = _merge_partitions(observations)
    keyed = any(find_connector(o.connector).is_document_store for o in observations)
    versions = publish_schemas(inferred, keyed=keyed)
    starts = [make_time_key(version.at) for version in versions]
    counts: Counter[int] = Counter()
    for one in observations:
        counts[max(bisect_right(starts, make_time_key(one.first)) - 1, 0)] += one.count
    newest = max(observations, key=lambda o: make_time_key(o.last))
    ends = sorted({m for t in inferred.counts for m in (*t.early, t.last)} | {newest.last}, key=make_time_key)
    result: list[PublishedObservation] = []
    for index, version in enumerate(versions):
        end = starts[index + 1] if index + 1 < len(starts) else None
        last = max((m for m in ends if end is None or make_time_key(m) < end), key=make_time_key)
        observation = replace(newest, first=version.at, last=last, count=counts[index], schema=version.schema)
        result.append((replace(observation, inferred=None, snapshot=False, interrupted=False), version.after))
    return tuple(result), inferred


def _merge_partitions(observations: Iterable[Observation]) -> InferredFields:
    """Merge the inferred fields of all partitions; documents of a copied partition do not count again."""
    partitions: dict[tuple[str, int], list[InferredFields]] = {}
    for one in observations:
        if one.inferred is not None:
            partitions.setdefault((one.first.topic, one.first.partition), []).append(one.inferred)
    merged = [merge_inferred_fields(parts) for parts in partitions.values()]
    distinct = {
        tuple((t.path, t.kind, t.documents, t.hashes or t.early) for t in part.counts): part.documents
        for part in merged
    }
    return replace(merge_inferred_fields(merged), documents=sum(distinct.values()))


@dataclass(slots=True)
class _Node:
    """A path in documents: the kinds of value published there, and the nested paths."""

    kinds: dict[str, Moment] = field(default_factory=dict)
    fields: dict[str, _Node] = field(default_factory=dict)
    element: _Node | None = None

    def find_first_moment(self) -> Moment:
        return min(self.kinds.values())


def publish_schemas(inferred: InferredFields, *, keyed: bool = True) -> tuple[PublishedSchema, ...]:
    """Return the schemas that the inferred fields support, in the order of their beginnings.

    `keyed`: each document has an `_id`, whether or not it was seen.
    """
    tallies = resolve_paths(inferred.counts)
    if not tallies:
        return ()
    marks = sorted({m for t in inferred.counts for m in (*t.early, t.last)}, key=make_time_key)
    start = make_time_key(marks[0])
    keyed = keyed or any(t.path[0] == KEY for t in tallies)
    groups = _group_counts([t for t in tallies if _has_support(t, start)], start)
    result: list[PublishedSchema] = []
    growing = _GrowingSchema(keyed)
    for group in groups or [[]]:
        at = _find_ripe_record(group[0], start) if group else marks[0]
        schema = growing.add_counts(group)
        if not result or schema != result[-1].schema:
            first = min((make_time_key(t.early[0]) for t in group), default=start)
            after = max((m for m in marks if make_time_key(m) < first), key=make_time_key, default=None)
            if result and (after is None or make_time_key(after) < make_time_key(result[-1].at)):
                after = result[-1].at
            result.append(PublishedSchema(schema, at, after))
    return tuple(result)


def list_remarks(inferred: InferredFields, lasts: Mapping[tuple[str, int], int]) -> tuple[Remark, ...]:
    """What a person should know about it.

    `lasts` are the last offsets that were read of the table, by topic and partition.
    """
    tallies = resolve_paths(inferred.counts)
    if not tallies:
        return ()
    start = min(make_time_key(t.early[0]) for t in tallies)
    remarks: list[Remark] = []
    rare = [t for t in tallies if not _has_support(t, start) and t.kind not in NULLS]
    if rare:
        rare_paths = {t.path for t in rare}
        # a path inside of a rare value is rare, too
        outer = [t for t in rare if all(t.path[:n] not in rare_paths for n in range(1, len(t.path)))]
        words = [
            f"{_format_path(t.path)} as {t.kind} in {len(t.early)} of {inferred.documents}" for t in outer
        ]
        message = f"seen in too few documents to be published: {_format_words(words)}"
        remarks.append(("rarely-seen", message, (rare[0].early[0], rare[-1].last)))
    lasting: dict[Path, Coordinates] = {}
    for tally in tallies:
        if _has_support(tally, start):
            lasting[tally.path] = max(lasting.get(tally.path, tally.last), tally.last, key=make_time_key)
    dormant: set[Path] = set()
    for path, last in sorted(lasting.items(), key=lambda item: item[0]):
        absent = lasts.get((last.topic, last.partition), last.offset) - last.offset
        if absent >= DORMANT_RECORDS and not any(path[:n] in dormant for n in range(1, len(path))):
            dormant.add(path)
            where = f"{last.topic}[{last.partition}]"
            message = f"{_format_path(path)} is dormant: not in the last {absent} records of {where}"
            remarks.append(("field-dormant", message, (last,)))
    for path in inferred.truncated_paths:
        where = _format_path(path) if path else "the collection"
        message = f"{where} has more names than are kept: they look like data, and not all are counted"
        remarks.append(("too-many-names", message, ()))
    return tuple(remarks)


def _has_support(tally: FieldCount, start: Moment) -> bool:
    """Whether a kind of value has enough support to be published."""
    if tally.kind in NULLS:
        return False
    return len(tally.early) >= MIN_DOCUMENTS or tally.path[0] == KEY or make_time_key(tally.early[0]) == start


def _find_ripe_record(tally: FieldCount, start: Moment) -> Coordinates:
    """The record with which a kind of value had enough support: what is published never changes the past."""
    at_once = tally.path[0] == KEY or make_time_key(tally.early[0]) == start
    return tally.early[0] if at_once else tally.early[MIN_DOCUMENTS - 1]


def _group_counts(tallies: Iterable[FieldCount], start: Moment) -> list[list[FieldCount]]:
    """Group the fields that are published together: a version accepts fields until it has settled."""
    groups: list[list[FieldCount]] = []
    for tally in sorted(tallies, key=lambda t: (make_time_key(_find_ripe_record(t, start)), t.path, t.kind)):
        full = len(groups) == MAX_VERSIONS
        if groups and (
            full or _is_settling(_find_ripe_record(groups[-1][0], start), _find_ripe_record(tally, start))
        ):
            groups[-1].append(tally)
        else:
            groups.append([tally])
    return groups


def _is_settling(began: Coordinates, mark: Coordinates) -> bool:
    if (began.topic, began.partition) == (mark.topic, mark.partition):
        return mark.offset - began.offset < SETTLING_RECORDS
    # Offsets of two partitions do not compare: then only what is of one moment is published together.
    return make_time_key(began)[0] == make_time_key(mark)[0]


class _GrowingSchema:
    """A structure that grows; everything may be missing in the next document, but the key."""

    def __init__(self, keyed: bool) -> None:
        self.is_keyed = keyed
        self.root = _Node()
        self.columns: dict[str, Column] = {}

    def add_counts(self, tallies: Iterable[FieldCount]) -> TableSchema:
        """The structure with these in it, too."""
        for name in {self.add_count(tally) for tally in tallies}:
            node = self.root.fields[name]
            if node.kinds:
                self.columns[name] = Column(name, _make_type(node), name != KEY, emitted_name=name)
        nodes = self.root.fields
        names = sorted(self.columns, key=lambda n: (n != KEY, nodes[n].find_first_moment(), n))
        columns = [self.columns[name] for name in names]
        if self.is_keyed and KEY not in self.columns:
            columns.insert(0, Column(KEY, Unknown("bson:unknown"), nullable=False, emitted_name=KEY))
        return TableSchema(tuple(columns), (KEY,) if self.is_keyed else ())

    def add_count(self, tally: FieldCount) -> str:
        """Add a kind of value at its path; return the name of its column."""
        node = self.root
        for step in tally.path:
            if step == ELEMENT:
                node.element = node.element or _Node()
                node = node.element
            else:
                node = node.fields.setdefault(step, _Node())
        first = make_time_key(tally.early[0])
        node.kinds[tally.kind] = min(first, node.kinds.get(tally.kind, first))
        return tally.path[0]


def _make_type(node: _Node) -> Type:
    types: list[Type] = []
    for kind in node.kinds:
        match kind:
            case "integer" if {"int", "long"} & node.kinds.keys():
                continue
            case "object":
                types.append(_make_object_type(node))
            case "array":
                inner = node.element
                types.append(Array(_make_type(inner) if inner and inner.kinds else Unknown("bson:unknown")))
            case _:
                source_type = kind if kind.startswith("json:") else f"bson:{kind}"
                types.append(_TYPES.get(kind) or Unknown(source_type))
    return find_common_type(types) if types else Unknown("bson:unknown")


def _make_object_type(node: _Node) -> Type:
    """An object as struct; as map if its names are too many to be names; as JSON if nothing is known."""
    fields = {name: inner for name, inner in node.fields.items() if inner.kinds}
    if not fields:
        return Json()
    if len(fields) > MAX_OBJECT_FIELDS:
        return Map(String(), find_common_type(_make_type(inner) for inner in fields.values()))
    names = sorted(fields, key=lambda n: (fields[n].find_first_moment(), n))
    return Struct(tuple(Field(n, _make_type(fields[n])) for n in names))


def resolve_paths(tallies: Iterable[FieldCount]) -> list[FieldCount]:
    """Return the field counts with dotted paths resolved, as far as whole documents prove the path."""
    whole: dict[Path, dict[str, Moment]] = {}
    by_path: dict[tuple[Path, str], FieldCount] = {}
    dotted: list[FieldCount] = []
    for tally in tallies:
        if DOTTED in tally.path:
            dotted.append(tally)
        else:
            whole.setdefault(tally.path, {})[tally.kind] = make_time_key(tally.early[0])
            by_path[tally.path, tally.kind] = tally
    for tally in dotted:
        # what documents show later changes nothing of what was understood
        known = _DocumentPaths(whole, make_time_key(tally.early[-1]))
        path = _resolve_path(tally.path, known)
        if path is None:
            continue
        by_path[path, tally.kind] = _merge_counts(path, tally, by_path.get((path, tally.kind)))
    return [by_path[key] for key in sorted(by_path)]


@dataclass(frozen=True, slots=True)
class _DocumentPaths:
    """What whole documents had shown until a moment."""

    places: Mapping[Path, Mapping[str, Moment]]
    until: Moment

    def list_kinds(self, path: Path) -> frozenset[str]:
        return frozenset(kind for kind, at in self.places.get(path, {}).items() if at <= self.until)


def _resolve_path(path: Path, known: _DocumentPaths) -> Path | None:
    """Resolve a path with dots, along objects and arrays that documents have shown."""
    at = path.index(DOTTED)
    rest = path[at + 1 :]
    if known.list_kinds((".".join((path[0], *rest)),)):
        return None
    found: Path = path[:at]
    for index, step in enumerate(rest):
        if step == ELEMENT:
            return (*found, *rest[index:])
        kinds = known.list_kinds(found)
        if step == "0" and "object" not in kinds and "array" in kinds:
            found = (*found, ELEMENT)
        elif step != "0" and "array" not in kinds and "object" in kinds:
            found = (*found, step)
        else:
            return None
    return found


def _merge_counts(path: Path, tally: FieldCount, known: FieldCount | None) -> FieldCount:
    if known is None:
        return FieldCount(path, tally.kind, tally.documents, tally.early, tally.last)
    early = sorted({*known.early, *tally.early}, key=make_time_key)[:EARLY]
    last = max(known.last, tally.last, key=make_time_key)
    return FieldCount(path, tally.kind, known.documents + tally.documents, tuple(early), last)


def _format_path(path: Path) -> str:
    return ".".join(quote_name(step) if "." in step or not step else step for step in name_elements(path))


def _format_words(words: list[str]) -> str:
    more = len(words) - _MAX_NAMES
    return ", ".join(words[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
