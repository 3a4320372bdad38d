"""Facts about steps of a table that no structure shows: truncations, releases, encodings, topics, remarks.

An occurrence is such a fact with its own record: it may lie between two structures. Other facts belong to the
step to a version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, takewhile, zip_longest
from typing import Literal

from schemaman.debezium.connector import find_connector
from schemaman.debezium.records import Coordinates
from schemaman.errors import SchemamanError
from schemaman.history.epochs import Epoch
from schemaman.history.fold.naming_epochs import MODES, is_emitted_as
from schemaman.history.fold.timeline import find_time
from schemaman.history.versions import Alias, Disagreement, KeySpan, SchemaVersion, TableHistory
from schemaman.model.ddl import parse_type
from schemaman.model.name_adjustment import adjust_field
from schemaman.model.types import (
    Array,
    Binary,
    Date,
    Decimal,
    Floating,
    Interval,
    Json,
    Map,
    Numeric,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
)

FactKind = Literal[
    "created", "truncated", "release", "encoding", "time-encoding", "decimal-encoding", "binary-encoding",
    "interval-encoding", "map-encoding", "geometry-encoding", "field-names", "topic", "record-name",
    "event-key",
    "key-origin", "key-index-dropped", "key-outside-row", "field-lost", "excluded", "not-streamed", "dormant",
    "many-names", "nullability-differs", "made-anew", "swapped", "dropped-earlier", "documents",
    "no-avro-default", "not-renamed", "held-back", "null-default-removed",
]  # fmt: skip
"""What a step may show beside its two structures; `list_occurrences` and
`find_version_facts` find them."""


@dataclass(frozen=True, slots=True)
class StepFact:
    """A fact about a step that its two structures do not show, and the columns that it concerns.

    `before` and `after` are words of its kind: releases, types, topics, keys. `scope` names what has the fact
    in common if it concerns more than one table: the connector of a server.
    """

    kind: FactKind
    before: str = ""
    after: str = ""
    columns: tuple[str, ...] = ()
    scope: str = ""


Moment = tuple[int, str, int, int]
"""Time, topic, partition and offset of a record: the order of records."""

_SENT_AS = re.compile(r"(?P<column>.*) is sent as (?P<now>.*), no longer as (?P<was>.*)", re.DOTALL)
_KEY_ONLY = re.compile(r"only the key carries (.*): left out of the row", re.DOTALL)
_NOT_EMITTED = re.compile(r"no event carries the declared (.*)", re.DOTALL)
_ESCAPED = re.compile(r"_u[0-9a-f]{3,4}")

_ABOUT_COLUMNS: Mapping[str, tuple[FactKind, re.Pattern[str]]] = {
    "perhaps-made-anew": ("made-anew", re.compile("()")),
    "perhaps-swapped": ("swapped", re.compile(r"(.*) are in other positions than before", re.DOTALL)),
    "perhaps-excluded": ("excluded", re.compile(r"(.*) is in its old position again", re.DOTALL)),
    "column-not-streamed": ("not-streamed", re.compile(r"(.*) was read from the table", re.DOTALL)),
    "column-not-emitted": ("field-lost", _NOT_EMITTED),
    "nullability-differs": ("nullability-differs", re.compile(r"(.*) is declared ", re.DOTALL)),
    "too-many-names": ("many-names", re.compile(r"(.*) has more names", re.DOTALL)),
}
"""The remarks that belong to the step to their version, and where they name the columns."""


_STATES: frozenset[FactKind] = frozenset({"field-lost", "nullability-differs", "many-names"})
"""The facts that last: the step to the first version with them tells of them."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Facts that one record shows, at its coordinates."""

    at: Coordinates
    facts: tuple[StepFact, ...]


def make_moment(mark: Coordinates) -> Moment:
    """Return the place of a record in the order of records."""
    return (find_time(mark), mark.topic, mark.partition, mark.offset)


