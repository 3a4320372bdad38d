"""What a record shows, or a run of records with one schema: observations, rejects, skipped records."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from schemaman.debezium.records import Coordinates, Record
from schemaman.model.schema import Path, TableId, TableSchema

EvidenceKind = Literal["declared", "emitted", "inferred", "internal"]

Action = Literal["image", "create", "drop", "rename", "truncate", "statement"]

Attribute = Literal["default", "comment", "key"]

StatedAttribute = tuple[str, Attribute | Literal["anew"], str | None]
"""A column (empty: the table), an attribute, and what a DDL text says of it; None: that it has none.

`anew`: the text drops the column and adds another of its name."""

STATEMENT_KINDS: frozenset[EvidenceKind] = frozenset({"declared", "internal"})
"""The witnesses of which each record is one statement, where events are many of one structure."""

UNKNOWN_SCHEMA = "registry does not know schema id"
"""How the reason begins where a record cannot be read before the registry knows a schema; of its key, `key: `
stands before."""

AMBIGUOUS_FORM = "nobody told the form"
"""How the reason begins where a record could have been written in several forms, until one is configured."""


def is_awaiting_schema(reason: str | None) -> bool:
    """Whether the reason of a fault is a schema that the registry may know later, or a form not yet told."""
    return reason is not None and reason.removeprefix("key: ").startswith((UNKNOWN_SCHEMA, AMBIGUOUS_FORM))


ALTERNATIONS = 64
"""A table with more runs that say one thing after the other in one partition is told as one counted interval
a thing."""

MANY_SHAPES = "many shapes"
"""The shape of a run of rows without schemas that have more structures than `ALTERNATIONS`."""


@dataclass(frozen=True, slots=True)
class FieldCount:
    """How often a kind of value was seen in a place of documents.

    `path` has names of members, and `inference.ELEMENT` inside arrays. `documents` counts records, however
    many values each has there. `early` are the first few of them in time, in order; `last` is the last one.
    """

    path: Path
    kind: str
    documents: int
    early: tuple[Coordinates, ...]
    last: Coordinates


@dataclass(frozen=True, slots=True)
class InferredFields:
    """What `documents` records without a schema showed: a tally for each path and kind, in order.

    `truncated_paths` names the places below which there was more than is kept: a column, or the whole table as ().
    """

    documents: int = 0
    counts: tuple[FieldCount, ...] = ()
    truncated_paths: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaRun:
    """Records of one topic-partition and one table whose bytes prove one shape.

    Records of other tables may lie in between. Positions never go back inside a run; where
    they do, a new run begins. `shape` names the bytes that prove the shape and the identity.
    `sample` is the first record: it is decoded for all, and never stored. `last_hash` is the
    `record_hash` of the last one. `fault` tells why
    a record could not even be compared (then `count` is 1). `interrupted`: other shapes of
    the same table lie between, since they alternate too often to be told one by one. `alike`: one of the
    runs of a table that were too many: each holds neighbours that say the same, whatever their shapes.
    `table` is what the records call their table: (server, database, schema, table), or the
    schema's name where no source block speaks; empty for a record that stands alone. `inferred`: what
    all of its records showed where no schema tells their structure.
    """

    shape: str
    first: Coordinates
    last: Coordinates
    count: int
    sample: Record
    fault: str | None = None
    interrupted: bool = False
    alike: bool = False
    table: tuple[str, ...] = ()
    inferred: InferredFields | None = None
    last_hash: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was said about which table, by whom, when.

    For `declared`, `schema` is the source face: raw names, database types. For `emitted`
    it is the wire face: field names as they travel, the logical types that the Connect
    schema tells, the key in key-schema order (empty for a null key). `internal` is the source
    face as the connector's own schema history keeps it. `schema` is None for `drop`, `truncate`
    and `statement`, a DDL text that came without a structure; it may be None for a `rename`.
    `create`: a statement made the table anew; whatever had its name before is gone. `previous` is
    the old identity of a `rename`, or the copy that took the table's place. `snapshot`: read from
    the table, not from the log. `renames`: (old, new) column names that a DDL text states;
    `stated_attributes`: what it says of defaults and comments, and which columns it drops and adds again;
    `unstated_attributes`: attributes that the structure itself cannot tell. `weak`: the identity of the table
    rests on names of topics or schemas, as no source block told it.
    """

    table: TableId
    evidence: EvidenceKind
    action: Action
    connector: str
    connector_version: str
    first: Coordinates
    last: Coordinates
    count: int
    snapshot: bool
    schema: TableSchema | None = None
    previous: TableId | None = None
    ddl: str | None = None
    renames: tuple[tuple[str, str], ...] = ()
    schema_name: str | None = None
    interrupted: bool = False
    weak: bool = False
    stated_attributes: tuple[StatedAttribute, ...] = ()
    unstated_attributes: tuple[Attribute, ...] = ()
    inferred: InferredFields | None = None

    def __hash__(self) -> int:
        """Of where it stands and what it says first: all that it says takes fifty times as long."""
        columns = () if self.schema is None else self.schema.columns
        told = (len(columns), columns[0], columns[-1]) if columns else self.evidence
        first, last = self.first, self.last
        return hash((first.topic, first.partition, first.offset, last.offset, told))


@dataclass(frozen=True, slots=True)
class Reject:
    """Records that were not understood: where, why, and a hash of the first one's bytes."""

    stream: str
    topic: str
    partition: int
    offset: int
    count: int
    reason: str
    sha256: str
    payload: bytes | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Records that are no testimony about a table: `heartbeat`, `transaction`, `tombstone` and others."""

    kind: str
    first: Coordinates
    count: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person should know about records which were understood, and that is no structure.

    `kind` is a word for programs, such as `ddl-not-parsed`; `message` says what, and what it means.
    `table` is the one that it is about, if any.
    """

    stream: str
    topic: str
    partition: int
    offset: int
    kind: str
    message: str
    table: TableId | None = None
    count: int = 1


UNORDERED, FILLED_LATE = "schema-changes-unordered", "gaps-filled-late"
"""Notes that are about a topic and not about a record of it."""

SIGNAL_TABLE, KEY_TYPE = "signal-table", "key-type-differs"
"""Notes that are about a table and not about a record of it."""

_LASTING = frozenset({UNORDERED, FILLED_LATE, SIGNAL_TABLE, KEY_TYPE})


def merge_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes, with those about a topic or a table once for each, at the first record, all counted."""
    found: dict[object, Note] = {}
    for number, note in enumerate(notes):
        what = (note.stream, note.topic, note.table, note.kind, note.message)
        place = what if note.kind in _LASTING else number
        known = found.get(place)
        if known is None:
            found[place] = note
        else:
            first = min(known, note, key=lambda n: (n.partition, n.offset))
            found[place] = replace(first, count=known.count + note.count)
    return tuple(found.values())


Outcome = Observation | Reject | Skipped | Note


def skip_run(run: SchemaRun, kind: str) -> Skipped:
    """The run, known and of no concern to the history of tables."""
    return Skipped(kind, run.first, run.count)


def reject_run(run: SchemaRun, stream: str, reason: str) -> Reject:
    """The run, not understood; the hash is of its first record's value, or key where there is none."""
    record = run.sample
    data = record.value if record.value is not None else record.key or b""
    return Reject(
        stream=stream,
        topic=run.first.topic,
        partition=run.first.partition,
        offset=run.first.offset,
        count=run.count,
        reason=reason,
        sha256=hashlib.sha256(data).hexdigest(),
    )
