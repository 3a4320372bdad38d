"""The outcomes of a run of records with one schema: observations, rejects, skipped records, notes."""

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
"""A column (empty: the table), an attribute, and its value in a DDL text; None removes the attribute.

`anew`: the text drops the column and adds another column of the same name."""

KEY_UNKNOWN: tuple[Attribute, ...] = ("key",)
"""The unstated attributes of events whose key is unknown: it is not in the dump, or nothing can read it."""

STATEMENT_KINDS: frozenset[EvidenceKind] = frozenset({"declared", "internal"})
"""The kinds of evidence in which each record is one statement; many events share one structure."""

UNKNOWN_SCHEMA = "registry does not know schema id"
"""The reason for a reject begins so if the registry does not know the schema of a record yet; if it is the
schema of the key, `key: ` comes first."""

AMBIGUOUS_FORM = "ambiguous form"
"""The reason for a reject begins so if several forms fit a record, until one form is configured."""

_PREVIOUS_AMBIGUOUS_FORM = "nobody told the form"
"""The beginning of the same reason in stores that earlier releases wrote."""

_AWAITING = (UNKNOWN_SCHEMA, AMBIGUOUS_FORM, _PREVIOUS_AMBIGUOUS_FORM)


def is_awaiting_schema(reason: str | None) -> bool:
    """Return whether a reject waits for a schema in the registry or for a configured form."""
    return reason is not None and reason.removeprefix("key: ").startswith(_AWAITING)


ALTERNATIONS = 64
"""The most runs of a table in one partition that are kept one by one. Beyond it, all runs of one content
become one counted interval."""

MANY_SHAPES = "many shapes"
"""The shape of a run of rows without schemas that have more than `ALTERNATIONS` structures."""


@dataclass(frozen=True, slots=True)
class FieldCount:
    """The number of records that have a kind of value at a path.

    `path` has names of fields, and `inference.ELEMENT` inside arrays. `documents` counts records, not values:
    a record with several values at the path counts once, and again each time it is delivered. `early` are
    the coordinates of the earliest few records in time, in order; `last` are those of the latest one.
    `hashes` identify the `early` records, so that a record of a copied topic is early only once; the hash of
    a record that nothing identifies is empty.
    """

    path: Path
    kind: str
    documents: int
    early: tuple[Coordinates, ...]
    last: Coordinates
    hashes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InferredFields:
    """The fields of `documents` records without a schema: a count for each path and kind, in order.

    `truncated_paths` are the columns of which not all paths are kept; () means that the table has more
    columns.
    """

    documents: int = 0
    counts: tuple[FieldCount, ...] = ()
    truncated_paths: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class SchemaRun:
    """Records of one topic-partition and one table whose bytes prove one shape.

    Records of other tables may lie between them. Positions never decrease inside a run; where a position
    decreases, a new run begins. `shape` identifies the bytes that prove the schema and the table.

    `sample` is the first record: it is decoded for all records, and never stored. `last_hash` is the
    `hash_record` of the last record. `fault` is the reason why a record cannot be compared (then `count` is
    1). `interrupted`: records of other shapes of the table lie between, since shapes alternate too often to
    be kept one by one. `alike`: the table had too many runs, and this run holds neighbours of equal content,
    whatever their shapes.

    `table` is the table's name in the records: (server, database, schema, table) and its shard if it has
    one, or the schema's name without a source block; empty for a record that forms a run by itself.
    `inferred` are the fields of all records, if no schema has their structure.
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


class _KeptOfObservation:
    """The hash of an observation, which a fold asks for about ten times."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Observation(_KeptOfObservation):
    """Evidence of a table's schema, or of an action on the table: which table, what kind of evidence, when.

    For `declared`, `schema` is the source schema: raw names, database types. For `emitted` it is the event
    schema: field names of events, logical types of the Connect schema, the key in key-schema order (empty for
    a null key). For `internal` it is the source schema in the connector's own schema history. `schema` is
    None for `drop`, `truncate` and `statement`, a DDL text without a structure; it may be None for a
    `rename`.

    A `drop` of a table without a name ends all tables of the database (`is_of_database`). One with a
    `previous` names the database in another case: only a server that ignores case dropped the table.

    `create`: a statement created the table, and another table of its name was dropped. `previous` is the old
    identity of a `rename`, or the copy that replaced the table. `snapshot`: the connector read the row from
    the table, not from the log.

    `renames` are (old, new) column names that a DDL text states. `stated_attributes` are its defaults and
    comments, and the columns that it drops and adds again. `unstated_attributes` are the attributes that the
    structure never has; an event with `key` among them may have had any key. `weak`: the identity of the
    table comes from names of topics or schemas, since there is no source block.
    `writer` is the shard of the table that the record comes from; empty if it names none.
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
    writer: str = ""

    @property
    def is_of_database(self) -> bool:
        """Whether it is an action on a whole database: then its table has no name."""
        return self.action == "drop" and not self.table.table

    @property
    def is_key_unknown(self) -> bool:
        """Whether it is an event that does not show its key; its structure has no key columns then."""
        return self.evidence not in STATEMENT_KINDS and "key" in self.unstated_attributes

    def __hash__(self) -> int:
        """Hash the coordinates and two of the columns: hashing all attributes takes fifty times as long."""
        try:
            return self._hash
        except AttributeError:
            columns = () if self.schema is None else self.schema.columns
            content = (len(columns), columns[0], columns[-1]) if columns else self.evidence
            first, last = self.first, self.last
            found = hash((first.topic, first.partition, first.offset, last.offset, content))
            object.__setattr__(self, "_hash", found)
            return found


def forget_key(observation: Observation) -> Observation:
    """Return an observation of an event without its key, since the record does not show which key it had."""
    schema = observation.schema
    return replace(
        observation,
        schema=None if schema is None else replace(schema, key=()),
        unstated_attributes=KEY_UNKNOWN,
    )


@dataclass(frozen=True, slots=True)
class Reject:
    """Records that cannot be read: place in the topic, reason, and a hash of the first one's bytes."""

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
    """Records that say nothing of a table: `heartbeat`, `transaction`, `tombstone` and other kinds."""

    kind: str
    first: Coordinates
    count: int


