"""What a store knows of the log without reading it again."""

from __future__ import annotations

from schemaman.store import observation_cache as _said
from schemaman.store.observation_cache import ObservationCache, TableObservations
from tests.support.log_entries import ITEMS, ORDERS, said, schema


def test_what_follows_is_added_with_its_place():
    one = TableObservations().append_observations([(3, said(schema("id"), 0)), (7, said(schema("id"), 1))])
    assert one.until == 7
    assert one.append_observations([]) is one
    assert one.append_observations([(9, said(schema("id"), 2))]).observations == tuple(
        said(schema("id"), n) for n in range(3)
    )


def test_an_older_word_does_not_take_the_place_of_a_newer_one():
    older, newer = (
        TableObservations(3, (said(schema("id"), 0),)),
        TableObservations(5, (said(schema("id"), 0), said(schema("id"), 1))),
    )
    known = ObservationCache()
    known.keep({ORDERS: newer})
    known.keep({ORDERS: older})
    assert known.get(ORDERS) == newer
    assert known.get(ITEMS) == TableObservations()


def test_no_more_is_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(_said, "MAX_KEPT", 5)
    known, other = ObservationCache(), ObservationCache()
    known.keep({ORDERS: TableObservations(4, tuple(said(schema("id"), n) for n in range(4)))})
    other.keep({ITEMS: TableObservations(6, tuple(said(schema("id"), n, table=ITEMS) for n in range(2)))})
    known.join(other)
    assert known.get(ORDERS) == TableObservations()
    assert known.get(ITEMS).until == 6
    known.keep({ORDERS: TableObservations(9, tuple(said(schema("id"), n) for n in range(6)))})
    assert known.get(ORDERS) == known.get(ITEMS) == TableObservations()
