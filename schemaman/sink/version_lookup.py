"""Find the version of a table that a record belongs to, and the column of each of its fields.

Law: a record belongs to a version only if that version has exactly the fields of the record. If several
versions do, the record's position in the source's log decides. A record without a version is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemaman.debezium.observation import STATEMENT_KINDS
from schemaman.debezium.records import Coordinates
from schemaman.history.fold.event_match import fit_columns
from schemaman.history.fold.timeline import find_time
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.name_adjustment import list_adjusted_forms
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type, without_labels
from schemaman.sink.row_order import NO_POSITION_TEXT, format_position

Fields = Mapping[str, Type | None]
"""The fields of a row and their types in the event; None without a schema."""


class UnknownVersion(ValueError):
    """No version of the table explains a record; the message is the reason."""


PositionBounds = tuple[str, str | None]
"""The positions before and after a record without a position, as text of `row_order`; an unknown one is an
empty text before the record, and None after it.
"""


@dataclass(frozen=True, slots=True)
class CarriedVersion:
    """A version as records carry it: its structure, and the column of each field."""

    number: int
    schema: TableSchema
    columns: Mapping[str, Column]
    version: SchemaVersion


def find_versions(history: TableHistory, fields: Fields) -> tuple[CarriedVersion, ...]:
    """Find the versions that can have such records, oldest first.

    Versions with exactly these types come first, and those that only statements prove, whose event schema is
    unknown; else those with the same names.

    Raises:
        UnknownVersion: no version has these fields.
    """
    named: list[CarriedVersion] = []
    typed: list[CarriedVersion] = []
    for version in history.versions:
        found = [f for f in _list_field_columns(version, fields) if f.keys() == fields.keys()]
        if not found:
            continue
        exact = next((f for f in found if _has_same_types(f, fields)), None)
        columns = {name: column for name, (column, _) in (exact or found[-1]).items()}
        candidate = CarriedVersion(version.number, version.schema, columns, version)
        named.append(candidate)
        if exact is not None:
            typed.append(candidate)
    if not named:
        raise UnknownVersion(
            f"no version of {history.table} has exactly the fields {', '.join(fields)}: "
            "run `schemaman ingest` first"
        )
    return tuple(
        candidate
        for candidate in named
        if not typed or candidate in typed or _is_statement_only(candidate.version)
    )


def _is_declared(version: SchemaVersion) -> bool:
    return any(evidence.kind in STATEMENT_KINDS for evidence in version.evidence)


def _is_statement_only(version: SchemaVersion) -> bool:
    return all(evidence.kind in STATEMENT_KINDS for evidence in version.evidence)


def choose_version_by_own_key(
    candidates: Sequence[CarriedVersion], coordinates: Coordinates, key: Collection[str]
) -> CarriedVersion:
    """Choose the version of a record whose own key has these fields.

    A run of records of one key may begin before those of another partition, under another key, and end after
    them. Its records between have the next version that may have begun and has their key. The key of a
    version that a statement declares may be another one than that of its records.
    """
    found = choose_version(candidates, coordinates)
    if not key or _list_key_fields(found) == set(key):
        return found
    later = (each for each in candidates if each.number > found.number and not _is_declared(each.version))
    own = (each for each in later if _list_key_fields(each) == set(key))
    return next((each for each in own if _may_have_begun(each.version, coordinates)), found)


def choose_version(candidates: Sequence[CarriedVersion], coordinates: Coordinates) -> CarriedVersion:
    """Choose the version of a record at its coordinates: the last one that had begun, else the first one.

    If that version had ended by then, it is the next one: the known begin of a version is its first stored
    record, and other records may have come before.
    """
    if len(candidates) == 1:
        return candidates[0]
    begun = [candidate for candidate in candidates if _is_at_or_after(coordinates, candidate.version.at)]
    if not begun:
        return candidates[0]
    last = begun[-1].version
    if last.until is not None and _is_at_or_after(coordinates, last.until):
        later = [candidate for candidate in candidates if candidate.number > last.number]
        return next(
            (candidate for candidate in later if _may_have_begun(candidate.version, coordinates)), begun[-1]
        )
    return begun[-1]


def _may_have_begun(version: SchemaVersion, coordinates: Coordinates) -> bool:
    return version.after is not None and _is_at_or_after(coordinates, version.after)


def is_same_structure(candidates: Sequence[CarriedVersion]) -> bool:
    """Whether all candidates have the same columns in the same fields, so that any of them fits."""
    first = candidates[0]
    return all(
        candidate.columns == first.columns and candidate.schema == first.schema
        for candidate in candidates[1:]
    )


def find_versions_by_key(history: TableHistory, fields: Collection[str]) -> tuple[CarriedVersion, ...]:
    """Find the versions to which a key with these fields can belong, oldest first.

    They are those with exactly that key, if there are any; else those that have the fields; else all.
    """
    exact: list[CarriedVersion] = []
    named: list[CarriedVersion] = []
    every: list[CarriedVersion] = []
    for version in history.versions:
        ways = [
            {name: column for name, (column, _) in way.items()} for way in _list_field_columns(version, {})
        ]
        carried = [CarriedVersion(version.number, version.schema, way, version) for way in ways if way] or [
            CarriedVersion(version.number, version.schema, {}, version)
        ]
        exact += [candidate for candidate in carried if _list_key_fields(candidate) == set(fields)][:1]
        named += [candidate for candidate in carried if candidate.columns.keys() >= set(fields)][:1]
        every += carried[:1]
    return tuple(exact or named or every)


def choose_version_by_bounds(
    candidates: Sequence[CarriedVersion],
    fields: Collection[str],
    coordinates: Coordinates,
    between: PositionBounds,
) -> CarriedVersion:
    """Choose the version of a record without a position, with these `fields`: the last one that had begun.

    Raises:
        UnknownVersion: the columns of its fields are ambiguous, since they may have swapped names.
    """
    earliest, latest = between
    found = (
        [
            candidate
            for candidate in candidates
            if _has_begun_at_earliest(candidate.version, coordinates, earliest)
        ]
        or candidates[:1]
    )[-1]
    later = [candidate for candidate in candidates if candidate.number > found.number]
    if any(
        _have_different_columns(found, candidate, fields)
        and _may_have_begun_by_latest(candidate.version, coordinates, latest)
        for candidate in later
    ):
        raise UnknownVersion(
            f"a delete with only the key ({', '.join(fields)}) and no position: these columns swapped names, "
            "and it is unknown whether the delete came before or after that. Delete its row by hand"
        )
    return found


def _list_key_fields(candidate: CarriedVersion) -> set[str]:
    """List the fields of the key of a version."""
    fields = {column.name: field for field, column in candidate.columns.items()}
    return {fields.get(name, name) for name in candidate.schema.key}


def _has_begun_at_earliest(version: SchemaVersion, coordinates: Coordinates, earliest: str) -> bool:
    """Whether a version had begun at the earliest possible position of a record without one."""
    began = version.at
    if (began.topic, began.partition) == (coordinates.topic, coordinates.partition):
        return began.offset <= coordinates.offset
    if began.position.kind == "none" or earliest in ("", NO_POSITION_TEXT):
        return _is_at_or_after(coordinates, began)
    return format_position(began.position) <= earliest


def _may_have_begun_by_latest(version: SchemaVersion, coordinates: Coordinates, latest: str | None) -> bool:
    """Whether a version may have begun at the latest possible position of a record without one."""
    began = version.at
    if (began.topic, began.partition) == (coordinates.topic, coordinates.partition):
        return began.offset <= coordinates.offset
    return latest is None or began.position.kind == "none" or format_position(began.position) < latest


def _have_different_columns(one: CarriedVersion, other: CarriedVersion, fields: Collection[str]) -> bool:
    """Whether two versions of one incarnation have other columns for the same fields."""
    return one.version.incarnation == other.version.incarnation and any(
        one.columns[field].id != other.columns[field].id
        for field in fields
        if field in one.columns and field in other.columns
    )


FieldColumns = Mapping[str, tuple[Column, Type | None]]
"""The column of each field, and its type in the event if known."""


def _list_field_columns(version: SchemaVersion, fields: Fields) -> Iterator[FieldColumns]:
    """List the forms of a version in events: as it is, by each of its event schemas, by adjusted names."""
    for event_schema in (None, *version.event_schemas):
        others = {} if event_schema is None else {field.column: field for field in event_schema.fields}
        found: dict[str, tuple[Column, Type | None]] = {}
        for column in version.schema.columns:
            field = others.get(column.name)
            if field is None:
                found[column.emitted_name or column.name] = (column, column.type)
            elif field.name is not None:
                found[field.name] = (column, field.type)
        yield found
    by_form = {form: c for c in version.schema.columns for form in sorted(list_adjusted_forms(c.name))}
    if all(type is None for type in fields.values()) and fields.keys() <= by_form.keys():
        yield {name: (by_form[name], None) for name in fields}
    typed = {name: type for name, type in fields.items() if type is not None}
    if typed and len(typed) == len(fields):
        wire = TableSchema(tuple(Column(name, type) for name, type in typed.items()))
        fit = fit_columns(version.schema, wire)
        if fit.is_exact or (_is_declared(version) and not fit.unexplained):
            columns = {c.name: c for c in version.schema.columns}
            yield {emitted: (columns[own], None) for own, emitted in fit.names.items()}


def _has_same_types(carried: FieldColumns, fields: Fields) -> bool:
    return all(
        known is not None and (wire is None or without_labels(known) == without_labels(wire))
        for (_, known), wire in ((carried[name], fields[name]) for name in fields)
    )


def _is_at_or_after(coordinates: Coordinates, other: Coordinates) -> bool:
    """Whether a record is at the coordinates of another one, or after them, as far as they compare."""
    if other.position.kind == coordinates.position.kind and other.position.rank and coordinates.position.rank:
        return other.position.rank <= coordinates.position.rank
    if (other.topic, other.partition) == (coordinates.topic, coordinates.partition):
        return other.offset <= coordinates.offset
    return find_time(other) <= find_time(coordinates)
