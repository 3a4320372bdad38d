"""Which version of a table a record is of, and which column each of its fields carries.

Law: a record is taken for a version only if that version has just the fields of the record; where several
do, its place in the source's log decides. What no version explains is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemaman.debezium.observation import STATEMENTS
from schemaman.debezium.records import Mark
from schemaman.history.fold.event_match import match
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.name_adjustment import adjusted_forms
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Type, without_labels
from schemaman.sink.row_order import NOWHERE, place

Fields = Mapping[str, Type | None]
"""The fields of a row and the types that they have on the wire; None where no schema tells them."""


class UnknownFace(ValueError):
    """No version of the table explains a record; the message is the reason."""


Between = tuple[str, str | None]
"""The places that a record without one stands between, in the words of `rows.order`: behind the first, which
is empty if nothing is known there, and before the other, None if nothing is."""


@dataclass(frozen=True, slots=True)
class Face:
    """A version as a record carries it: its structure, and the column of each field."""

    number: int
    schema: TableSchema
    columns: Mapping[str, Column]
    version: SchemaVersion


def faces(history: TableHistory, fields: Fields) -> tuple[Face, ...]:
    """The versions that can have such records, oldest first.

    Those whose fields have the very types, if there are any, and those of which only statements tell, so that
    nobody knows how rows carry them; else those with the names.

    Raises:
        UnknownFace: no version has these fields.
    """
    named: list[Face] = []
    typed: list[Face] = []
    for version in history.versions:
        found = [f for f in _carried(version, fields) if f.keys() == fields.keys()]
        if not found:
            continue
        exact = next((f for f in found if _same_types(f, fields)), None)
        columns = {name: column for name, (column, _) in (exact or found[-1]).items()}
        face = Face(version.number, version.schema, columns, version)
        named.append(face)
        if exact is not None:
            typed.append(face)
    if not named:
        raise UnknownFace(
            f"no version of {history.table} has just the fields {', '.join(fields)}: "
            "read the records into the history first (schemaman ingest)"
        )
    return tuple(face for face in named if not typed or face in typed or _only_stated(face.version))


def _only_stated(version: SchemaVersion) -> bool:
    return all(told.witness in STATEMENTS for told in version.evidence)


def at(candidates: Sequence[Face], mark: Mark) -> Face:
    """The version that a record at a mark is of: the last one that had begun there, else the first one.

    Where that one had ended by then, it is the next one: what is known of its begin is the first record that
    is remembered of it, and others may stand before that.
    """
    if len(candidates) == 1:
        return candidates[0]
    begun = [face for face in candidates if _stands_behind(mark, face.version.at)]
    if not begun:
        return candidates[0]
    last = begun[-1].version
    if last.until is not None and _stands_behind(mark, last.until):
        later = [face for face in candidates if face.number > last.number]
        return next((face for face in later if _may_have_begun(face.version, mark)), begun[-1])
    return begun[-1]


def _may_have_begun(version: SchemaVersion, mark: Mark) -> bool:
    return version.after is not None and _stands_behind(mark, version.after)


def same(candidates: Sequence[Face]) -> bool:
    """Whether all of them carry the same columns in the same fields, so that any will do."""
    first = candidates[0]
    return all(face.columns == first.columns and face.schema == first.schema for face in candidates[1:])


def keyed(history: TableHistory, told: Collection[str]) -> tuple[Face, ...]:
    """The versions that a key with the fields `told` can be of, oldest first.

    Those with just that key, if there are any; else those that have the fields; else all.
    """
    exact: list[Face] = []
    named: list[Face] = []
    every: list[Face] = []
    for version in history.versions:
        ways = [{name: column for name, (column, _) in way.items()} for way in _carried(version, {})]
        carried = [Face(version.number, version.schema, way, version) for way in ways if way] or [
            Face(version.number, version.schema, {}, version)
        ]
        exact += [face for face in carried if _key_fields(face) == set(told)][:1]
        named += [face for face in carried if face.columns.keys() >= set(told)][:1]
        every += carried[:1]
    return tuple(exact or named or every)


def behind(candidates: Sequence[Face], told: Collection[str], mark: Mark, between: Between) -> Face:
    """The version that a record without a place is of: the last one that had begun; `told` are its fields.

    Raises:
        UnknownFace: nobody can tell which columns its fields are, as these may have exchanged their names.
    """
    stood, ends = between
    found = ([face for face in candidates if _stood(face.version, mark, stood)] or candidates[:1])[-1]
    later = [face for face in candidates if face.number > found.number]
    if any(_differ(found, face, told) and _may_stand(face.version, mark, ends) for face in later):
        raise UnknownFace(
            f"a delete of which only the key ({', '.join(told)}) is left, without a place: its columns "
            "exchanged names, and nobody can tell whether that was before it. Delete its row by hand"
        )
    return found


def _key_fields(face: Face) -> set[str]:
    """The fields that carry the key of a version."""
    fields = {column.name: field for field, column in face.columns.items()}
    return {fields.get(name, name) for name in face.schema.key}


def _stood(version: SchemaVersion, mark: Mark, stood: str) -> bool:
    """Whether a version had begun where a record without a place stands at the earliest."""
    began = version.at
    if (began.topic, began.partition) == (mark.topic, mark.partition):
        return began.offset <= mark.offset
    if began.position.kind == "none" or stood in ("", NOWHERE):
        return _stands_behind(mark, began)
    return place(began.position) <= stood


def _may_stand(version: SchemaVersion, mark: Mark, ends: str | None) -> bool:
    """Whether a version may have begun where a record without a place stands at the latest."""
    began = version.at
    if (began.topic, began.partition) == (mark.topic, mark.partition):
        return began.offset <= mark.offset
    return ends is None or began.position.kind == "none" or place(began.position) < ends


def _differ(one: Face, other: Face, fields: Collection[str]) -> bool:
    """Whether two versions of one life name other columns by the same fields."""
    return one.version.incarnation == other.version.incarnation and any(
        one.columns[field].id != other.columns[field].id
        for field in fields
        if field in one.columns and field in other.columns
    )


Carried = Mapping[str, tuple[Column, Type | None]]
"""For each field its column, and the type that it has on the wire if that is known."""


def _carried(version: SchemaVersion, fields: Fields) -> Iterator[Carried]:
    """The ways in which events carry a version: as it is, under each of its faces, by adjusted names."""
    for face in (None, *version.carried):
        others = {} if face is None else {field.column: field for field in face.fields}
        found: dict[str, tuple[Column, Type | None]] = {}
        for column in version.schema.columns:
            field = others.get(column.name)
            if field is None:
                found[column.emitted_name or column.name] = (column, column.type)
            elif field.name is not None:
                found[field.name] = (column, field.type)
        yield found
    by_form = {form: c for c in version.schema.columns for form in sorted(adjusted_forms(c.name))}
    if all(type is None for type in fields.values()) and fields.keys() <= by_form.keys():
        yield {name: (by_form[name], None) for name in fields}
    told = {name: type for name, type in fields.items() if type is not None}
    if told and len(told) == len(fields):
        wire = TableSchema(tuple(Column(name, type) for name, type in told.items()))
        fit = match(version.schema, wire)
        declared = any(e.witness in STATEMENTS for e in version.evidence)
        if fit.exact or (declared and not fit.wrong):
            columns = {c.name: c for c in version.schema.columns}
            yield {emitted: (columns[own], None) for own, emitted in fit.names.items()}


def _same_types(carried: Carried, fields: Fields) -> bool:
    return all(
        known is not None and (wire is None or without_labels(known) == without_labels(wire))
        for (_, known), wire in ((carried[name], fields[name]) for name in fields)
    )


def _stands_behind(mark: Mark, other: Mark) -> bool:
    """Whether a record stands where another one does, or behind it, as far as their marks tell."""
    if other.position.kind == mark.position.kind and other.position.rank and mark.position.rank:
        return other.position.rank <= mark.position.rank
    if (other.topic, other.partition) == (mark.topic, mark.partition):
        return other.offset <= mark.offset
    return _time(other) <= _time(mark)


def _time(mark: Mark) -> int:
    return next((t for t in (mark.read_ms, mark.timestamp_ms, mark.ts_ms) if t is not None), 0)
