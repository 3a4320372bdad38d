"""What a table shows of its connector's settings: the forms of its fields, and where all of one form changed.

Law: a footprint is a function of the points alone; what other tables show decides about it (`epochs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from schemaman.debezium.connector import find_connector
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import ConnectorSettingsShown, FormChange, FormInterval
from schemaman.history.fold.confirmation import find_read_time
from schemaman.history.fold.encoding import (
    NAMING_FORMS,
    find_form,
    is_encoding_change,
    is_of_one_setting,
    is_own_double,
    parse_release,
)
from schemaman.history.fold.naming_epochs import list_originals, restore_own_names
from schemaman.history.fold.timeline import Point
from schemaman.model.name_adjustment import adjust_field
from schemaman.model.schema import KEPT_SCHEMAS, TableSchema
from schemaman.model.types import Type

RAW, ESCAPED, ADJUSTED = NAMING_FORMS


def find_shown_settings(points: Iterable[Point]) -> ConnectorSettingsShown:
    """Find the connector settings that the events of a table show; points in the order of the source."""
    walk = _SettingsWalk()
    for point in points:
        observation = point.observation
        read_ms = find_read_time(point.coordinates)
        if observation.evidence == "emitted" and observation.schema is not None and read_ms is not None:
            walk.add_record(point.coordinates, observation.schema, read_ms)
    return walk.build_result()


@dataclass(slots=True)
class _OpenChange:
    """A change of form under examination; `until_ms` grows while its columns keep the new form."""

    columns: tuple[str, ...]
    was: str
    now: str
    at: Coordinates
    since_ms: int
    after_ms: int
    at_ms: int
    until_ms: int | None = None


@dataclass(slots=True)
class _SettingsWalk:
    schema: TableSchema | None = None
    read_ms: int = 0
    began_ms: int = 0
    forms: frozenset[str] = frozenset()
    open: dict[str, tuple[int, int]] = field(default_factory=dict)
    form_intervals: list[FormInterval] = field(default_factory=list)
    changes: list[_OpenChange] = field(default_factory=list)

    def add_record(self, mark: Coordinates, schema: TableSchema, read_ms: int) -> None:
        """Go on by one record."""
        if self.schema is None:
            self.began_ms = read_ms
        if self.schema is None or (schema is not self.schema and schema != self.schema):
            if self.schema is not None and read_ms >= self.read_ms:
                self.add_changes(mark, self.schema, schema, read_ms)
            self.schema, self.forms = schema, _find_forms(schema)
        for form in [f for f in self.open if f not in self.forms]:
            self.form_intervals.append(FormInterval(form, *self.open.pop(form)))
        for form in self.forms:
            first, last = self.open.get(form, (read_ms, read_ms))
            if read_ms >= last:
                self.open[form] = (first, read_ms)
            elif read_ms < first:
                self.open[form] = (read_ms, last)
        self.read_ms = max(self.read_ms, read_ms)

    def add_changes(self, mark: Coordinates, before: TableSchema, after: TableSchema, read_ms: int) -> None:
        """Compare two consecutive schemas: the columns that changed their form, and the new forms."""
        found: dict[tuple[str, str], list[str]] = {}
        for was, now, column in _find_changes(before, after):
            found.setdefault((was, now), []).append(column)
        for (was, now), columns in found.items():
            since = self.end_previous({was, now})
            change = _OpenChange(tuple(columns), was, now, mark, since, self.read_ms, read_ms)
            self.changes.append(change)

    def end_previous(self, forms: set[str]) -> int:
        """When the newest change from or to one of these forms was; it ends there."""
        related = [c for c in self.changes if forms & {c.was, c.now}]
        for one in related:
            one.until_ms = self.read_ms if one.until_ms is None else one.until_ms
        return related[-1].at_ms if related else self.began_ms

    def build_result(self) -> ConnectorSettingsShown:
        """The footprint as it is at the end."""
        shown = [
            *self.form_intervals,
            *(FormInterval(form, *interval) for form, interval in self.open.items()),
        ]
        changes = (
            FormChange(
                c.columns, c.was, c.now, c.at, c.since_ms, c.after_ms, c.at_ms, c.until_ms or self.read_ms
            )
            for c in self.changes
        )
        return ConnectorSettingsShown(
            tuple(changes), tuple(sorted(shown, key=lambda s: (s.first_ms, s.form, s.last_ms)))
        )


@lru_cache(KEPT_SCHEMAS)
def _find_changes(before: TableSchema, after: TableSchema) -> tuple[tuple[str, str, str], ...]:
    """Find the columns that changed their form between two schemas: (old form, new form, field name)."""
    return (*_find_type_changes(before, after), *_find_name_changes(before, after))


def _find_type_changes(before: TableSchema, after: TableSchema) -> Iterator[tuple[str, str, str]]:
    known = {c.name: c.type for c in before.columns}
    both = [(known[c.name], c) for c in after.columns if c.name in known]
    others = [(was, c) for was, c in both if was is not c.type and was != c.type]
    if not others:
        return
    changed = {c.name for _, c in others}
    same = [c.type for _, c in both if c.name not in changed]
    shown = {c.type for c in (*before.columns, *after.columns)}
    for was, column in others:
        now, name = column.type, column.emitted_name or column.name
        if is_own_double(was, now, shown):
            continue
        if is_encoding_change(was, now, same) and find_form(was) != find_form(now):
            yield find_form(was) or "", find_form(now) or "", name


def _find_name_changes(before: TableSchema, after: TableSchema) -> Iterator[tuple[str, str, str]]:
    if before.names == after.names:
        return
    own = restore_own_names(before, after, vouched=True)
    for old, new in zip(own.columns, after.columns, strict=True):
        if old.name != new.name and _classify_name(old.name) != _classify_name(new.name):
            yield _classify_name(old.name), _classify_name(new.name), new.emitted_name or new.name


@lru_cache(KEPT_SCHEMAS)
def _find_forms(schema: TableSchema) -> frozenset[str]:
    """The forms that only one setting writes."""
    forms = {form for type in {c.type for c in schema.columns} if (form := _find_proving_form(type))}
    namings = {_classify_name(c.emitted_name or c.name) for c in schema.columns}
    return frozenset(forms | (namings & {RAW, ESCAPED}))


@lru_cache(1 << 12)
def _find_proving_form(type: Type) -> str | None:
    form = find_form(type)
    return form if form is not None and is_of_one_setting(form) else None


@lru_cache(1 << 14)
def _classify_name(name: str) -> str:
    """How a name travels, as far as it shows: a name of letters alone looks like an adjusted one."""
    if adjust_field(name, "avro") != name:
        return RAW
    return ESCAPED if any(own != name for own in list_originals(name)) else ADJUSTED


VersionPoints = tuple[TableSchema, int, Sequence[Point]]
"""A version as told: structure, incarnation, points."""


def find_key_required(versions: Sequence[VersionPoints]) -> Iterator[tuple[str, ...]]:
    """For each version, in order, the columns that are NOT NULL only since they entered the key."""
    uncertain: set[int | None] = set()
    before, last_incarnation = None, 0
    for schema, number, points in versions:
        if number != last_incarnation:
            uncertain, before, last_incarnation = set(), None, number
        required = {c.id: c.name for c in schema.columns if not c.nullable and c.name in schema.key}
        uncertain = uncertain & required.keys()
        if before is not None and _has_nullable_key_index(points[0]):
            uncertain |= required.keys() & {c.id for c in before.columns if c.nullable}
        before = schema
        yield tuple(required[id] for id in required if id in uncertain)


def _has_nullable_key_index(point: Point) -> bool:
    """Whether the connector may have used an index as the key; a statement may declare a primary key."""
    observation = point.observation
    required = find_connector(observation.connector).required_key_release
    old = parse_release(observation.connector_version) < required
    return old and "PRIMARY" not in (observation.ddl or "").upper()
