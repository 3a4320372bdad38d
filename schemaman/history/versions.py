"""The values of a table's history: versions, evidence, aliases, disagreements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from schemaman.debezium.observation import EvidenceKind, Observation
from schemaman.debezium.records import Coordinates
from schemaman.errors import UnknownName
from schemaman.history.epochs import NO_SETTINGS_SHOWN, ConnectorSettingsShown, Epoch, EventSchema
from schemaman.model.display import DisplayedValue, count_noun
from schemaman.model.schema import Path, TableId, TableSchema
from schemaman.plugins import Port

FIND_VERSION: Port[Callable[[TableHistory, str], SchemaVersion]] = Port("find a version")
"""Finds the version that a reference names; references are read above the histories that they name."""

INTERNAL_NULLABILITY = "internal-nullability-differs"
"""The disagreement of a connector's own schema history about which columns take nulls."""
Status = Literal["confirmed", "provisional", "phantom", "declared", "inferred"]
Ending = Literal["dropped", "renamed"]
Grade = Literal["stated", "proven", "likely", "possible"]
GRADE_WORDS: Mapping[Grade, str] = {
    "stated": "stated", "proven": "by column order", "likely": "likely", "possible": "possible",
}  # fmt: skip
"""The grades as reports print them; only a policy or a person acts on a rename that is not stated."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records of one evidence kind that support one version.

    `records` certainly belong to it. `shared_records` counts those of runs that began before the version or
    continued after it. Only the first and the last record of such a run have a known position; the others
    belong to this version, to that of the other edge, or to one between them. `positioned_edges` are the
    first and the last record with a position, if they differ from the edges: reads outside of the stream have
    none.
    """

    kind: EvidenceKind
    records: int
    first: Coordinates
    last: Coordinates
    shared_records: int = 0
    positioned_edges: tuple[Coordinates, Coordinates] | None = None

    @property
    def coordinates(self) -> tuple[Coordinates, ...]:
        """Every record with a known position, in the order of the source."""
        return (self.first, *(self.positioned_edges or ()), self.last)


@dataclass(frozen=True, slots=True)
class Revision:
    """The attributes of a version from `at` on; number 0 is the version as it began.

    They changed after `after`, the last record before (None for number 0), and no later than `at`.
    """

    number: int
    schema: TableSchema
    at: Coordinates
    after: Coordinates | None = None


@dataclass(frozen=True, slots=True)
class RenameCandidate:
    """A dropped and an added column that may be one; only `stated` ones are acted upon."""

    old: str
    new: str
    grade: Grade
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NestedFieldAnswer:
    """A person's answer whether a dropped and an added nested field are the same field."""

    old: Path
    new: Path
    same: bool


