"""What is written into the log comes back as it was, and what cannot be read is refused by name."""

from __future__ import annotations

import builtins
import collections.abc
import json
import types
import typing
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemaman.debezium.observation import (
    FieldCount,
    InferredFields,
    Observation,
    Reject,
)
from schemaman.debezium.records import Coordinates, Position
from schemaman.errors import StoreUnavailable
from schemaman.history.versions import (
    NestedFieldAnswer,
    Revision,
    SchemaVersion,
    TableEvent,
    TableHistory,
)
from schemaman.model.schema import Column, TableId, TableSchema
from schemaman.model.types import Integer, Type
from schemaman.store import entry_json as codec
from schemaman.store import history_json as history_codec
from schemaman.store import schema_json as structure_codec
from schemaman.store.log import (
    CoveredRange,
    Entry,
    ObservationEntry,
    RejectEntry,
)
from tests.support.strategies import DEFAULTS, NAMES, TEXTS, TYPES, schemas

IDS = st.text("0123456789abcdef", min_size=12, max_size=12)
OWN: dict[object, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**40),
    str: TEXTS,
    bool: st.booleans(),
    bytes: st.binary(max_size=9),
    TableSchema: st.one_of(schemas(), schemas(ids=True)),
    Type: TYPES,
}
PARTS = st.lists(NAMES, min_size=2, max_size=3).map(tuple)
NAMED: dict[str, st.SearchStrategy[Any]] = {
    "partition": st.integers(0, 9),
    "step": st.none() | st.integers(0, 9),
    **dict.fromkeys(("stream", "topic", "server", "run", "plan", "target"), NAMES),
}
CHOSEN: dict[tuple[type, str], st.SearchStrategy[Any]] = {
    (TableId, "table"): NAMES,
    (SchemaVersion, "id"): IDS,
    (SchemaVersion, "previous_ids"): st.lists(IDS, max_size=2).map(tuple),
    (SchemaVersion, "revisions"): st.deferred(lambda: some(Revision, min_size=1)),
    (NestedFieldAnswer, "old"): PARTS,
    (NestedFieldAnswer, "new"): PARTS,
    (FieldCount, "hashes"): st.just(()),
    (TableEvent, "is_settled"): st.just(False),
}
"""What a type does not tell: ids are hexadecimal, a version has a revision, a nested field two names.

The hashes of a field count are those of its early records. What a person settled is in no store."""


def every(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Values of a class with every field made up: one that is added is written, or does not come back."""
    hints = get_type_hints(cls)
    chosen = NAMED | {name: CHOSEN[at, name] for at, name in CHOSEN if at is cls}
    names = [f.name for f in fields(cls)]
    return st.builds(cls, **{n: chosen[n] if n in chosen else made(hints[n]) for n in names})


def some(hint: object, min_size: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(made(hint), min_size=min_size, max_size=2).map(tuple)


@cache
def made(hint: Any) -> st.SearchStrategy[Any]:
    """Values of any type that an entry or a history holds."""
    args = get_args(hint)
    if hint in OWN:
        return OWN[hint]
    if is_dataclass(hint) and isinstance(hint, type):
        return every(hint)
    match get_origin(hint):
        case typing.Literal:
            return st.sampled_from(args)
        case types.UnionType | typing.Union:
            others = [arg for arg in args if arg not in get_args(Type)]
            found = [st.none() if arg is types.NoneType else made(arg) for arg in others]
            return st.one_of([*found, TYPES] if len(others) < len(args) else found)
        case collections.abc.Sequence:
            return some(args[0])
        case builtins.tuple:
            return some(args[0]) if args[1:] == (...,) else st.tuples(*map(made, args))
    raise AssertionError(hint)


TABLES: st.SearchStrategy[TableId] = made(TableId)
ENTRIES: st.SearchStrategy[Entry] = made(Entry)
# What people accepted is read from their file for each question; the store does not keep it.
HISTORIES: st.SearchStrategy[TableHistory] = made(TableHistory).map(
    lambda history: replace(history, accepted_types=())
)

COVERED = CoveredRange("main", "t", 0, 0, 9, "aa", "bb")


def test_hashes_of_early_records_come_back():
    early = tuple(Coordinates("t", 0, offset) for offset in range(3))
    counts = (
        FieldCount(("a",), "int", 5, early[:2], early[2], ("aa", "")),
        FieldCount(("b",), "int", 5, early[1:], early[2]),
    )
    assert codec._inferred_from_json(codec._inferred_to_json(InferredFields(5, counts))) == InferredFields(
        5, counts
    )


@given(ENTRIES)
def test_an_entry_comes_back_as_it_was(entry: Entry):
    assert codec.from_json(codec.to_json(entry)) == entry
    assert codec.from_bytes(codec.to_bytes(entry)) == entry


JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(), max_size=4),
        st.sampled_from(["a\x7f", '"', "\n", ":null", "é", "\ud800", "1e5"]),
    ),
    lambda values: st.one_of(st.lists(values), st.dictionaries(st.text(max_size=3), values)),
    max_leaves=8,
)


@given(JSON_VALUES)
@example({"b": [1e16, 1.0, 1e-5], "a": {}})
@example({"b": 1e16})
@example({"b": {"a": [0, 1e-7]}})
@example({"note": None})
@example([0, None])
def test_canonical_bytes_are_those_of_json(value: object) -> None:
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    assert structure_codec.encode_canonical(value) == expected.encode()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [1, value]])
def test_a_number_that_json_cannot_carry_is_no_null(
    number: float, wrap: collections.abc.Callable[[float], object]
) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        structure_codec.encode_canonical(wrap(number))


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
