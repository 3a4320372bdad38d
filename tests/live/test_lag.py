"""DDL that a connector hears of late: what it says of the past is doubted until later rows agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.connect import Worker
from tests.live.recorded_history import Told, histories_of
from tests.live.streaming import streaming

TABLES = (
    "CREATE TABLE shop.payments (id int PRIMARY KEY, method text NOT NULL, currency char(3) NOT NULL)",
    "CREATE TABLE shop.counts (sku text, day date, n int NOT NULL, PRIMARY KEY (sku, day))",
    "CREATE TABLE shop.reviews (id int PRIMARY KEY, stars int NOT NULL)",
    "CREATE TABLE shop.notes (id int PRIMARY KEY, note text)",
    "INSERT INTO shop.payments VALUES (1, 'cash', 'EUR')",
)
CLOSE_BEHIND = (
    "INSERT INTO shop.payments VALUES (2, 'cash', 'EUR')",
    "INSERT INTO shop.notes VALUES (1, 'a')",
)
BEFORE = (
    "INSERT INTO shop.payments VALUES (3, 'cash', 'EUR')",
    "INSERT INTO shop.counts VALUES ('a', '2026-01-01', 1)",
    "INSERT INTO shop.reviews VALUES (1, 1)",
    "INSERT INTO shop.notes VALUES (2, 'b')",
)
CHANGES = (
    "ALTER TABLE shop.payments DROP CONSTRAINT payments_pkey, ADD PRIMARY KEY (currency, id)",
    "ALTER TABLE shop.payments DROP COLUMN method",
    "ALTER TABLE shop.counts DROP COLUMN day, ADD COLUMN bin int DEFAULT 1, ADD PRIMARY KEY (sku, bin)",
    "ALTER TABLE shop.reviews ALTER stars DROP NOT NULL",
)
AFTER = (
    "INSERT INTO shop.payments VALUES (4, 'EUR')",
    "INSERT INTO shop.counts VALUES ('a', 1, 2)",
    "INSERT INTO shop.reviews VALUES (2, NULL)",
)
LATER = (
    "INSERT INTO shop.payments VALUES (5, 'EUR')",
    "INSERT INTO shop.counts VALUES ('b', 1, 1)",
    "INSERT INTO shop.reviews VALUES (3, NULL)",
)
BECAME_TRUE = {"shop.reviews@1 nullable:stars at begin: says nullable, truth NOT NULL (unconfirmed)"}
UNSEEN = BECAME_TRUE | {
    "shop.counts@1 key at both: says sku, truth sku, day (unconfirmed)",
    "shop.counts@1 nullable:day at both: says nullable, truth NOT NULL (unconfirmed)",
}
"""What Debezium says of the rows of `BEFORE`, by the catalogue of after `CHANGES`, in tables new to it.

A dropped column has no nullability there, a key has only those of its columns that the old row has.
"""
FORGOTTEN = {
    "shop.payments@2 key at both: says currency, id, truth id (unconfirmed)",
    "shop.payments@2 nullable:method at both: says nullable, truth NOT NULL (unconfirmed)",
}
"""The same of a table that it had read before; one that was only frozen has not forgotten it.

Unless the server is behind as well: what it decodes after DDL begins with the table anew.
"""
UNTRUE = {"stopped": UNSEEN | FORGOTTEN, "undecoded": UNSEEN | FORGOTTEN, "frozen": UNSEEN}


@dataclass(frozen=True, slots=True)
class Lagged:
    """What was told when the connector had caught up, and when it had been close behind for a while."""

    how: str
    source: str
    caught_up: Told
    later: Told


@pytest.fixture(scope="module", params=list(UNTRUE))
def lagged(
    request: pytest.FixtureRequest,
    database: str,
    worker: Worker,
    broker: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Lagged:
    """Rows, DDL and rows again while the connector reads nothing; then more rows while it streams."""
    folder = tmp_path_factory.mktemp("lag")
    with streaming(f"live_{request.param}", database, worker, broker) as stream:
        stream.tell(*TABLES)
        stream.start(1)
        stream.row(*CLOSE_BEHIND)
        away = {"stopped": stream.stopped, "undecoded": stream.undecoded, "frozen": worker.frozen}
        with away[request.param]():
            rows = stream.tell(*BEFORE)
            if request.param == "frozen":
                stream.sent()
            stream.tell(*CHANGES)
            rows += stream.tell(*AFTER)
        stream.arrived(rows)
        caught_up = Told.now(stream, folder)
        stream.row(*LATER)
        return Lagged(request.param, stream.topics.source, caught_up, Told.now(stream, folder))


@pytest.mark.case(24, 25)
def test_every_wrong_fact_is_marked_as_unconfirmed(lagged: Lagged) -> None:
    assert {str(d) for d in lagged.caught_up.differences()} == UNTRUE[lagged.how]


def test_names_and_types_are_those_of_the_row(lagged: Lagged) -> None:
    """The rows of before have the columns of before, although the connector read them afterwards."""
    histories = lagged.caught_up.histories
    names = {table: list(dict.fromkeys(v.schema.names for v in h.versions)) for table, h in histories.items()}
    assert names == {
        "payments": [("id", "method", "currency"), ("id", "currency")],
        "counts": [("sku", "day", "n"), ("sku", "n", "bin")],
        "reviews": [("id", "stars")],
        "notes": [("id", "note")],
    }


def test_a_table_that_nobody_changed_is_not_doubted(lagged: Lagged) -> None:
    notes = lagged.caught_up.histories["notes"]
    assert [(v.status, v.unconfirmed, v.records) for v in notes.versions] == [("confirmed", (), 2)]


def test_later_rows_confirm_what_is_so(lagged: Lagged) -> None:
    newest = {t: lagged.later.histories[t].latest for t in ("payments", "counts", "reviews")}
    assert {(v.status, v.unconfirmed) for v in newest.values()} == {("confirmed", ())}


def test_what_was_never_so_is_never_confirmed(lagged: Lagged) -> None:
    """`stars` is nullable, but was not at the first row: it is proven from the row of later on."""
    assert {str(d) for d in lagged.later.differences()} == UNTRUE[lagged.how] - BECAME_TRUE
    (reviews,) = lagged.later.histories["reviews"].versions
    assert (reviews.at.offset, reviews.proven_from and reviews.proven_from.offset) == (0, 2)


def test_reading_the_rest_later_is_the_same_as_reading_all_at_once(lagged: Lagged, tmp_path: Path) -> None:
    assert histories_of(lagged.source, tmp_path) == lagged.later.histories