def list_occurrences(history: TableHistory) -> tuple[Occurrence, ...]:
    """List what happened to a table and shows in no structure, in the order of its records."""
    found: dict[Moment, tuple[Coordinates, list[StepFact]]] = {}
    for mark, fact in _list_dated_facts(history):
        _, facts = found.setdefault(make_moment(mark), (mark, []))
        # another form of names shows in fields, in the topic and in the name of the schema at once
        if fact.kind != "field-names" or all(other.kind != "field-names" for other in facts):
            facts.append(fact)
    return tuple(Occurrence(mark, tuple(facts)) for _, (mark, facts) in sorted(found.items()))


def count_occurrences(history: TableHistory, version: SchemaVersion, revision: int) -> int:
    """Count the occurrences up to the end of a revision of a version: those that its snapshot accepts."""
    versions = takewhile(lambda v: v.number >= version.number, reversed(history.versions))
    structures = ((v.number, r.number, r.at) for v in versions for r in v.revisions)
    later = [make_moment(at) for *number, at in structures if number > [version.number, revision]]
    occurrences = list_occurrences(history)
    if not later:
        return len(occurrences)
    return sum(make_moment(one.at) < min(later) for one in occurrences)


def find_version_facts(history: TableHistory) -> Mapping[int, tuple[StepFact, ...]]:
    """Find the facts about the step to each version, by its number: remarks, answers and former names."""
    remarks = _find_remark_facts(history)
    found: dict[int, tuple[StepFact, ...]] = {}
    seen: set[str] = set()
    previous: SchemaVersion | None = None
    for version in history.versions:
        if previous is None or previous.incarnation != version.incarnation:
            seen, previous = set(), None
        last = set(previous.schema.names) if previous is not None else seen
        facts = list(remarks.get(version.number, ()))
        if back := tuple(n for n in version.revisions[0].schema.names if n in seen and n not in last):
            facts.append(StepFact("dropped-earlier", columns=back))
        if find_connector(history.connector).is_document_store:
            facts.append(StepFact("documents"))
        facts += (
            StepFact("not-renamed", ".".join(answer.old), ".".join(answer.new))
            for answer in version.field_answers
            if not answer.same
        )
        found[version.number] = tuple(facts)
        seen.update(name for revision in version.revisions for name in revision.schema.names)
        previous = version
    return found


def _find_remark_facts(history: TableHistory) -> Mapping[int, list[StepFact]]:
    """Find the facts that remarks state, by the number of the version; each column once of each kind."""
    names = _list_names(history)
    found: dict[int, list[StepFact]] = {}
    known: dict[FactKind, set[str]] = {}
    remarks = [r for r in history.disagreements if r.kind in _ABOUT_COLUMNS and r.versions]
    for remark in sorted(remarks, key=lambda r: r.versions[0]):
        kind, pattern = _ABOUT_COLUMNS[remark.kind]
        columns = _read_columns(names, pattern, remark)
        number = remark.versions[0]
        if kind == "excluded":
            # the column came back later, so that its drop may have been none
            for dropped in _list_drops(history, columns, number):
                found.setdefault(dropped, []).append(StepFact(kind, columns=columns))
        elif kind in _STATES and columns:
            columns = tuple(c for c in columns if c not in known.get(kind, ()))
            known.setdefault(kind, set()).update(columns)
            if not columns:
                continue
        found.setdefault(number, []).append(StepFact(kind, columns=columns))
    return found


def _list_drops(history: TableHistory, columns: tuple[str, ...], until: int) -> list[int]:
    """List the versions before one whose step dropped one of the columns."""
    pairs = pairwise(v for v in history.versions if v.number <= until)
    return [v.number for before, v in pairs if {*columns} & ({*before.schema.names} - {*v.schema.names})]


def _list_names(history: TableHistory) -> frozenset[str]:
    return frozenset(n for v in history.versions for r in v.revisions for n in r.schema.names)


def _read_columns(names: Collection[str], pattern: re.Pattern[str], remark: Disagreement) -> tuple[str, ...]:
    """Read the columns that a remark names, as far as versions have them; a path of documents as it is."""
    match = pattern.match(remark.message)
    words = match.group(1).split(", ") if match else []
    return tuple(word for word in words if word in names or remark.kind == "too-many-names")


