"""What is written into the log comes back as it was, and what cannot be read is refused by name."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemaman.debezium.observation import (
    FieldCount,
    InferredFields,
    Note,
    Observation,
    Reject,
)
from schemaman.debezium.records import Coordinates, Position
from schemaman.errors import StoreUnavailable
from schemaman.history.epochs import (
    ConnectorSettingsShown,
    Epoch,
    EventField,
    EventSchema,
    FormChange,
    FormInterval,
)
from schemaman.history.versions import (
    Alias,
    Disagreement,
    Evidence,
    KeySpan,
    NestedFieldAnswer,
    Proof,
    RenameCandidate,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
)
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer
from schemaman.store import entry_json as codec
from schemaman.store import history_json as history_codec
from schemaman.store import schema_json as structure_codec
from schemaman.store.log import (
    CoveredRange,
    Entry,
    MigrationEntry,
    NoteEntry,
    ObservationEntry,
    RejectEntry,
    RenumberingEntry,
    VersionMove,
)
from tests.support.strategies import DEFAULTS, NAMES, TEXTS, TYPES, schemas

MAYBE_TEXT = st.none() | TEXTS
MAYBE_MS = st.none() | st.integers(0, 2**53)
COUNTS = st.integers(0, 2**40)


def every(cls: type[Any], **members: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of a class with every field made up: a field that is added must be written too."""
    assert set(members) == {f.name for f in fields(cls)}, cls
    return st.builds(cls, **members)


