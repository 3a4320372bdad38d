"""Find the stretches of the source's log whose rows a newer history reads differently.

Law: only a difference in a row counts: another column under a field's name, other values of the same bytes,
or another incarnation of the table. A version that only became known later is no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, cast

from schemaman.debezium.converters.connect import Node
from schemaman.debezium.records import Coordinates, Position
from schemaman.history.epochs import EventField, EventSchema
from schemaman.history.versions import NestedFieldAnswer, RenameCandidate, SchemaVersion, TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column
from schemaman.model.types import Integer
from schemaman.sink.row_order import format_position
from schemaman.sink.values.connector_modes import ConnectorModes, UnknownMode, build_node
from schemaman.sink.values.row_decoder import is_sign_unknown
from schemaman.sink.version_lookup import CarriedVersion, UnknownVersion, choose_version, find_versions


class JoinedColumns(NamedTuple):
    """Two columns of the previous history that are one now: their last names, and their ids there."""

    previous: str
    kept: str
    previous_id: int | None
    kept_id: int | None


@dataclass(frozen=True, slots=True)
class RereadStretch:
    """A stretch of the source's log, as text of `row_order`, whose rows are read differently now.

    It goes from the position `since` up to `until`, None if it has no end; `coordinates` are its begin.
    `joined` are two columns that are one now: only a table that has both holds values in the wrong one.
    """

    since: str
    until: str | None
    coordinates: Coordinates
    reason: str
    joined: JoinedColumns | None = None


def hash_reading(history: TableHistory) -> str:
    """Hash everything in a history that decides how rows are read: 16 hexadecimal digits.

    Lake tables carry the digest in a property, so its text is a contract: it names classes and fields as the
    first release did (`_DIGEST_NAMES`), whatever the code calls them now.
    """
    versions = [
        (v.id, v.incarnation, v.at, v.schema.columns, v.event_schemas, v.candidates, v.field_answers)
        for v in history.versions
    ]
    text = f"[{', '.join(map(_format_for_digest, versions))}]"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_DIGEST_NAMES: Mapping[type, tuple[str, tuple[str, ...]]] = {
    Coordinates: (
        "Mark",
        ("topic", "partition", "offset", "position", "ts_ms", "read_ms", "timestamp_ms"),
    ),
    Position: ("Position", ("kind", "value", "commit")),
    EventSchema: ("WireFace", ("epoch", "at", "fields")),
    EventField: ("WireField", ("column", "name", "type")),
    RenameCandidate: ("RenameCandidate", ("old", "new", "grade", "evidence")),
    NestedFieldAnswer: ("MemberAnswer", ("old", "new", "same")),
}
"""The name of each class in the digest, and the names of its fields in order."""


def _format_for_digest(value: object) -> str:
    """Format a value as `repr` did in the first release."""
    if type(value) is tuple:
        texts = [_format_for_digest(item) for item in value]
        return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
    names = _DIGEST_NAMES.get(type(value))
    if names is None:
        return repr(value)
    values = (getattr(value, field.name) for field in fields(cast(Any, value)))
    parts = (f"{name}={_format_for_digest(part)}" for name, part in zip(names[1], values, strict=True))
    return f"{names[0]}({', '.join(parts)})"


def find_reread_stretches(
    before: TableHistory, after: TableHistory, modes: ConnectorModes
) -> tuple[RereadStretch, ...]:
    """Find the stretches that the history `after` reads unlike the history `before`, in order of the log.

    `modes` are the connector's settings, which decide how records without schemas are read. Only positions in
    the source's own log count: without them the order is unknown.
    """
    plain = any(e.kind == "inferred" for v in after.versions for e in v.evidence)
    every = tuple(_map_version(version) for version in after.versions)
    known = dict.fromkeys(n for v in before.versions for n in _list_field_names(v))
    later = dict.fromkeys(n for v in after.versions for n in _list_field_names(v))
    found: dict[tuple[str, str | None, JoinedColumns | None], RereadStretch] = {}
    for names in known | later:
        try:
            then, now = (find_versions(h, dict.fromkeys(sorted(names))) for h in (before, after))
        except UnknownVersion:
            continue
        checked_modes = modes if plain else None
        for stretch in _find_differences(
            then, now, before.versions, every, checked_modes, known=names in known
        ):
            found.setdefault((stretch.since, stretch.until, None), stretch)
    for stretch in _find_joined_columns(before.versions, every):
        found.setdefault((stretch.since, stretch.until, stretch.joined), stretch)
    return tuple(found[key] for key in sorted(found, key=lambda key: (key[0], (key[2] or ())[:2])))


def _map_version(version: SchemaVersion) -> CarriedVersion:
    """Map the fields of a version's events to its columns."""
    columns = {c.emitted_name or c.name: c for c in version.schema.columns}
    return CarriedVersion(version.number, version.schema, columns, version)