def _list_dated_facts(history: TableHistory) -> Iterator[tuple[Coordinates, StepFact]]:
    scope = f"{history.table.stream}:{history.table.server}"
    yield from ((e.at, StepFact("truncated")) for e in history.events if e.kind == "truncated")
    # a store decodes versions when they are asked for, and most epochs change no encoding
    versions = history.versions if any(epoch.changes for epoch in history.epochs[1:]) else ()
    names = {c.emitted_name or c.name for v in versions for r in v.revisions for c in r.schema.columns}
    for before, epoch in pairwise(history.epochs):
        yield from ((epoch.at, fact) for fact in _list_epoch_facts(before, epoch, names, scope))
    yield from _list_name_facts("topic", "topic", history.aliases, scope)
    yield from _list_name_facts("record-name", "schema_name", history.aliases, scope)
    yield from _list_key_facts(history.keys)
    for remark in history.disagreements:
        if remark.kind == "key-index-dropped" and remark.coordinates:
            yield remark.coordinates[0], StepFact("key-index-dropped", columns=history.latest.schema.key)
        if (
            remark.kind == "column-excluded"
            and remark.coordinates
            and remark.coordinates[0] != history.versions[0].at
        ):
            columns = _read_columns(_list_names(history), _KEY_ONLY, remark)
            yield remark.coordinates[0], StepFact("key-outside-row", columns=columns)
        if remark.kind == "field-dormant" and remark.coordinates:
            path = remark.message.partition(" is dormant")[0]
            yield remark.coordinates[0], StepFact("dormant", columns=(path,))


def _list_epoch_facts(before: Epoch, epoch: Epoch, names: Iterable[str], scope: str) -> Iterator[StepFact]:
    releases = [f"{e.connector} {e.connector_version}" for e in (before, epoch)]
    if releases[0] != releases[1]:
        yield StepFact("release", releases[0], releases[1], scope=scope)
    columns: dict[tuple[FactKind, str, str], list[str]] = {}
    renamed: list[tuple[str, str, str]] = []
    for text in epoch.changes:
        match = _SENT_AS.fullmatch(text)
        if match is None:
            continue
        column, was, now = match["column"], match["was"], match["now"]
        if was in names or now in names:
            renamed.append((column, was, now))
            continue
        columns.setdefault(_classify_encoding(was, now), []).append(column)
    if renamed:
        forms = [
            max(map(_classify_name, found)) for found in zip(*((w, n) for _, w, n in renamed), strict=True)
        ]
        yield StepFact(
            "field-names",
            _NAME_FORMS[forms[0]],
            _NAME_FORMS[forms[1]],
            columns=tuple(c for c, _, _ in renamed),
            scope=scope,
        )
    for (kind, was, now), found in columns.items():
        yield StepFact(kind, was, now, tuple(found), scope)


_NAME_FORMS = ("adjusted names", "escaped names", "names as they are")


def _classify_name(name: str) -> int:
    """Return the form of a field name, as an index of the forms: letters alone may be any form."""
    if adjust_field(name, "avro") != name:
        return 2
    return 1 if _ESCAPED.search(name) else 0


def _classify_encoding(was: str, now: str) -> tuple[FactKind, str, str]:
    """Return which setting gives a type another form, and both forms in words that all its columns share."""
    try:
        types = (parse_type(was), parse_type(now))
    except SchemamanError:
        return "encoding", was, now
    while isinstance(types[0], Array) and isinstance(types[1], Array):
        types = (types[0].element, types[1].element)
    old, new = types
    for kind, kinds, describe in _ENCODINGS:
        if isinstance(old, kinds) or isinstance(new, kinds):
            return kind, *describe(old, new)
    return "encoding", was, now


def _compare_times(was: Type, now: Type) -> tuple[str, str]:
    if isinstance(was, Time | Timestamp) and isinstance(now, Time | Timestamp):
        finer = now.precision > was.precision
        return ("coarser units", "finer units") if finer else ("finer units", "coarser units")
    return ("numbers", "texts") if isinstance(now, String) else ("texts", "numbers")


def _describe_modes(words: Mapping[type[Type], str], other: str, was: Type, now: Type) -> tuple[str, str]:
    return words.get(type(was), other), words.get(type(now), other)


