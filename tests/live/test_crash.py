"""A worker that dies before it has stored its offsets: rows come twice, then as of a later catalogue."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.live.connect import connect_in
from tests.live.recorded_history import Told
from tests.live.streaming import streaming

_NEVER = 3_600_000
TABLES = (
    "CREATE TABLE shop.returns (id int PRIMARY KEY, order_no int NOT NULL, photo text)",
    "INSERT INTO shop.returns VALUES (1, 1, 'a')",
)
TWICE = (
    "INSERT INTO shop.returns VALUES (2, 1, 'b')",
    "ALTER TABLE shop.returns DROP COLUMN photo",
    "INSERT INTO shop.returns VALUES (3, 1)",
)
MEANWHILE = "ALTER TABLE shop.returns RENAME COLUMN order_no TO order_ref"
LATER = ("INSERT INTO shop.returns VALUES (4, 1)", "INSERT INTO shop.returns VALUES (5, 1)")


@pytest.fixture(scope="module")
def told(database: str, broker: str, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The database goes on while the worker is dead; another one takes up its offsets."""
    folder = tmp_path_factory.mktemp("crash")
    with (
        connect_in(folder, broker, _NEVER) as first,
        streaming("live_crash", database, first, broker) as stream,
    ):
        stream.tell(*TABLES)
        stream.start(1)
        with stream.stopped():
            pass  # its offsets are stored now, and never again
        for sql in TWICE:
            (stream.row if sql.startswith("INSERT") else stream.tell)(sql)
        first.server.stop(9)
        stream.tell(MEANWHILE)
        with connect_in(folder, broker) as second:
            stream.restart(second)
            stream.row(*LATER)
            return Told.now(stream, folder)


@pytest.mark.case(64)
def test_rows_that_arrive_twice_make_no_version(told: Told) -> None:
    """By offset the dropped column would return; by the source's log it does not."""
    lsns = Counter(fact.source["lsn"] for fact in told.facts.values() if not fact.snapshot)
    assert sorted(lsns.values()) == [1, 1, 2, 2]
    assert [(v.schema.names, v.records, v.status) for v in told.histories["returns"].versions] == [
        (("id", "order_no", "photo"), 2, "confirmed"),
        (("id", "order_no"), 1, "confirmed"),
        (("id", "order_ref"), 2, "confirmed"),
    ]
    assert told.differences() == []


def test_what_the_second_delivery_said_otherwise_is_told(told: Told) -> None:
    """A column that was renamed is not in the catalogue any more: the old row's schema lost its NOT NULL."""
    disputed = told.histories["returns"].disagreements
    assert [(d.kind, d.versions, d.coordinates[0].offset) for d in disputed] == [
        ("delivered-twice-differently", (1,), 3),
        ("delivered-twice-differently", (2,), 4),
    ]