def _list_field_names(version: SchemaVersion) -> Iterator[frozenset[str]]:
    """List the sets of field names in the events of a version."""
    yield frozenset(c.emitted_name or c.name for c in version.schema.columns)
    for event_schema in version.event_schemas:
        yield frozenset(version.find_event_schema(event_schema).names)


def _find_differences(
    then: Sequence[CarriedVersion],
    now: Sequence[CarriedVersion],
    previous: Sequence[SchemaVersion],
    every: Sequence[CarriedVersion],
    modes: ConnectorModes | None,
    *,
    known: bool,
) -> Iterator[RereadStretch]:
    """Compare one row of each set of field names between any two neighbouring edges of versions.

    `previous` are all versions of the earlier history, `every` those of the present one. A version with more
    fields may have read rows whose field names were not `known`. A version that only a statement proves may
    have read rows with fewer fields than it has. Such rows count only if the version with these names is the
    one at the position, or before the first version with these names.
    """
    begun = (*then, *(now if known else every))
    edges = (m for f in begun for m in (f.version.after, f.version.until, f.version.at) if m is not None)
    marks = {format_position(m.position): m for m in edges}
    # reads beside the stream also begin versions, but have no position
    kinds = [f.version.at.position.kind for f in (*then, *now) if f.version.at.position.kind != "none"]
    placed = [(text, m) for text, m in sorted(marks.items()) if m.position.kind in kinds[-1:]]
    for number, (since, coordinates) in enumerate(placed, 1):
        until = placed[number][0] if number < len(placed) else None
        was, is_ = choose_version(then, coordinates), choose_version(now, coordinates)
        began = is_.version.at.position
        stated = known and frozenset(was.columns) in _list_field_names(was.version)
        sure = stated and (began.kind != coordinates.position.kind or format_position(began) <= since)
        if not sure and choose_version(every, coordinates).version is not is_.version:
            continue
        why = _explain_difference(was, is_, _find_current_columns(was, previous, now, every), modes)
        if why is not None:
            yield RereadStretch(since, until, coordinates, why)


def _find_joined_columns(
    previous: Sequence[SchemaVersion], every: Sequence[CarriedVersion]
) -> Iterator[RereadStretch]:
    """Find the rows with a value in a separate column that is now an earlier version of another column.

    No single row shows the fault: each was read correctly, but the values of one column are in two.
    """
    last = {column.id: (version, column) for version in previous for column in version.schema.columns}
    kept_by_id: dict[tuple[int, int | None], tuple[SchemaVersion, Column]] = {}
    for version, column in sorted(last.values(), key=lambda one: -one[0].number):
        current = _find_current_version(version, every)
        meant = None if current is None else _find_column(current, column)
        if current is None or meant is None:
            continue
        later, kept = kept_by_id.setdefault((current.version.incarnation, meant.id), (version, column))
        if kept.id != column.id and later.incarnation == version.incarnation:
            why = (
                f"the earlier column `{column.name}` is the column `{kept.name}` now, which has a "
                "separate column"
            )
            joined = JoinedColumns(column.name, kept.name, column.id, kept.id)
            for since, until, coordinates in _find_stretch(previous, column, kept):
                yield RereadStretch(since, until, coordinates, why, joined)


def _find_stretch(
    previous: Sequence[SchemaVersion], column: Column, kept: Column
) -> Iterator[tuple[str, str | None, Coordinates]]:
    """Find the stretch of the log whose rows may hold a value of a column that is now `kept`.

    A rewritten row keeps the old value. The stretch ends where a third column takes the name, if any does.
    If no version precedes the column, the stretch begins with the log.
    """
    placed = [version for version in previous if version.at.position.kind != "none"]
    having = [n for n, version in enumerate(placed) if column.id in {c.id for c in version.schema.columns}]
    if not having:
        return
    name, own = column.name.casefold(), {column.id, kept.id}
    taken = (
        format_position(version.at.position)
        for version in placed[having[-1] + 1 :]
        if any(c.name.casefold() == name and c.id not in own for c in version.schema.columns)
    )
    coordinates = placed[having[0]].at
    yield format_position(coordinates.position) if having[0] else "", next(taken, None), coordinates