POSITIONS = every(
    Position,
    kind=st.sampled_from(["lsn", "commit_lsn", "binlog", "gtid", "scn", "mongo", "none"]),
    value=TEXTS,
    commit=MAYBE_TEXT,
)
MARKS: st.SearchStrategy[Coordinates] = every(
    Coordinates,
    topic=NAMES,
    partition=st.integers(0, 9),
    offset=COUNTS,
    position=POSITIONS,
    ts_ms=MAYBE_MS,
    read_ms=MAYBE_MS,
    timestamp_ms=MAYBE_MS,
)
TABLES: st.SearchStrategy[TableId] = every(
    TableId, server=NAMES, database=TEXTS, schema=TEXTS, table=NAMES, stream=NAMES
)
SCHEMAS = st.one_of(schemas(), schemas(ids=True))
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
TALLIES: st.SearchStrategy[FieldCount] = every(
    FieldCount,
    path=PATHS,
    kind=NAMES,
    documents=COUNTS,
    early=st.lists(MARKS, max_size=3).map(tuple),
    last=MARKS,
)
SEEN: st.SearchStrategy[InferredFields] = every(
    InferredFields,
    documents=COUNTS,
    counts=st.lists(TALLIES, max_size=3).map(tuple),
    truncated_paths=st.lists(PATHS, max_size=2).map(tuple),
)
OBSERVATIONS: st.SearchStrategy[Observation] = every(
    Observation,
    table=TABLES,
    evidence=st.sampled_from(["declared", "emitted", "inferred", "internal"]),
    action=st.sampled_from(["image", "create", "drop", "rename", "truncate", "statement"]),
    connector=NAMES,
    connector_version=TEXTS,
    first=MARKS,
    last=MARKS,
    count=COUNTS,
    snapshot=st.booleans(),
    schema=st.none() | SCHEMAS,
    previous=st.none() | TABLES,
    ddl=MAYBE_TEXT,
    renames=st.lists(st.tuples(NAMES, NAMES), max_size=2).map(tuple),
    schema_name=MAYBE_TEXT,
    interrupted=st.booleans(),
    weak=st.booleans(),
    stated_attributes=st.lists(
        st.tuples(TEXTS, st.sampled_from(["default", "comment", "anew"]), MAYBE_TEXT), max_size=2
    ).map(tuple),
    unstated_attributes=st.sampled_from([(), ("default",), ("comment", "key")]),
    inferred=st.none() | SEEN,
)
REJECTS = every(
    Reject,
    stream=NAMES,
    topic=NAMES,
    partition=st.integers(0, 9),
    offset=COUNTS,
    count=COUNTS,
    reason=TEXTS,
    sha256=TEXTS,
    payload=st.none() | st.binary(max_size=9),
)
NOTES = every(
    Note,
    stream=NAMES,
    topic=NAMES,
    partition=st.integers(0, 9),
    offset=COUNTS,
    kind=NAMES,
    message=TEXTS,
    table=st.none() | TABLES,
    count=COUNTS,
)
ENTRIES: st.SearchStrategy[Entry] = st.one_of(
    st.builds(ObservationEntry, OBSERVATIONS),
    st.builds(RejectEntry, REJECTS),
    st.builds(NoteEntry, NOTES),
    every(
        CoveredRange,
        stream=NAMES,
        topic=NAMES,
        partition=st.integers(0, 9),
        first=COUNTS,
        last=COUNTS,
        first_hash=TEXTS,
        last_hash=TEXTS,
        skipped_counts=st.lists(st.tuples(NAMES, COUNTS), max_size=2).map(tuple),
        gaps=st.lists(st.tuples(COUNTS, COUNTS), max_size=3).map(tuple),
        edges=st.lists(st.tuples(COUNTS, TEXTS), max_size=3).map(tuple),
    ),
    every(
        RenumberingEntry,
        table=TABLES,
        moves=st.lists(st.builds(VersionMove, NAMES, COUNTS, st.none() | COUNTS), max_size=3).map(tuple),
    ),
    every(
        MigrationEntry,
        run=NAMES,
        plan=NAMES,
        target=NAMES,
        step=st.none() | st.integers(0, 9),
        state=st.sampled_from(["intent", "done", "skipped", "failed", "started", "finished"]),
        statement=TEXTS,
        version=TEXTS,
        error=TEXTS,
    ),
)
PATHS = st.lists(NAMES, min_size=2, max_size=3).map(tuple)
VERSIONS = every(
    SchemaVersion,
    number=st.integers(1, 99),
    id=st.text("0123456789abcdef", min_size=12, max_size=12),
    incarnation=st.integers(1, 3),
    status=st.sampled_from(["confirmed", "provisional", "phantom", "declared", "inferred"]),
    revisions=st.lists(
        every(Revision, number=st.integers(0, 5), schema=SCHEMAS, at=MARKS, after=st.none() | MARKS),
        min_size=1,
        max_size=2,
    ).map(tuple),
    after=st.none() | MARKS,
    at=MARKS,
    until=st.none() | MARKS,
    records=COUNTS,
    evidence=st.lists(
        every(
            Evidence,
            kind=st.sampled_from(["declared", "emitted", "inferred", "internal"]),
            records=COUNTS,
            first=MARKS,
            last=MARKS,
            shared_records=COUNTS,
            positioned_edges=st.none() | st.tuples(MARKS, MARKS),
        ),
        max_size=2,
    ).map(tuple),
    unconfirmed=st.lists(NAMES, max_size=2).map(tuple),
    candidates=st.lists(
        every(
            RenameCandidate,
            old=NAMES,
            new=NAMES,
            grade=st.sampled_from(["stated", "proven", "likely", "possible"]),
            evidence=st.lists(TEXTS, max_size=2).map(tuple),
        ),
        max_size=1,
    ).map(tuple),
    proven_from=st.none() | MARKS,
    proofs=st.lists(
        every(Proof, fact=NAMES, revision=st.integers(0, 5), at=st.none() | MARKS), max_size=3
    ).map(tuple),
    previous_ids=st.lists(st.text("0123456789abcdef", min_size=12, max_size=12), max_size=2).map(tuple),
    field_answers=st.lists(
        every(NestedFieldAnswer, old=PATHS, new=PATHS, same=st.booleans()),
        max_size=1,
    ).map(tuple),
    event_schemas=st.lists(
        every(
            EventSchema,
            epoch=st.integers(1, 9),
            at=MARKS,
            fields=st.lists(
                every(EventField, column=NAMES, name=st.none() | NAMES, type=st.none() | TYPES), max_size=2
            ).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)
FOOTPRINTS = every(
    ConnectorSettingsShown,
    changes=st.lists(
        every(
            FormChange,
            columns=st.lists(NAMES, max_size=2).map(tuple),
            was=TEXTS,
            now=TEXTS,
            at=MARKS,
            since_ms=COUNTS,
            after_ms=COUNTS,
            at_ms=COUNTS,
            until_ms=COUNTS,
        ),
        max_size=2,
    ).map(tuple),
    form_intervals=st.lists(every(FormInterval, form=TEXTS, first_ms=COUNTS, last_ms=COUNTS), max_size=2).map(
        tuple
    ),
)
HISTORIES: st.SearchStrategy[TableHistory] = every(
    TableHistory,
    table=TABLES,
    connector=NAMES,
    versions=st.lists(VERSIONS, max_size=2).map(tuple),
    aliases=st.lists(
        every(
            Alias,
            kind=st.sampled_from(["topic", "schema_name", "table"]),
            name=NAMES,
            first=st.none() | MARKS,
            until=st.none() | MARKS,
        ),
        max_size=2,
    ).map(tuple),
    disagreements=st.lists(
        every(
            Disagreement,
            kind=NAMES,
            versions=st.lists(st.integers(1, 9), max_size=2).map(tuple),
            message=TEXTS,
            coordinates=st.lists(MARKS, max_size=2).map(tuple),
        ),
        max_size=1,
    ).map(tuple),
    events=st.lists(
        every(
            TableEvent,
            kind=st.sampled_from(["dropped", "renamed", "truncated"]),
            at=MARKS,
            incarnation=st.integers(1, 3),
            other=st.none() | TABLES,
        ),
        max_size=1,
    ).map(tuple),
    identity=st.sampled_from(["source", "weak"]),
    epochs=st.lists(
        every(
            Epoch,
            number=st.integers(1, 9),
            connector=NAMES,
            connector_version=TEXTS,
            after=st.none() | MARKS,
            at=MARKS,
            changes=st.lists(TEXTS, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    settings_shown=FOOTPRINTS,
    shared_records=COUNTS,
    keys=st.lists(
        every(
            KeySpan,
            columns=st.lists(NAMES, max_size=2).map(tuple),
            evidence=st.sampled_from(["declared", "emitted", "events"]),
            origins=st.lists(st.sampled_from(["primary-key", "configured"]), max_size=2).map(tuple),
            after=st.none() | MARKS,
            at=MARKS,
            until=st.none() | MARKS,
            is_confirmed=st.booleans(),
            proven_from=st.none() | MARKS,
        ),
        max_size=2,
    ).map(tuple),
)

COVERED = CoveredRange("main", "t", 0, 0, 9, "aa", "bb")


@given(ENTRIES)
def test_an_entry_comes_back_as_it_was(entry: Entry):
    assert codec.from_json(codec.to_json(entry)) == entry
    assert codec.from_bytes(codec.to_bytes(entry)) == entry


@given(ENTRIES)
def test_the_bytes_are_canonical(entry: Entry):
    body = codec.to_bytes(entry)
    assert body == codec.to_bytes(codec.from_bytes(body))
    assert body.isascii()
    assert structure_codec.encode_canonical(json.loads(body)) == body


@given(HISTORIES)
def test_a_history_comes_back_as_it_was(history: TableHistory):
    assert history_codec.from_json(history_codec.to_json(history)) == history
    body = structure_codec.encode_canonical(history_codec.to_json(history))
    assert history_codec.from_bytes(body) == history
    assert history_codec.read_ids(body.decode()) == tuple(v.id for v in history.versions)


@given(DEFAULTS)
def test_a_default_keeps_its_kind(default: object):
    column = Column("a", Integer(32), default=default)  # type: ignore[arg-type]
    back = structure_codec.column_from_json(json.loads(json.dumps(structure_codec.column_to_json(column))))
    assert (type(back.default), back.default) == (type(default), default)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_a_default_that_json_does_not_know_is_kept(value: str):
    column = Column("a", Integer(32), default=float(value))
    told = structure_codec.encode_canonical(structure_codec.column_to_json(column))
    back = structure_codec.column_from_json(json.loads(told))
    assert repr(back.default) == value


def test_a_lone_surrogate_out_of_broken_json_is_kept():
    covered = CoveredRange("main", "\ud800", 0, 0, 0, "", "")
    assert codec.from_bytes(codec.to_bytes(covered)) == covered


def test_the_written_form_is_a_promise():
    schema = TableSchema((Column("id", Integer(32), nullable=False, id=1),), ("id",))
    mark = Coordinates("shop.public.orders", 0, 7, Position("lsn", "42", "40"), ts_ms=1)
    table = TableId("shop", "app", "public", "orders")
    said = Observation(table, "emitted", "image", "postgresql", "3.4.1", mark, mark, 1, False, schema)
    assert codec.to_bytes(ObservationEntry(said)).decode() == (
        '{"action":"image","connector":"postgresql","connector_version":"3.4.1","count":1,'
        '"first":{"offset":7,"partition":0,"position":{"commit":"40","kind":"lsn","value":"42"},'
        '"topic":"shop.public.orders","ts_ms":1},"kind":"observed",'
        '"last":{"offset":7,"partition":0,"position":{"commit":"40","kind":"lsn","value":"42"},'
        '"topic":"shop.public.orders","ts_ms":1},'
        '"schema":{"columns":[{"id":1,"name":"id","nullable":false,"type":"INT"}],"key":["id"]},'
        '"snapshot":false,"table":{"database":"app","schema":"public","server":"shop","stream":"main",'
        '"table":"orders"},"v":1,"witness":"emitted"}'
    )
    assert codec.to_bytes(COVERED).decode() == (
        '{"first":0,"first_hash":"aa","kind":"covered","last":9,"last_hash":"bb","partition":0,'
        '"stream":"main","topic":"t","v":1}'
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"v": 2}, "layout version 2, not 1"),
        ({"v": None}, "layout version None"),
        ({"kind": "guessed"}, "unknown kind of entry 'guessed'"),
        ({"kind": ["covered"]}, "unknown kind of entry"),
        ({"asides": [["tombstone"]]}, "entry 7 (covered): "),
        ({"asides": 3}, "entry 7 (covered): "),
    ],
)
def test_what_cannot_be_read_is_refused_with_where_and_what_now(change: dict[str, object], says: str):
    with pytest.raises(StoreUnavailable) as caught:
        codec.from_json({**codec.to_json(COVERED), **change}, "entry 7")
    assert caught.value.message.startswith("entry 7")
    assert says in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'"x"', b"\xff"])
def test_bytes_that_are_no_entry_are_refused(body: bytes):
    with pytest.raises(StoreUnavailable):
        codec.from_bytes(body)
    with pytest.raises(StoreUnavailable):
        history_codec.from_bytes(body)


def test_a_missing_member_is_named():
    body = codec.to_json(COVERED)
    del body["topic"]
    with pytest.raises(StoreUnavailable, match="no field 'topic'"):
        codec.from_json(body)


def test_a_type_that_is_none_is_refused():
    said = codec.to_json(RejectEntry(Reject("main", "t", 0, 0, 1, "why", "00", b"\x00")))
    with pytest.raises(StoreUnavailable):
        codec.from_json({**said, "payload": "xyz"})