@dataclass(frozen=True, slots=True)
class Proof:
    """The coordinates from which on a fact that was read late is certain; `at` None: not yet confirmed.

    `fact` is named as in `unconfirmed`. The proof is valid for the revision `revision` and later ones, up to
    the next proof of the same fact. Of a key, `read_ms` is when it was first read, in epoch milliseconds of
    the database's clock; None if unknown. A record before `at` that was committed later has the key, too.
    """

    fact: str
    revision: int
    at: Coordinates | None
    read_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One schema of a table, and the interval of the source's log in which it began.

    The version began after `after` (None: nothing earlier is known) and no later than `at`. `until` are the
    first coordinates of its successor, None while it is valid. `id` is the fingerprint of its schema;
    `number` is an ordinal that late evidence may change.

    `unconfirmed` names the facts that may hold only later: `key`, `nullable:<column>` (of a new column, also
    its default) and `default:<column>`; and `type:<column>` if the connector's settings may have made the
    difference. Columns and types are valid at `at`. Key and nullability are certain from `proven_from` on,
    which may be later; None while one of them is unconfirmed. `proofs` list this for each fact that is not
    certain from its first record on, including defaults.

    `event_schemas` are the event schemas that differ from the version, each from its coordinates on.
    `candidates` are suspected renames from the previous version. `previous_ids` are the ids from its events
    alone, which it had before it was declared. `records` certainly belong to it. `field_answers` are the
    decisions about the step to it; no store keeps them.
    """

    number: int
    id: str
    incarnation: int
    status: Status
    revisions: tuple[Revision, ...]
    after: Coordinates | None
    at: Coordinates
    until: Coordinates | None
    records: int
    evidence: tuple[Evidence, ...]
    unconfirmed: tuple[str, ...] = ()
    candidates: tuple[RenameCandidate, ...] = ()
    proven_from: Coordinates | None = None
    event_schemas: tuple[EventSchema, ...] = ()
    previous_ids: tuple[str, ...] = ()
    field_answers: tuple[NestedFieldAnswer, ...] = ()
    proofs: tuple[Proof, ...] = ()

    def __repr__(self) -> str:
        counts = f"{count_noun(len(self.schema.columns), 'column')}, {count_noun(self.records, 'record')}"
        return f"<SchemaVersion {self.number}, id {self.id}, {self.status}: {counts}>"

    def has_id(self, id: str) -> bool:
        """Whether an id, or the first digits of one, is this version's or was it before it was declared."""
        return any(own.startswith(id) for own in (self.id, *self.previous_ids))

    def find_proofs(self, revision: int) -> tuple[Proof, ...]:
        """The proofs that hold of a revision: of each fact the last one up to it."""
        governing = {p.fact: p for p in self.proofs if p.revision <= revision}
        return tuple(governing.values())

    def find_event_schema(self, event_schema: EventSchema | None = None) -> TableSchema:
        """Return the version as an event schema: the given one, or the newest.

        A column has the name and the type of its field; a column that no event has is omitted.
        """
        schema = self.schema
        event_schema = event_schema or (self.event_schemas[-1] if self.event_schemas else None)
        others = {} if event_schema is None else {field.column: field for field in event_schema.fields}
        columns = []
        for column in schema.columns:
            field = others.get(column.name)
            if field is None:
                columns.append(replace(column, name=column.emitted_name or column.name))
            elif field.name is not None and field.type is not None:
                columns.append(replace(column, name=field.name, emitted_name=field.name, type=field.type))
        names = {c.id: c.name for c in columns}
        key = [names.get(c.id) for k in schema.key if (c := schema.column(k)) is not None]
        return TableSchema(tuple(columns), tuple(k for k in key if k is not None), schema.comment)

    @property
    def schema(self) -> TableSchema:
        """The structure with the attributes of the last revision."""
        return self.revisions[-1].schema

    @property
    def revision(self) -> int:
        """The number of the last revision."""
        return self.revisions[-1].number

    def format_number(self, revision: Revision) -> str:
        """Format the number for a reference to one of its revisions: `3.0`; `3` if there is only one."""
        return f"{self.number}.{revision.number}" if self.revision else str(self.number)

    @property
    def shared_records(self) -> int:
        """The records that belong to this version or to another one; the log does not decide which."""
        return sum(e.shared_records for e in self.evidence)


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a table, from `first` on (None: unknown), until `until` if it ended."""

    kind: Literal["topic", "schema_name", "table"]
    name: str
    first: Coordinates | None
    until: Coordinates | None = None


KeyOrigin = Literal["primary-key", "unique-index", "configured", "none", "unknown"]
"""What makes columns a key: the table, an index of it, `message.key.columns`; or there is no key. `unknown`:
no record shows its key, as in a dump of bare values."""


@dataclass(frozen=True, slots=True)
class KeySpan:
    """One key of a table, in key order, from the interval (`after`, `at`] on until `until`.

    `evidence` is its kind: declared, emitted without a declaration, or `events` if events have another key
    than the declared one. `origins` are the origins that match the known facts. `is_confirmed`: the key is
    certain from `at` on, or only from `proven_from` on if it was read later than the rows.
    """

    columns: tuple[str, ...]
    evidence: Literal["declared", "emitted", "events"]
    origins: tuple[KeyOrigin, ...]
    after: Coordinates | None
    at: Coordinates
    until: Coordinates | None = None
    is_confirmed: bool = True
    proven_from: Coordinates | None = None

    @property
    def certain_from(self) -> Coordinates | None:
        """The coordinates from which on it is certain; None while it is unconfirmed."""
        return (self.proven_from or self.at) if self.is_confirmed else None


REMARK_KINDS = frozenset(
    {
        "altered-unseen",
        "changed-while-read",
        "column-excluded",
        "column-not-streamed",
        "connector-changed",
        "emitted-leads-declared",
        "encoding-changed",
        "facts-not-told",
        "field-dormant",
        "key-index-dropped",
        "key-not-told",
        "key-in-passing",
        "key-order-not-told",
        "perhaps-altered",
        "perhaps-another-mode",
        "perhaps-excluded",
        "perhaps-made-anew",
        "perhaps-swapped",
        "perhaps-two-writers",
        "rarely-seen",
        "too-many-names",
        "values-not-carried",
        "writers-differ",
    }
)
"""The kinds of disagreements that are no contradiction: something other than the table may explain them."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two pieces of evidence that cannot both be right. The history records them and never merges them."""

    kind: str
    versions: tuple[int, ...]
    message: str
    coordinates: tuple[Coordinates, ...]

    @property
    def is_remark(self) -> bool:
        """Whether it only names a possible cause and contradicts no evidence."""
        return self.kind in REMARK_KINDS