def _find_current_columns(
    was: CarriedVersion,
    previous: Sequence[SchemaVersion],
    now: Sequence[CarriedVersion],
    every: Sequence[CarriedVersion],
) -> CarriedVersion:
    """Map a version of the previous history to the present one, with its columns for the fields of `was`.

    The last of the `previous` versions with a column decides what the column is now: the table keeps the
    values of all versions in one column, which has that version's name.
    """
    own = _find_current_version(was.version, every) or choose_version(now, was.version.at)
    taken = choose_version(now, was.version.at)
    columns: dict[str, Column] = {}
    for name, column in was.columns.items():
        last = next(
            (v for v in reversed(previous) if column.id in {c.id for c in v.schema.columns}), was.version
        )
        current = own if last is was.version else _find_current_version(last, every)
        last_column = next((c for c in last.schema.columns if c.id == column.id), column)
        found = None if current is None else _find_column(current, last_column)
        columns[name] = found or _find_column(own, column) or taken.columns[name]
    return replace(own, columns=columns)


def _find_current_version(version: SchemaVersion, every: Sequence[CarriedVersion]) -> CarriedVersion | None:
    """Find the present version at the first record of a version; None if that record has no position.

    The present version may have other field names, since rows with fewer fields may have come.
    """
    began = version.at
    same = [carried for carried in every if carried.version.at == began]
    if not same and began.position.kind == "none":
        return None
    return same[-1] if same else choose_version(every, began)


def _find_column(carried: CarriedVersion, column: Column) -> Column | None:
    return carried.schema.column(column.name) or carried.columns.get(column.emitted_name or column.name)


def _explain_difference(
    was: CarriedVersion, is_: CarriedVersion, meant: CarriedVersion, modes: ConnectorModes | None
) -> str | None:
    """Explain how the reading of a row differs: it was read as `was`, now `meant`; None if it does not."""
    if meant.version.incarnation != is_.version.incarnation:
        return (
            "the earlier table had been dropped or renamed by then, and they belong to a new table "
            "of its name"
        )
    for name in was.columns:
        if meant.columns[name].id != is_.columns[name].id:
            return f"`{name}` was the name of another column by then"
        before, after = was.columns[name], is_.columns[name]
        if not _is_read_alike(before, after, modes):
            types = format_type(before.type), format_type(after.type)
            return f"`{name}` was read as {types[0]}, and was {types[1]} by then"
    return None


def _is_read_alike(one: Column, other: Column, modes: ConnectorModes | None) -> bool:
    """Whether two columns read the same values; `modes` is None if the records have their types.

    A record with types decides its values itself, except for the sign of 64 bits (`row_decoder`).
    """
    if isinstance(one.type, Integer) and isinstance(other.type, Integer) and not is_sign_unknown(one):
        unsigned = {c.type == Integer(64, signed=False) for c in (one, other)}
        if len(unsigned) > 1:
            return False
    if modes is None or one.type == other.type:
        return True
    try:
        return _drop_semantic_name(build_node(one.type, modes)) == _drop_semantic_name(
            build_node(other.type, modes)
        )
    except UnknownMode:
        return True  # a cell that cannot be read was never written


def _drop_semantic_name(node: Node) -> Mapping[str, object]:
    """Remove a semantic name that does not change the value."""
    named = str(node.get("name", ""))
    return {k: v for k, v in node.items() if k != "name"} if named.startswith("io.debezium.data.") else node


def merge_stretches(found: Sequence[RereadStretch]) -> tuple[RereadStretch, ...]:
    """Merge adjacent stretches; the reason of the first one is kept."""
    joined: list[RereadStretch] = []
    for one in found:
        if joined and (joined[-1].until is None or one.since <= joined[-1].until):
            ends = (joined[-1].until, one.until)
            joined[-1] = replace(joined[-1], until=None if None in ends else max(e for e in ends if e))
        else:
            joined.append(one)
    return tuple(joined)
