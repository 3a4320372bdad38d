"""What a table shows of its connector's settings: the forms of its fields, and where all of one form changed.

Law: a footprint is a function of the points alone; what other tables show decides about it (`epochs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import Footprint, FormChange, Shown
from schemaman.history.fold.confirmation import read_of
from schemaman.history.fold.encoding import NAMINGS, form_of, may_be_encoded, of_one_setting, release_of
from schemaman.history.fold.naming_epochs import originals, under_own_names
from schemaman.history.fold.timeline import Point
from schemaman.model.name_adjustment import Release, adjust_field
from schemaman.model.schema import TableSchema
from schemaman.model.types import Type

RAW, ESCAPED, ADJUSTED = NAMINGS


def footprint(points: Iterable[Point]) -> Footprint:
    """The footprint of a table whose structure only events tell; points in the order of the source."""
    walk = _Walk()
    for point in points:
        said = point.observation
        read_ms = read_of(point.mark)
        if said.evidence == "emitted" and said.schema is not None and read_ms is not None:
            walk.take(point.mark, said.schema, read_ms)
    return walk.result()


@dataclass(slots=True)
class _Changed:
    """A change of form while it is being looked at; `until_ms` grows while its columns keep the new form."""

    columns: tuple[str, ...]
    was: str
    now: str
    at: Coordinates
    since_ms: int
    after_ms: int
    at_ms: int
    until_ms: int | None = None


@dataclass(slots=True)
class _Walk:
    schema: TableSchema | None = None
    read_ms: int = 0
    began_ms: int = 0
    forms: frozenset[str] = frozenset()
    open: dict[str, tuple[int, int]] = field(default_factory=dict)
    shown: list[Shown] = field(default_factory=list)
    changes: list[_Changed] = field(default_factory=list)

    def take(self, mark: Coordinates, schema: TableSchema, read_ms: int) -> None:
        """Go on by one record."""
        if self.schema is None:
            self.began_ms = read_ms
        if self.schema is None or schema != self.schema:
            if self.schema is not None and read_ms >= self.read_ms:
                self.compare(mark, self.schema, schema, read_ms)
            self.schema, self.forms = schema, frozenset(_forms(schema))
        for form in [f for f in self.open if f not in self.forms]:
            self.shown.append(Shown(form, *self.open.pop(form)))
        for form in self.forms:
            first, last = self.open.get(form, (read_ms, read_ms))
            self.open[form] = (min(first, read_ms), max(last, read_ms))
        self.read_ms = max(self.read_ms, read_ms)

    def compare(self, mark: Coordinates, before: TableSchema, after: TableSchema, read_ms: int) -> None:
        """Two structures, one behind the other: which columns changed their form, and to which."""
        found: dict[tuple[str, str], list[str]] = {}
        for was, now, column in (*_types(before, after), *_names(before, after)):
            found.setdefault((was, now), []).append(column)
        for (was, now), columns in found.items():
            since = self.since({was, now})
            change = _Changed(tuple(columns), was, now, mark, since, self.read_ms, read_ms)
            self.changes.append(change)

    def since(self, forms: set[str]) -> int:
        """When the newest change from or to one of these forms was; it ends there."""
        former = [c for c in self.changes if forms & {c.was, c.now}]
        for one in former:
            one.until_ms = self.read_ms if one.until_ms is None else one.until_ms
        return former[-1].at_ms if former else self.began_ms

    def result(self) -> Footprint:
        """The footprint as it is at the end."""
        shown = [*self.shown, *(Shown(form, *interval) for form, interval in self.open.items())]
        changes = (
            FormChange(
                c.columns, c.was, c.now, c.at, c.since_ms, c.after_ms, c.at_ms, c.until_ms or self.read_ms
            )
            for c in self.changes
        )
        return Footprint(tuple(changes), tuple(sorted(shown, key=lambda s: (s.first_ms, s.form, s.last_ms))))


def _types(before: TableSchema, after: TableSchema) -> Iterator[tuple[str, str, str]]:
    known = {c.name: c.type for c in before.columns}
    both = [(known[c.name], c) for c in after.columns if c.name in known]
    others = [(was, c) for was, c in both if was is not c.type and was != c.type]
    if not others:
        return
    changed = {c.name for _, c in others}
    same = [c.type for _, c in both if c.name not in changed]
    for was, column in others:
        now, name = column.type, column.emitted_name or column.name
        if may_be_encoded(was, now, same) and form_of(was) != form_of(now):
            yield form_of(was) or "", form_of(now) or "", name


def _names(before: TableSchema, after: TableSchema) -> Iterator[tuple[str, str, str]]:
    if before.names == after.names:
        return
    own = under_own_names(before, after, vouched=True)
    for old, new in zip(own.columns, after.columns, strict=True):
        if old.name != new.name and _naming(old.name) != _naming(new.name):
            yield _naming(old.name), _naming(new.name), new.emitted_name or new.name


def _forms(schema: TableSchema) -> Iterator[str]:
    """The forms that only one setting writes."""
    yield from {form for type in {c.type for c in schema.columns} if (form := _form_of_one_setting(type))}
    namings = {_naming(c.emitted_name or c.name) for c in schema.columns}
    yield from namings & {RAW, ESCAPED}


@lru_cache(1 << 12)
def _form_of_one_setting(type: Type) -> str | None:
    form = form_of(type)
    return form if form is not None and of_one_setting(form) else None


@lru_cache(1 << 14)
def _naming(name: str) -> str:
    """How a name travels, as far as it shows: a name of letters alone looks like an adjusted one."""
    if adjust_field(name, "avro") != name:
        return RAW
    return ESCAPED if any(own != name for own in originals(name)) else ADJUSTED


_ONLY_REQUIRED: Release = (2, 5)
"""The first release of which it is known that it takes no index with nulls for a key."""

Told = tuple[TableSchema, int, Sequence[Point]]
"""A version as told: structure, incarnation, points."""


def made_required(versions: Sequence[Told]) -> Iterator[tuple[str, ...]]:
    """For each version, in order, the columns that are NOT NULL since they came into the key, and no more."""
    doubted: set[int | None] = set()
    before, life = None, 0
    for schema, number, points in versions:
        if number != life:
            doubted, before, life = set(), None, number
        required = {c.id: c.name for c in schema.columns if not c.nullable and c.name in schema.key}
        doubted = doubted & required.keys()
        if before is not None and _takes_nulls_for_a_key(points[0]):
            doubted |= required.keys() & {c.id for c in before.columns if c.nullable}
        before = schema
        yield tuple(required[id] for id in required if id in doubted)


def _takes_nulls_for_a_key(point: Point) -> bool:
    """Whether an index may have been taken for the key; a statement may say that it is a primary key."""
    said = point.observation
    old = said.connector == "mysql" and release_of(said.connector_version) < _ONLY_REQUIRED
    return old and "PRIMARY" not in (said.ddl or "").upper()
