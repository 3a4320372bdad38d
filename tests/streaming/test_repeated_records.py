"""Streams of which a stretch comes twice, as after a crash of the connector, in batches that end anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import alive as live_rows
from tests.streaming.test_autopilot import told as keyed
from tests.streaming.test_policy import alive, mirror
from tests.streaming.test_values_not_sent import BIG
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event

TEXT = node("string", optional=True)


def change(op: str, lsn: int, **row: object) -> Record:
    fields = {"id": node("int32")} | dict.fromkeys(("big", "z", *(("n",) if "n" in row else ())), TEXT)
    return row_event(fields, op, {"big": None, "z": None, "id": 1, **row}, lsn=lsn)


STREAMS: dict[str, tuple[list[Record], dict[str, Any]]] = {
    "a value that was not sent": (
        [
            change("c", 100, big="old", z="1"), change("u", 110, big="new", z="2"),
            change("u", 120, big=BIG, z="3"),
        ],
        {"big": "new", "z": "3"},
    ),
    "a row that began anew": (
        [
            change("c", 80, big="first", z="0"), change("d", 90), change("c", 100, big="second", z="1"),
            change("u", 120, big=BIG, z="2"),
        ],
        {"big": "second", "z": "2"},
    ),
    "a row that ended": (
        [change("c", 80, big="first", z="0"), change("u", 85, big=BIG, z="1"), change("d", 90)], {}
    ),
    "a column that came and left": (
        [
            change("c", 100, big="a", z="1"), change("u", 110, big="a", z="2", n="five"),
            change("u", 120, big="a", z="3"),
        ],
        {"big": "a", "z": "3", "n": "five"},
    ),
}  # fmt: skip


def twice(records: list[Record], begin: int) -> list[Record]:
    """The stream, and from one of its records on all of it again."""
    delivered = [*records, *records[begin:]]
    return [replace(each, offset=offset) for offset, each in enumerate(delivered)]


def test_what_lacked_a_value_of_a_row_that_began_anew_goes_once_a_whole_row_is_there(store: SqlStore) -> None:
    lake = mirror(store)
    lake.take([replace(change("c", 100, big=BIG, z="1"), offset=0)])
    (reason,) = lake.withheld().values()
    assert "its row was created again" in reason
    lake.take([replace(change("u", 110, big="whole", z="2"), offset=1)])
    lake.take([])
    assert lake.withheld() == {}
    assert [(row["big"], row["z"]) for row in alive(lake)] == [("whole", "2")]


NEXT = ("n",)
REKEYED = {
    "another key that the rows prove": [
        keyed(0, {"id": 1, "n": 1}), keyed(1, {"id": 2, "n": 2}), keyed(2, {"id": 2, "n": 4}, "u"),
        keyed(3, {"id": 3, "n": 3}, key=NEXT), keyed(4, {"id": 5, "n": 5}, key=NEXT),
    ],
    "a smaller key": [
        keyed(0, {"id": 1, "n": 1}, key=("id", "n")), keyed(1, {"id": 2, "n": 1}, key=("id", "n")),
        keyed(2, {"id": 2, "n": 1}, "d", key=("id", "n")), keyed(3, {"id": 3, "n": 3}),
        keyed(4, {"id": 1, "n": 5}, "u"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("stream", REKEYED)
def test_a_file_that_grew_after_another_key_is_read_whole_again(store: SqlStore, stream: str) -> None:
    records = REKEYED[stream]
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    lake.take(records)
    before = live_rows(lake)
    again = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    again.tables, again.sources = lake.tables, lake.sources
    key = NEXT if stream == "another key that the rows prove" else ("id",)
    again.take([*records, keyed(9, {"id": 9, "n": 9}, key=key)])
    assert (again.withheld(), again.stopped) == ({}, set())
    assert live_rows(again) == [*before, {"id": 9, "n": 9}]
