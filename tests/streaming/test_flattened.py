"""Flattened rows that tell no place in the log, in a mirror: each is of the version of its moment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_late_schema_changes import ID, A, B, C, created, ddl, live
from tests.streaming.test_policy import DEFAULTS
from tests.support.memory_sink import MemorySink
from tests.support.records import node, record, struct

TEXT, NUMBER = node("string", optional=True), node("int32")
SAYS = {"op": "c", "connector": "mysql", "name": "srv", "db": "shop", "table": "t"}
"""What `add.fields=op,connector,name,db,table` adds to a row."""
EXCHANGED = "ALTER TABLE t RENAME COLUMN a TO b, RENAME COLUMN b TO a"


def flat(offset: int, moment: int, image: dict[str, Any], *, told: bool) -> Record:
    """A flattened row; `told`: with its schema."""
    value: dict[str, Any] = {**image, **{f"__{name}": text for name, text in SAYS.items()}}
    key: dict[str, Any] = {"id": image["id"]}
    if told:
        fields = {name: NUMBER if name == "id" else TEXT for name in value}
        value = {"schema": struct("srv.shop.t.Value", **fields), "payload": value}
        key = {"schema": struct("srv.shop.t.Key", id=NUMBER), "payload": key}
    return replace(record(value, key, "srv.shop.t"), offset=offset, timestamp_ms=moment)


def told_at(change: Record, moment: int) -> Record:
    """A schema-change record of that moment."""
    value = {**json.loads(change.value or b""), "ts_ms": moment}
    return replace(change, value=json.dumps(value).encode(), timestamp_ms=moment + 1)


BORDERS = ([(0, 4)], [(0, 1), (1, 4)], [(0, 2), (2, 4)], [(0, 3), (3, 4)], [(0, 1), (1, 2), (2, 3), (3, 4)])


@pytest.mark.parametrize("told", [True, False], ids=["with schemas", "without schemas"])
@pytest.mark.parametrize("ends", BORDERS, ids=len)
@pytest.mark.parametrize("ahead", [False, True], ids=["in order", "history ahead"])
def test_columns_that_exchanged_their_names(
    store: SqlStore, ahead: bool, ends: Sequence[tuple[int, int]], told: bool
) -> None:
    records = [
        told_at(created(A, B), 1100),
        flat(0, 1200, {"id": 1, "a": "a1", "b": "b1"}, told=told),
        told_at(ddl(1, 300, EXCHANGED, ID, B, A), 1300),
        flat(1, 1400, {"id": 2, "b": "a2", "a": "b2"}, told=told),
    ]
    if ahead:
        records.insert(1, records.pop(2))
    lake = MemorySink(store, lambda _: None, "delta", Policy(), modes=DEFAULTS)
    lake.approve = lambda _: True
    for begin, end in ends:
        lake.take(records[begin:end])
    assert (lake.withheld(), lake.quiet) == ({}, {})
    assert live(lake) == {1: {"b": "a1", "a": "b1"}, 2: {"b": "a2", "a": "b2"}}


@pytest.mark.parametrize("told", [True, False], ids=["with schemas", "without schemas"])
def test_a_column_that_was_dropped_and_made_anew_within_a_batch(store: SqlStore, told: bool) -> None:
    lake = MemorySink(store, lambda _: None, "delta", Policy(), modes=DEFAULTS)
    lake.approve = lambda _: True
    lake.take([told_at(created(A, C), 1100)])
    lake.take([
        flat(0, 1200, {"id": 1, "a": "old", "c": "1"}, told=told),
        told_at(ddl(1, 300, "ALTER TABLE t DROP a", ID, C), 1300),
        told_at(ddl(2, 320, "ALTER TABLE t ADD a VARCHAR(20)", ID, C, A), 1320),
        flat(1, 1400, {"id": 2, "c": "2", "a": "new"}, told=told),
    ])  # fmt: skip
    assert (lake.withheld(), lake.quiet) == ({}, {})
    assert live(lake)[2]["a"] == "new"
    assert live(lake)[1]["a"] is None
