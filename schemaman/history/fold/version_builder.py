"""A version while it is being built, and what its points make of it in the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schemaman.debezium.inference import hide_types
from schemaman.debezium.observation import EvidenceKind, Observation
from schemaman.debezium.records import Coordinates
from schemaman.history.epochs import EventSchema
from schemaman.history.fold.event_encoding import EventFields, make_event_schema
from schemaman.history.fold.event_match import ColumnFit
from schemaman.history.fold.timeline import Point
from schemaman.history.versions import Evidence, Revision, Status
from schemaman.model.name_adjustment import list_adjusted_forms
from schemaman.model.schema import TableSchema, fingerprint


@dataclass(frozen=True, slots=True)
class VersionShape:
    """What makes a version, as far as its records show it: its schema, and the revisions of its attributes.

    `is_declared`: a declared image gave the schema. `previous_ids` are the ids that the version had before
    later records completed its schema.
    """

    id: str
    revisions: tuple[Revision, ...]
    is_declared: bool = False
    previous_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionCaveats:
    """What limits the certainty of a version.

    `is_phantom`: the schema may be of another table. `has_statement`: a statement was read that led to it.
    `uncertain_types` names columns whose form changed, where a setting of the connector may have done that.
    `is_key_doubted`: its newest structure has a key that the table may have lost. `is_key_unknown`: no record
    of it shows its key, and none before it does.
    """

    is_phantom: bool = False
    has_statement: bool = False
    uncertain_types: tuple[str, ...] = ()
    is_key_doubted: bool = False
    is_key_unknown: bool = False


NO_CAVEATS = VersionCaveats()


@dataclass(slots=True)
class EventForms:
    """How events carry the columns of a version: declared name → name in events, and the event schemas."""

    names: dict[str, str] = field(default_factory=dict)
    schemas: list[tuple[int, Coordinates, EventFields]] = field(default_factory=list)

    def add_schema(self, epoch: int, mark: Coordinates, event_fields: EventFields) -> None:
        """Keep the event schema if it is new."""
        if not self.schemas or self.schemas[-1][2] != event_fields:
            self.schemas.append((epoch, mark, event_fields))

    def rename_columns(self, fit: ColumnFit, emitted: TableSchema) -> None:
        """Put the event schemas under the names that were declared later."""
        self.names = map_event_names(fit, emitted)
        self.schemas = [
            (epoch, mark, dict(zip(fit.translate_names(event_fields), event_fields.values(), strict=True)))
            for epoch, mark, event_fields in self.schemas
        ]


@dataclass(slots=True)
class OpenVersion:
    """A version while it is being built: what it is, what supports it, and what limits its certainty.

    `place` counts the versions before it; `next_id` is the first column id that it and these do not have.
    """

    incarnation: int
    after: Coordinates | None
    at: Coordinates
    shape: VersionShape
    points: list[Point] = field(default_factory=list)
    caveats: VersionCaveats = NO_CAVEATS
    until: Coordinates | None = None
    repeats: list[Observation] = field(default_factory=list)
    internal_observations: list[Observation] = field(default_factory=list)
    event_forms: EventForms = field(default_factory=EventForms)
    place: int = 0
    next_id: int = 1
    known_fields: tuple[TableSchema, frozenset[str]] | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """The id of the shape."""
        return self.shape.id

    @property
    def is_declared(self) -> bool:
        """Whether a declared image gave the structure."""
        return self.shape.is_declared

    @property
    def schema(self) -> TableSchema:
        """The structure as of the last revision."""
        return self.shape.revisions[-1].schema

    @property
    def fields(self) -> frozenset[str]:
        """Every name under which a field of it may travel."""
        schema = self.schema
        if self.known_fields is None or self.known_fields[0] is not schema:
            forms = (form for name in schema.names for form in list_adjusted_forms(name))
            self.known_fields = (schema, frozenset(forms))
        return self.known_fields[1]

    def replace_schemas(self, change: Callable[[TableSchema], TableSchema]) -> None:
        """Change the schema of each revision."""
        revisions = tuple(replace(r, schema=change(r.schema)) for r in self.shape.revisions)
        self.shape = replace(self.shape, revisions=revisions)

    def mark_uncertain_types(self, fields: Iterable[str]) -> None:
        """The columns of these fields may be as they were before."""
        names = {c.emitted_name or c.name: c.name for c in self.schema.columns}
        uncertain = (*self.caveats.uncertain_types, *(names[field] for field in fields if field in names))
        self.caveats = replace(self.caveats, uncertain_types=uncertain)

    def add_revision(self, schema: TableSchema, at: Coordinates, after: Coordinates | None) -> None:
        """Other attributes from `at` on; `after` is the last record before."""
        known = self.shape.revisions
        revision = Revision(known[-1].number + 1, schema, at, after)
        self.shape = replace(self.shape, revisions=(*known, revision))

    def refine_structure(self, fit: ColumnFit, schema: TableSchema, point: Point) -> None:
        """Replace the schema from events with the declared schema."""
        emitted = self.schema
        known = {c.name: c.id for c in emitted.columns}
        columns = tuple(replace(c, id=known[fit.names[c.name]]) for c in schema.columns)
        refined = replace(schema, columns=columns)
        self.event_forms.rename_columns(fit, emitted)
        self.shape = replace(
            self.shape,
            id=fingerprint(refined),
            revisions=(Revision(0, refined, self.at),),
            is_declared=True,
        )
        self.points.append(point)


def is_untyped(observation: Observation) -> bool:
    """Whether it comes from rows without types."""
    return observation.evidence == "inferred" and observation.inferred is not None


def fingerprint_names(schema: TableSchema) -> str:
    """The id of the shape of such rows: names and key; a type is known better with every record."""
    return fingerprint(hide_types(schema))


def set_key(schema: TableSchema, key: tuple[str, ...], evidence: EvidenceKind) -> TableSchema:
    """Return the schema with a key; a key column of rows without a schema is not nullable."""
    if evidence != "inferred":
        return replace(schema, key=key)
    columns = tuple(replace(c, nullable=False) if c.name in key else c for c in schema.columns)
    return replace(schema, columns=columns, key=key)


def learn_key(version: OpenVersion, key: tuple[str, ...], observation: Observation) -> None:
    """Give a version the key that a record showed later, if the version has its columns."""
    version.caveats = replace(version.caveats, is_key_unknown=False)
    if not key or not set(key) <= set(version.schema.names):
        return
    previous = version.shape
    version.replace_schemas(lambda schema: set_key(schema, key, observation.evidence))
    first = version.shape.revisions[0].schema
    version.shape = replace(
        version.shape,
        id=fingerprint_names(first) if is_untyped(observation) else fingerprint(first),
        previous_ids=(*previous.previous_ids, previous.id),
    )


def map_event_names(fit: ColumnFit, emitted: TableSchema) -> dict[str, str]:
    """Map declared name → name in events; an event may contain the declared name beside its own."""
    wire = {c.name: c.emitted_name or c.name for c in emitted.columns}
    return {declared: wire[name] for declared, name in fit.names.items()}


def set_emitted_names(revision: Revision, emitted: dict[str, str]) -> Revision:
    """The revision with the names under which its columns travel."""
    if not emitted:
        return revision
    schema = revision.schema
    columns = tuple([c.with_identity(c.id, emitted.get(c.name, c.emitted_name)) for c in schema.columns])
    return replace(revision, schema=replace(schema, columns=columns))


def list_event_schemas(version: OpenVersion, schema: TableSchema) -> tuple[EventSchema, ...]:
    """The event schemas of the version, compared with its closed schema; none if they are equal."""
    event_schemas: list[EventSchema] = []
    for epoch, mark, event_fields in version.event_forms.schemas:
        event_schema = make_event_schema(epoch, mark, schema, event_fields)
        if event_schema.fields != (event_schemas[-1].fields if event_schemas else ()):
            event_schemas.append(event_schema)
    return tuple(event_schemas)


def find_status(version: OpenVersion, unconfirmed: tuple[str, ...]) -> Status:
    """The status of the version; `phantom`: a schema that the table never had, and that no event shows."""
    kinds = {p.observation.evidence for p in version.points}
    if kinds == {"inferred"}:
        return "inferred"
    if version.caveats.is_phantom and "emitted" not in kinds:
        return "phantom"
    if version.is_declared and not version.caveats.is_key_doubted:
        return "confirmed" if "emitted" in kinds else "declared"
    return "provisional" if unconfirmed else "confirmed"


def collect_evidence(version: OpenVersion, spread: Collection[Observation]) -> tuple[Evidence, ...]:
    """The evidence by kind, in order of its first record.

    Each edge of a run that is `spread` over several versions is a record of the version at its position; the
    other records of the run are shared.
    """
    result: list[Evidence] = []
    edges: dict[EvidenceKind, list[Coordinates]] = {}
    for point in version.points:
        edges.setdefault(point.observation.evidence, []).append(point.coordinates)
    kinds = tuple(edges)
    for observation in version.repeats:
        if observation.evidence not in kinds:
            edges.setdefault(observation.evidence, []).extend((observation.first, observation.last))
    surely, shared = _count_records(version, spread)
    for kind, marks in edges.items():
        edge, positioned = (marks[0], marks[-1]), _find_positioned_edges(marks)
        result.append(Evidence(kind, surely[kind], *edge, shared[kind], positioned))
    if version.internal_observations:
        internal = sorted(
            version.internal_observations, key=lambda o: (o.first.topic, o.first.partition, o.first.offset)
        )
        result.append(
            Evidence("internal", sum(o.count for o in internal), internal[0].first, internal[-1].last)
        )
    return tuple(result)


def _find_positioned_edges(marks: Sequence[Coordinates]) -> tuple[Coordinates, Coordinates] | None:
    """The first and the last coordinates with a position, if these are not the outer ones."""
    positioned = [mark for mark in marks if mark.position.kind != "none"]
    if len(positioned) == len(marks):
        return None
    if not positioned or (positioned[0], positioned[-1]) == (marks[0], marks[-1]):
        return None
    return (positioned[0], positioned[-1])


def _count_records(
    version: OpenVersion, spread: Collection[Observation]
) -> tuple[Mapping[EvidenceKind, int], Mapping[EvidenceKind, int]]:
    """The records that certainly belong to the version, and the shared ones, by kind of evidence."""
    surely, shared = defaultdict[EvidenceKind, int](int), defaultdict[EvidenceKind, int](int)
    for observation in version.repeats:
        surely[observation.evidence] += observation.count
    for observation in dict.fromkeys([p.observation for p in version.points]):
        if observation in spread:
            surely[observation.evidence] += 1
            shared[observation.evidence] += count_undivided(observation)
        else:
            surely[observation.evidence] += observation.count
    return surely, shared


def find_shared_runs(versions: Iterable[OpenVersion]) -> frozenset[Observation]:
    """The runs with edges in two versions: the records between belong to one or the other."""
    seen: set[Observation] = set()
    found: list[Observation] = []
    for version in versions:
        own = {p.observation for p in version.points}
        if not own.isdisjoint(seen):
            found += own & seen
        seen |= own
    return frozenset(found)


def count_undivided(run: Observation) -> int:
    """The records of a run between its edges."""
    return max(run.count - 2, 0)
