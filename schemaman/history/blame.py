"""Since when each fact of a table holds, and its evidence: version, record, statement.

Law: a fact holds since the first stage of the same incarnation from which on every stage up to the asked
one has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from schemaman.debezium.observation import EvidenceKind, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.versions import Revision, SchemaVersion, TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.schema import Column, Scalar, TableSchema

Kind = Literal["column", "name", "type", "nullable", "default", "comment", "key"]
Value = Scalar | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a column, or of the table if `column` is None.

    It is valid since `version`, `revision`: after `after` (None: nothing earlier is known) and no later than
    the record `at`, whose kind of evidence is `evidence`. `other_evidence` are the first records of other
    kinds of evidence of that version; `statement` is the DDL of one of these records. The fact is certain
    from `proven_from` on: `at`, or a later record if it was read later than the rows; None if unconfirmed.
    """

    kind: Kind
    column: str | None
    column_id: int | None
    value: Value
    version: SchemaVersion
    revision: int
    after: Coordinates | None
    at: Coordinates
    evidence: EvidenceKind | None
    other_evidence: tuple[tuple[EvidenceKind, Coordinates], ...]
    statement: str | None
    proven_from: Coordinates | None

    @property
    def is_provisional(self) -> bool:
        """Whether it may be from the future."""
        return self.proven_from is None


@dataclass(frozen=True, slots=True)
class FactStage:
    """A revision of a version, and what was known of the table just before it."""

    version: SchemaVersion
    revision: Revision
    before: Coordinates | None


def blame(
    history: TableHistory, version: SchemaVersion, revision: int, testimony: Iterable[Observation]
) -> tuple[Fact, ...]:
    """Return the facts of a revision: those of each column in order, then key and comment of the table.

    `testimony` are all observations of the table; they show the kind of evidence of a record.
    """
    stages = tuple(_list_stages(history, version, revision))
    observations = _index_observations(testimony)
    now = stages[-1].revision.schema
    return tuple(_trace_fact(kind, c, get, stages, observations) for kind, c, get in _list_facts(now))


Getter = Callable[[TableSchema], object]
_ATTRIBUTES: dict[Kind, Callable[[Column], Value]] = {
    "name": lambda c: c.name,
    "type": lambda c: format_type(c.type),
    "nullable": lambda c: c.nullable,
    "default": lambda c: c.default,
    "comment": lambda c: c.comment,
}
_ABSENT = object()


def _list_facts(now: TableSchema) -> Iterator[tuple[Kind, Column | None, Getter]]:
    for column in now.columns:
        yield "column", column, _make_getter(column, lambda c: c.id or c.name)
        for kind, get in _ATTRIBUTES.items():
            yield kind, column, _make_getter(column, get)
    yield "key", None, _read_key
    yield "comment", None, lambda schema: schema.comment


def _make_getter(column: Column, get: Callable[[Column], Value]) -> Getter:
    def read(schema: TableSchema) -> object:
        found = next((c for c in schema.columns if _is_same_column(c, column)), None)
        return _ABSENT if found is None else get(found)

    return read


def _is_same_column(one: Column, other: Column) -> bool:
    return one.id == other.id if one.id is not None and other.id is not None else one.name == other.name


def _read_key(schema: TableSchema) -> object:
    """The key by the ids of its columns, so that it outlives a rename."""
    return tuple(c.id or c.name for name in schema.key if (c := schema.column(name)) is not None)


def _list_stages(history: TableHistory, last: SchemaVersion, revision: int) -> Iterator[FactStage]:
    """List each revision of the same incarnation up to the requested one, oldest first.

    The last version is the requested one: as of a position, fewer of its facts are certain.
    """
    earlier = (v for v in history.versions if v.number < last.number and v.incarnation == last.incarnation)
    for version in (*earlier, last):
        for found in version.revisions:
            if version is not last or found.number <= revision:
                yield FactStage(version, found, version.after if found.number == 0 else found.after)


def _trace_fact(
    kind: Kind,
    column: Column | None,
    get: Getter,
    stages: Sequence[FactStage],
    observations: Mapping[Coordinates, Sequence[Observation]],
) -> Fact:
    now = get(stages[-1].revision.schema)
    *_, since = same = [*takewhile(lambda stage: get(stage.revision.schema) == now, reversed(stages))]
    version, at = since.version, since.revision.at
    first = since.revision.number == 0
    evidence = _find_evidence(version, at, observations)
    others = tuple((e.kind, e.first) for e in version.evidence if e.kind != evidence) if first else ()
    return Fact(
        kind=kind,
        column=None if column is None else column.name,
        column_id=None if column is None else column.id,
        value=_read_value(kind, column, stages[-1].revision.schema),
        version=version,
        revision=since.revision.number,
        after=since.before,
        at=at,
        evidence=evidence,
        other_evidence=others,
        statement=_find_statement((at, *(mark for _, mark in others)), observations),
        proven_from=_find_proof(kind, column, same[::-1]),
    )


def _find_proof(kind: Kind, column: Column | None, stages: Sequence[FactStage]) -> Coordinates | None:
    """Find where a fact of all these stages becomes certain; None if no stage proves it."""
    if _name_fact(kind, column, stages[-1].revision.schema) in stages[-1].version.unconfirmed:
        return None
    for stage in stages:
        name = _name_fact(kind, column, stage.revision.schema)
        late = {proof.fact: proof.at for proof in stage.version.find_proofs(stage.revision.number)}
        if (at := late.get(name, stage.revision.at)) is not None:
            return at
    return None


def _read_value(kind: Kind, column: Column | None, schema: TableSchema) -> Value:
    if column is None:
        return schema.key if kind == "key" else schema.comment
    return column.name if kind == "column" else _ATTRIBUTES[kind](column)


def _name_fact(kind: Kind, column: Column | None, schema: TableSchema) -> str:
    """The fact as `unconfirmed` names it, by the name that the column has in a structure."""
    then = None if column is None else next((c for c in schema.columns if _is_same_column(c, column)), column)
    return kind if then is None else f"{kind}:{then.name}"


def _index_observations(testimony: Iterable[Observation]) -> Mapping[Coordinates, Sequence[Observation]]:
    by_coordinates: dict[Coordinates, list[Observation]] = {}
    for observation in testimony:
        for mark in {observation.first, observation.last}:
            by_coordinates.setdefault(mark, []).append(observation)
    return by_coordinates


def _find_evidence(
    version: SchemaVersion, at: Coordinates, observations: Mapping[Coordinates, Sequence[Observation]]
) -> EvidenceKind | None:
    """Find the evidence kind of a record: from the log, else from the version that includes the record."""
    recorded = [o.evidence for o in observations.get(at, ())]
    near = [e.kind for e in version.evidence if at in (e.first, e.last)]
    return next(iter([*recorded, *near, *(e.kind for e in version.evidence)]), None)


def _find_statement(
    marks: Iterable[Coordinates], observations: Mapping[Coordinates, Sequence[Observation]]
) -> str | None:
    return next((o.ddl for mark in marks for o in observations.get(mark, ()) if o.ddl), None)