@dataclass(frozen=True, slots=True)
class TableEvent:
    """An event of the whole table: `dropped`, `renamed`, `truncated`, `created`.

    `created`: the table existed again under its name, as a new incarnation, and no record had shown its
    schema yet; a connector's own schema history reports this, and a statement without a structure.
    `is_settled`: a person stated that late rows of the ended table are left out.
    """

    kind: Literal["dropped", "renamed", "truncated", "created"]
    at: Coordinates
    incarnation: int
    other: TableId | None = None
    is_settled: bool = False


@dataclass(frozen=True, slots=True)
class AcceptedType:
    """A type that a lake may keep for a column though the source has another one, as a person accepted.

    `path` is the column or nested field by its name in the newest version. `source` and `lake` are the two
    types as DDL; `why` says who accepted it, when and why.
    """

    path: Path
    source: str
    lake: str
    why: str


@dataclass(frozen=True, slots=True)
class TableHistory(DisplayedValue):
    """The history of one table. `connector` is the connector of its newest record.

    `epochs` are the periods of different event encodings; `settings_shown` are the connector settings that
    its events show; `keys` are its keys over time. `shared_records` counts the records that belong to one of
    several versions, unknown which, each once. `accepted_types` are people's decisions. A store
    may decode the `versions` when they are asked for; they are compared and hashed as a tuple.
    """

    table: TableId
    connector: str
    versions: Sequence[SchemaVersion]
    aliases: tuple[Alias, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    events: tuple[TableEvent, ...] = ()
    identity: Literal["source", "weak"] = "source"
    epochs: tuple[Epoch, ...] = ()
    settings_shown: ConnectorSettingsShown = NO_SETTINGS_SHOWN
    keys: tuple[KeySpan, ...] = ()
    shared_records: int = 0
    accepted_types: tuple[AcceptedType, ...] = ()

    def __repr__(self) -> str:
        ends = ", dropped" if self.is_dropped else ""
        counts = f"{count_noun(len(self.versions), 'version')}, {count_noun(self.records, 'record')}"
        return f"<TableHistory of {self.table}: {counts}{ends}>"

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.versions)

    def __iter__(self) -> Iterator[SchemaVersion]:
        return iter(self.versions)

    def __getitem__(self, number: int) -> SchemaVersion:
        """The version of that number. Raises `UnknownName`."""
        is_near = isinstance(number, int) and 0 < number <= len(self.versions)
        places = (number - 1,) if is_near else ()
        near = (self.versions[place] for place in places)
        found = next((v for v in chain(near, self.versions) if v.number == number), None)
        if found is None:
            raise UnknownName(
                f"{self.table} has no version {number!r}",
                hint=f"versions are {', '.join(str(v.number) for v in self.versions)}; see `latest`",
            )
        return found

    def at(self, when: str) -> SchemaVersion:
        """Find the version at a time or a position of the source, in the syntax of a REF after the `@`.

        `2026-11-01T12:00Z` is a commit time, `lsn:0/16B6A50` a position, `-1` the version before the latest.

        Raises:
            UsageError: two versions may have been valid then, or the text is malformed.
            NoHistory: the history begins later, or the table had been dropped.
        """
        return FIND_VERSION.load()(self, when)

    @property
    def records(self) -> int:
        """The number of records that support the history."""
        return sum(v.records for v in self.versions) + self.shared_records

    @property
    def latest(self) -> SchemaVersion:
        """The newest version."""
        return self.versions[-1]

    @property
    def last_record(self) -> Coordinates:
        """The newest record of the table, by the time of the source, else of the connector or broker."""
        marks = [e.last for v in self.versions for e in v.evidence]
        marks += [e.at for e in self.events] or [self.latest.at]
        return max(marks, key=lambda m: (m.ts_ms or m.read_ms or m.timestamp_ms or 0, m.offset))

    @property
    def end(self) -> TableEvent | None:
        """The event that ended the table, dropped or renamed; None while it exists."""
        ends = [e for e in self.events if e.kind in ("dropped", "renamed")]
        return ends[-1] if self.is_dropped else None

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of its row events, each once."""
        return tuple(dict.fromkeys(a.name for a in self.aliases if a.kind == "topic"))

    def find_repeats(self) -> Mapping[int, SchemaVersion]:
        """Find the versions that repeat an earlier schema: by number, the newest earlier version with it."""
        newest: dict[str, SchemaVersion] = {}
        repeats: dict[int, SchemaVersion] = {}
        for version in self.versions:
            if version.id in newest:
                repeats[version.number] = newest[version.id]
            newest[version.id] = version
        return repeats

    def is_key_unknown(self, version: SchemaVersion) -> bool:
        """Whether no record shows which key a version has, as in a dump of bare values."""
        if version.schema.key or "key" not in version.unconfirmed:
            return False
        return any(key.origins == ("unknown",) for key in self.keys)

    @property
    def is_disputed(self) -> bool:
        """Whether pieces of evidence contradict each other."""
        return any(not d.is_remark for d in self.disagreements)

    @property
    def has_ended(self) -> bool:
        """Whether the incarnation of the latest version has ended, even if its name is in use again."""
        last = self.versions[-1].incarnation if self.versions else 0
        return any(e.kind in ("dropped", "renamed") and e.incarnation == last for e in self.events)

    @property
    def is_dropped(self) -> bool:
        """Whether the newest incarnation has ended, even one without a known schema."""
        incarnations = [e for e in self.events if e.kind != "truncated"]
        return self.has_ended and incarnations[-1].kind != "created"


def find_perhaps_made_anew(history: TableHistory) -> frozenset[int]:
    """Find the numbers of the versions that may be those of another table under the name."""
    return frozenset(n for d in history.disagreements if d.kind == "perhaps-made-anew" for n in d.versions)


def find_recreated_columns(
    before: SchemaVersion, after: SchemaVersion
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Find the names that denote different columns in both versions: dropped and added again, or swapped.

    Returns the names of dropped columns and those of added columns.
    """
    if before.incarnation != after.incarnation:
        return (), ()
    was, now = ({c.name: c.id for c in v.schema.columns} for v in (before, after))
    old_ids, new_ids = set(was.values()), set(now.values())
    dropped = tuple(name for name, id in was.items() if name in now and id not in new_ids)
    return dropped, tuple(name for name, id in now.items() if name in was and id not in old_ids)


