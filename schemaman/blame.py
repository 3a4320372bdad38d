"""Since when each fact of a table is as it is, and who said so: version, record, statement.

Law: a fact holds since the first stage of the same life from which on every stage up to the asked one has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from schemaman.ddl import format_type
from schemaman.evidence import Mark, Observation, Witness
from schemaman.schema import Column, Scalar, TableSchema
from schemaman.versions import Revision, SchemaVersion, TableHistory

Kind = Literal["column", "name", "type", "nullable", "default", "comment", "key"]
Value = Scalar | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that holds of a column, or of the table where `column` is None.

    It holds since `version`, `revision`: after `after` (None: nothing earlier is known) and no later than the
    record `at`, which `witness` wrote. `others` are the first records of the other witnesses of that
    version; `statement` is the DDL of one of these records. `provisional`: it may be from the future.
    """

    kind: Kind
    column: str | None
    column_id: int | None
    value: Value
    version: SchemaVersion
    revision: int
    after: Mark | None
    at: Mark
    witness: Witness | None
    others: tuple[tuple[Witness, Mark], ...]
    statement: str | None
    provisional: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """A revision of a version, and what was known of the table just before it."""

    version: SchemaVersion
    revision: Revision
    before: Mark | None


def blame(
    history: TableHistory, version: SchemaVersion, revision: int, testimony: Iterable[Observation]
) -> tuple[Fact, ...]:
    """The facts of a revision: those of each column in order, then the key and the comment of the table.

    `testimony` is all that was said of the table; it tells who wrote a record.
    """
    stages = tuple(_stages(history, version, revision))
    told = _told(testimony)
    now = stages[-1].revision.schema
    return tuple(_fact(kind, c, get, stages, told) for kind, c, get in _questions(now))


Get = Callable[[TableSchema], object]
_ATTRIBUTES: dict[Kind, Callable[[Column], Value]] = {
    "name": lambda c: c.name,
    "type": lambda c: format_type(c.type),
    "nullable": lambda c: c.nullable,
    "default": lambda c: c.default,
    "comment": lambda c: c.comment,
}
_ABSENT = object()


def _questions(now: TableSchema) -> Iterator[tuple[Kind, Column | None, Get]]:
    for column in now.columns:
        yield "column", column, _attribute(column, lambda c: c.id or c.name)
        for kind, get in _ATTRIBUTES.items():
            yield kind, column, _attribute(column, get)
    yield "key", None, _key
    yield "comment", None, lambda schema: schema.comment


def _attribute(column: Column, get: Callable[[Column], Value]) -> Get:
    def told(schema: TableSchema) -> object:
        found = next((c for c in schema.columns if _is(c, column)), None)
        return _ABSENT if found is None else get(found)

    return told


def _is(one: Column, other: Column) -> bool:
    return one.id == other.id if one.id is not None and other.id is not None else one.name == other.name


def _key(schema: TableSchema) -> object:
    """The key by the ids of its columns, so that it outlives a rename."""
    return tuple(c.id or c.name for name in schema.key if (c := schema.column(name)) is not None)


def _stages(history: TableHistory, last: SchemaVersion, revision: int) -> Iterator[Stage]:
    """Every revision of the same life up to the asked one, oldest first."""
    for version in history.versions[: history.versions.index(last) + 1]:
        if version.incarnation != last.incarnation:
            continue
        for found in version.revisions:
            if version is not last or found.number <= revision:
                yield Stage(version, found, version.after if found.number == 0 else None)


def _fact(
    kind: Kind,
    column: Column | None,
    get: Get,
    stages: Sequence[Stage],
    told: Mapping[Mark, Sequence[Observation]],
) -> Fact:
    now = get(stages[-1].revision.schema)
    since = stages[-1]
    for stage in reversed(stages):
        if get(stage.revision.schema) != now:
            break
        since = stage
    version, at = since.version, since.revision.at
    first = since.revision.number == 0
    witness = _witness(version, at, told)
    others = tuple((e.witness, e.first) for e in version.evidence if e.witness != witness) if first else ()
    return Fact(
        kind=kind,
        column=None if column is None else column.name,
        column_id=None if column is None else column.id,
        value=_value(kind, column, stages[-1].revision.schema),
        version=version,
        revision=since.revision.number,
        after=since.before,
        at=at,
        witness=witness,
        others=others,
        statement=_statement((at, *(mark for _, mark in others)), told),
        provisional=_name_of(kind, column) in stages[-1].version.unconfirmed,
    )


def _value(kind: Kind, column: Column | None, schema: TableSchema) -> Value:
    if column is None:
        return schema.key if kind == "key" else schema.comment
    return column.name if kind == "column" else _ATTRIBUTES[kind](column)


def _name_of(kind: Kind, column: Column | None) -> str:
    """The fact as `unconfirmed` names it."""
    return kind if column is None else f"{kind}:{column.name}"


def _told(testimony: Iterable[Observation]) -> Mapping[Mark, Sequence[Observation]]:
    told: dict[Mark, list[Observation]] = {}
    for observation in testimony:
        for mark in {observation.first, observation.last}:
            told.setdefault(mark, []).append(observation)
    return told


def _witness(version: SchemaVersion, at: Mark, told: Mapping[Mark, Sequence[Observation]]) -> Witness | None:
    """Who wrote the record: as the log says; else the witness of the version whose records reach there."""
    spoke = [o.witness for o in told.get(at, ())]
    near = [e.witness for e in version.evidence if at in (e.first, e.last)]
    return next(iter([*spoke, *near, *(e.witness for e in version.evidence)]), None)


def _statement(marks: Iterable[Mark], told: Mapping[Mark, Sequence[Observation]]) -> str | None:
    return next((o.ddl for mark in marks for o in told.get(mark, ()) if o.ddl), None)