@dataclass(frozen=True, slots=True)
class Note:
    """A message for people about records that were read, which is no part of a table's schema.

    `kind` is a word for programs, such as `ddl-not-parsed`. `message` states the fact and its consequence.
    `table` is the table of the message, if it has one.
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
"""Kinds of notes about a whole topic."""

DDL_WITHOUT_STRUCTURE = "ddl-without-structure"
"""The kind of a note about a statement that has a table, but not its structure."""

SIGNAL_TABLE, KEY_TYPE = "signal-table", "key-type-differs"
KEY_UNREADABLE, CONNECTOR_UNKNOWN = "key-unreadable", "connector-unknown"
TABLE_UNNAMED, WRAPPED_VALUES = "table-unnamed", "wrapped-values"
"""Kinds of notes about a whole table."""

_LASTING = frozenset(
    {UNORDERED, FILLED_LATE, SIGNAL_TABLE, KEY_TYPE, KEY_UNREADABLE, CONNECTOR_UNKNOWN, TABLE_UNNAMED,
     WRAPPED_VALUES}
)  # fmt: skip


def merge_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Merge the notes about one topic or one table into one, at the first record, and add up counts."""
    found: dict[object, Note] = {}
    for number, note in enumerate(notes):
        what = (note.stream, note.topic, note.table, note.kind, note.message)
        key = what if note.kind in _LASTING else number
        known = found.get(key)
        if known is None:
            found[key] = note
        else:
            first = min(known, note, key=lambda n: (n.partition, n.offset))
            found[key] = replace(first, count=known.count + note.count)
    return tuple(found.values())


Outcome = Observation | Reject | Skipped | Note


def skip_run(run: SchemaRun, kind: str) -> Skipped:
    """Return the outcome of a run that says nothing of a table."""
    return Skipped(kind, run.first, run.count)


def reject_run(run: SchemaRun, stream: str, reason: str) -> Reject:
    """Return the reject of a run, with a hash of the first record's value, or of its key."""
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