def replace_ids(version: SchemaVersion, ids: Mapping[int | None, int | None]) -> SchemaVersion:
    """Replace the ids of columns in each revision of a version."""

    def replace_in(schema: TableSchema) -> TableSchema:
        columns = tuple(replace(c, id=ids[c.id]) if c.id in ids else c for c in schema.columns)
        return replace(schema, columns=columns)

    revisions = tuple(replace(r, schema=replace_in(r.schema)) for r in version.revisions)
    return replace(version, revisions=revisions)


@dataclass(frozen=True, slots=True)
class EmittedSchema:
    """An event schema: `at` is the event, `name` the schema's own name.

    `has_changed`: the first event of the version has another schema, for example because a setting or the
    release of the connector changed.
    """

    schema: TableSchema
    at: Coordinates
    name: str | None
    has_changed: bool = False


def find_emitted_schema(version: SchemaVersion, testimony: Iterable[Observation]) -> EmittedSchema | None:
    """Find the schema of the newest event of a version among the observations of its table.

    None if no event with a schema belongs to the version.
    """
    evidence = next((e for e in version.evidence if e.kind == "emitted"), None)
    if evidence is None:
        return None
    events = [o for o in testimony if o.evidence == "emitted" and o.schema is not None]
    newest = next((o for o in events if evidence.last in (o.first, o.last)), None)
    if newest is None or newest.schema is None:
        return None
    first = next((o for o in events if evidence.first in (o.first, o.last)), newest)
    return EmittedSchema(newest.schema, evidence.last, newest.schema_name, first.schema != newest.schema)


UNRESOLVED_KINDS = frozenset(
    {"perhaps-altered", "perhaps-another-mode", "perhaps-two-writers", "values-not-carried"}
)
"""The kinds of remarks that the structures alone do not show."""


def list_unresolved(history: TableHistory, first: int, last: int) -> tuple[Disagreement, ...]:
    """List the unresolved remarks about the versions from `first` to `last`, each remark once."""
    found: dict[tuple[str, str], Disagreement] = {}
    for one in history.disagreements:
        if one.kind in UNRESOLVED_KINDS and any(first <= number <= last for number in one.versions):
            found[one.kind, one.message] = one
    return tuple(found.values())
