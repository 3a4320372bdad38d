"""From what documents showed to the structures that are published: versions that only grow.

Laws: what is published is a function of what was seen, whatever the order; each version holds the one before
it; shapes that alternate for ever are as many versions as there are shapes at most.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.debezium.inference import (
    DOCUMENTS,
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

SUPPORT = EARLY
"""Documents that must show a kind of value in a place before it is published; the first document needs none,
nor does the key, since rows that do not find their key are lost."""

SETTLING = 10
"""Records of a partition in which a version takes in what else is new: a release seldom shows all of its
fields in one document."""

VERSIONS = 64
"""Versions that are told one by one; the last one takes in whatever else comes, as names that are data do."""

DORMANT = 1_000
"""Records of a partition in which a field did not show, before it is called dormant."""

MEMBERS = 100
"""Members of one object, above which their names are taken for data and the object for a map."""

_NAMED = 5
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
class Published:
    """A structure that was published, and where it began: after the record at `after`, no later than `at`."""

    schema: TableSchema
    at: Coordinates
    after: Coordinates | None


Told = tuple[Observation, Coordinates | None]
"""What is told of one structure, and the last record that was surely before it."""


def published_observations(observations: Sequence[Observation]) -> tuple[tuple[Told, ...], InferredFields]:
    """What observations of one collection tell together: one for each structure, and all that was seen.

    A run counts for the structure that stood where the run began.
    """
    seen = merge_inferred_fields(o.inferred for o in observations if o.inferred is not None)
    versions = published(seen, keyed=any(o.connector == DOCUMENTS for o in observations))
    starts = [make_time_key(version.at) for version in versions]
    counts: Counter[int] = Counter()
    for one in observations:
        counts[max(bisect_right(starts, make_time_key(one.first)) - 1, 0)] += one.count
    newest = max(observations, key=lambda o: make_time_key(o.last))
    ends = sorted({m for t in seen.counts for m in (*t.early, t.last)} | {newest.last}, key=make_time_key)
    result: list[Told] = []
    for place, version in enumerate(versions):
        end = starts[place + 1] if place + 1 < len(starts) else None
        last = max((m for m in ends if end is None or make_time_key(m) < end), key=make_time_key)
        told = replace(newest, first=version.at, last=last, count=counts[place], schema=version.schema)
        result.append((replace(told, inferred=None, snapshot=False, interrupted=False), version.after))
    return tuple(result), seen


@dataclass(slots=True)
class _Node:
    """A place of documents: the kinds of value published there, and what lies inside."""

    kinds: dict[str, Moment] = field(default_factory=dict)
    members: dict[str, _Node] = field(default_factory=dict)
    element: _Node | None = None

    def first(self) -> Moment:
        return min(self.kinds.values())


def published(seen: InferredFields, *, keyed: bool = True) -> tuple[Published, ...]:
    """The structures that what was seen supports, in the order in which they began; none for nothing.

    `keyed`: each document has an `_id`, whether or not it was seen.
    """
    tallies = placed(seen.counts)
    if not tallies:
        return ()
    marks = sorted({m for t in seen.counts for m in (*t.early, t.last)}, key=make_time_key)
    start = make_time_key(marks[0])
    keyed = keyed or any(t.path[0] == KEY for t in tallies)
    groups = _groups([t for t in tallies if _counts(t, start)], start)
    result: list[Published] = []
    growing = _Growing(keyed)
    for group in groups or [[]]:
        at = _ripe(group[0], start) if group else marks[0]
        schema = growing.by(group)
        if not result or schema != result[-1].schema:
            first = min((make_time_key(t.early[0]) for t in group), default=start)
            after = max((m for m in marks if make_time_key(m) < first), key=make_time_key, default=None)
            if result and (after is None or make_time_key(after) < make_time_key(result[-1].at)):
                after = result[-1].at
            result.append(Published(schema, at, after))
    return tuple(result)


def remarks(seen: InferredFields, lasts: Mapping[tuple[str, int], int]) -> tuple[Remark, ...]:
    """What a person should know about it.

    `lasts` are the last offsets that were read of the table, by topic and partition.
    """
    tallies = placed(seen.counts)
    if not tallies:
        return ()
    start = min(make_time_key(t.early[0]) for t in tallies)
    told: list[Remark] = []
    rare = [t for t in tallies if not _counts(t, start) and t.kind not in NULLS]
    if rare:
        places = {t.path for t in rare}
        # what lies inside of something rare is rare with it
        outer = [t for t in rare if all(t.path[:n] not in places for n in range(1, len(t.path)))]
        words = [f"{_spelled(t.path)} as {t.kind} in {t.documents} of {seen.documents}" for t in outer]
        message = f"seen in too few documents to be published: {_some(words)}"
        told.append(("rarely-seen", message, (rare[0].early[0], rare[-1].last)))
    lasting: dict[Path, Coordinates] = {}
    for tally in tallies:
        if _counts(tally, start):
            lasting[tally.path] = max(lasting.get(tally.path, tally.last), tally.last, key=make_time_key)
    dormant: set[Path] = set()
    for path, last in sorted(lasting.items(), key=lambda item: item[0]):
        gone = lasts.get((last.topic, last.partition), last.offset) - last.offset
        if gone >= DORMANT and not any(path[:n] in dormant for n in range(1, len(path))):
            dormant.add(path)
            where = f"{last.topic}[{last.partition}]"
            message = f"{_spelled(path)} is dormant: not in the last {gone} records of {where}"
            told.append(("field-dormant", message, (last,)))
    for path in seen.truncated_paths:
        where = _spelled(path) if path else "the collection"
        message = f"{where} has more names than are kept: they look like data, and not all are counted"
        told.append(("too-many-names", message, ()))
    return tuple(told)


def _counts(tally: FieldCount, start: Moment) -> bool:
    """Whether a kind of value has enough support to be published."""
    if tally.kind in NULLS:
        return False
    return tally.documents >= SUPPORT or tally.path[0] == KEY or make_time_key(tally.early[0]) == start


def _ripe(tally: FieldCount, start: Moment) -> Coordinates:
    """The record with which a kind of value had enough support: what is published never changes the past."""
    at_once = tally.path[0] == KEY or make_time_key(tally.early[0]) == start
    return tally.early[0] if at_once else tally.early[SUPPORT - 1]


def _groups(tallies: Iterable[FieldCount], start: Moment) -> list[list[FieldCount]]:
    """What is published together: a version that has begun takes in what is ripe until it has settled."""
    groups: list[list[FieldCount]] = []
    for tally in sorted(tallies, key=lambda t: (make_time_key(_ripe(t, start)), t.path, t.kind)):
        full = len(groups) == VERSIONS
        if groups and (full or _settling(_ripe(groups[-1][0], start), _ripe(tally, start))):
            groups[-1].append(tally)
        else:
            groups.append([tally])
    return groups


def _settling(began: Coordinates, mark: Coordinates) -> bool:
    if (began.topic, began.partition) == (mark.topic, mark.partition):
        return mark.offset - began.offset < SETTLING
    # Offsets of two partitions do not compare: then only what is of one moment is published together.
    return make_time_key(began)[0] == make_time_key(mark)[0]


class _Growing:
    """A structure that grows; everything may be missing in the next document, but the key."""

    def __init__(self, keyed: bool) -> None:
        self.keyed = keyed
        self.root = _Node()
        self.columns: dict[str, Column] = {}

    def by(self, tallies: Iterable[FieldCount]) -> TableSchema:
        """The structure with these in it, too."""
        for name in {self.add(tally) for tally in tallies}:
            node = self.root.members[name]
            if node.kinds:
                self.columns[name] = Column(name, _type(node), name != KEY, emitted_name=name)
        members = self.root.members
        names = sorted(self.columns, key=lambda n: (n != KEY, members[n].first(), n))
        columns = [self.columns[name] for name in names]
        if self.keyed and KEY not in self.columns:
            columns.insert(0, Column(KEY, Unknown("bson:unknown"), nullable=False, emitted_name=KEY))
        return TableSchema(tuple(columns), (KEY,) if self.keyed else ())

    def add(self, tally: FieldCount) -> str:
        """Put a kind of value in its place; the name of its column."""
        node = self.root
        for step in tally.path:
            if step == ELEMENT:
                node.element = node.element or _Node()
                node = node.element
            else:
                node = node.members.setdefault(step, _Node())
        first = make_time_key(tally.early[0])
        node.kinds[tally.kind] = min(first, node.kinds.get(tally.kind, first))
        return tally.path[0]


def _type(node: _Node) -> Type:
    types: list[Type] = []
    for kind in node.kinds:
        match kind:
            case "integer" if {"int", "long"} & node.kinds.keys():
                continue
            case "object":
                types.append(_object(node))
            case "array":
                inner = node.element
                types.append(Array(_type(inner) if inner and inner.kinds else Unknown("bson:unknown")))
            case _:
                told = kind if kind.startswith("json:") else f"bson:{kind}"
                types.append(_TYPES.get(kind) or Unknown(told))
    return find_common_type(types) if types else Unknown("bson:unknown")


def _object(node: _Node) -> Type:
    """An object as struct; as map if its names are too many to be names; as JSON if nothing is known."""
    members = {name: inner for name, inner in node.members.items() if inner.kinds}
    if not members:
        return Json()
    if len(members) > MEMBERS:
        return Map(String(), find_common_type(_type(inner) for inner in members.values()))
    names = sorted(members, key=lambda n: (members[n].first(), n))
    return Struct(tuple(Field(n, _type(members[n])) for n in names))


def placed(tallies: Iterable[FieldCount]) -> list[FieldCount]:
    """The tallies with dotted paths where they belong, as far as whole documents tell that beyond doubt."""
    whole: dict[Path, dict[str, Moment]] = {}
    told: dict[tuple[Path, str], FieldCount] = {}
    dotted: list[FieldCount] = []
    for tally in tallies:
        if DOTTED in tally.path:
            dotted.append(tally)
        else:
            whole.setdefault(tally.path, {})[tally.kind] = make_time_key(tally.early[0])
            told[tally.path, tally.kind] = tally
    for tally in dotted:
        # what documents show later changes nothing of what was understood
        known = _Whole(whole, make_time_key(tally.early[-1]))
        path = _resolved(tally.path, known)
        if path is None:
            continue
        told[path, tally.kind] = _together(path, tally, told.get((path, tally.kind)))
    return [told[key] for key in sorted(told)]


@dataclass(frozen=True, slots=True)
class _Whole:
    """What whole documents had shown until a moment."""

    places: Mapping[Path, Mapping[str, Moment]]
    until: Moment

    def kinds(self, path: Path) -> frozenset[str]:
        return frozenset(kind for kind, at in self.places.get(path, {}).items() if at <= self.until)


def _resolved(path: Path, known: _Whole) -> Path | None:
    """The place that a path with dots means: along objects and arrays that documents have shown."""
    at = path.index(DOTTED)
    rest = path[at + 1 :]
    if known.kinds((".".join((path[0], *rest)),)):
        return None
    found: Path = path[:at]
    for place, step in enumerate(rest):
        if step == ELEMENT:
            return (*found, *rest[place:])
        kinds = known.kinds(found)
        if step == "0" and "object" not in kinds and "array" in kinds:
            found = (*found, ELEMENT)
        elif step != "0" and "array" not in kinds and "object" in kinds:
            found = (*found, step)
        else:
            return None
    return found


def _together(path: Path, tally: FieldCount, known: FieldCount | None) -> FieldCount:
    if known is None:
        return FieldCount(path, tally.kind, tally.documents, tally.early, tally.last)
    early = sorted({*known.early, *tally.early}, key=make_time_key)[:EARLY]
    last = max(known.last, tally.last, key=make_time_key)
    return FieldCount(path, tally.kind, known.documents + tally.documents, tuple(early), last)


def _spelled(path: Path) -> str:
    return ".".join(quote_name(step) if "." in step or not step else step for step in name_elements(path))


def _some(words: list[str]) -> str:
    more = len(words) - _NAMED
    return ", ".join(words[:_NAMED]) + (f" and {more} more" if more > 0 else "")