_ENCODINGS: tuple[tuple[FactKind, tuple[type[Type], ...], Callable[[Type, Type], tuple[str, str]]], ...] = (
    ("time-encoding", (Time, Timestamp, Date), _compare_times),
    (
        "decimal-encoding",
        (Decimal, Numeric, Floating),
        partial(_describe_modes, {Decimal: "precise", Numeric: "precise", Floating: "double"}, "string"),
    ),
    ("binary-encoding", (Binary,), partial(_describe_modes, {Binary: "bytes"}, "texts")),
    ("interval-encoding", (Interval,), partial(_describe_modes, {Interval: "numbers"}, "texts")),
    ("map-encoding", (Map, Json), partial(_describe_modes, {Map: "maps"}, "JSON texts")),
    ("geometry-encoding", (Struct,), lambda was, now: ("one form of structs", "another form of structs")),
)
"""The settings that give types another form: the types, and both forms in words that columns share."""


def _list_name_facts(
    kind: FactKind, named: str, aliases: Iterable[Alias], scope: str
) -> Iterator[tuple[Coordinates, StepFact]]:
    """List the names that took the place of another one: a topic, or the name of the schema of records."""
    alike = [a for a in aliases if a.kind == named]
    for before in alike:
        after = next((a for a in alike if a.first is not None and a.first == before.until), None)
        if after is not None and after.first is not None:
            was, now, shared = _cut_common_end(before.name, after.name)
            if _has_other_form(before.name, after.name):
                old, new = (
                    _NAME_FORMS[max(_classify_name(f"x{part}") for part in n.split("."))] for n in (was, now)
                )
                yield after.first, StepFact("field-names", old, new, scope=scope)
            else:
                yield after.first, StepFact(kind, was, now, scope=scope if shared else "")


def _has_other_form(was: str, now: str) -> bool:
    """Return whether two dotted names are one name in two forms, as modes of adjustment write it."""
    parts = list(zip_longest(was.split("."), now.split("."), fillvalue=""))
    return all(old == new or _is_other_form(old, new) or _is_other_form(new, old) for old, new in parts)


def _is_other_form(name: str, emitted: str) -> bool:
    """Return whether a part of a name is another one in some mode; a part may begin with a digit."""
    return any(is_emitted_as(f"x{name}", f"x{emitted}", mode, misreading=True) for mode in MODES)


def _cut_common_end(was: str, now: str) -> tuple[str, str, bool]:
    """Cut the last parts that two dotted names share, so that the tables of one prefix have one change."""
    old, new = was.split("."), now.split(".")
    shared = 0
    for one, other in zip_longest(reversed(old[1:]), reversed(new[1:])):
        if one != other:
            break
        shared += 1
    end = -shared or None
    return ".".join(old[:end]), ".".join(new[:end]), shared > 0


def _list_key_facts(spans: Iterable[KeySpan]) -> Iterator[tuple[Coordinates, StepFact]]:
    """List where events took or lost a key of their own, and where a key got another origin."""
    spans = tuple(spans)
    for span in spans:
        if span.evidence != "events" or span.after is None:
            continue
        declared = next(
            (s for s in reversed(spans) if s.evidence == "declared" and _began_by(s, span.at)), None
        )
        own = _format_key(span.columns)
        other = _format_key(declared.columns) if declared is not None else ""
        yield span.at, StepFact("event-key", other, own, span.columns)
        if span.until is not None:
            yield span.until, StepFact("event-key", own, other, span.columns)
    tables = [s for s in spans if s.evidence != "events"]
    for before, after in pairwise(tables):
        known = {*before.origins, *after.origins} - {"none", "unknown"}
        if before.columns == after.columns and known and not {*before.origins} & {*after.origins}:
            was, now = (" or ".join(s.origins).replace("-", " ") for s in (before, after))
            yield after.at, StepFact("key-origin", was, now, after.columns)


def _began_by(span: KeySpan, mark: Coordinates) -> bool:
    return make_moment(span.at) <= make_moment(mark)


def _format_key(columns: tuple[str, ...]) -> str:
    return f"({', '.join(columns)})"
