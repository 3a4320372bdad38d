"""Other names of a table, and from when to when they held."""

from __future__ import annotations

from dataclasses import replace

from schemaman.history.versions import TableHistory
from schemaman.model.schema import TableId
from tests.history.test_fold import A, declared, history, mark, seen
from tests.support import chain

OTHER = TableId("shop", "app", "public", "orders_old")


def held(found: TableHistory, kind: str) -> dict[str, tuple[int | None, int | None]]:
    """Name → from which offset on, until which one."""
    return {
        a.name: (None if a.first is None else a.first.offset, None if a.until is None else a.until.offset)
        for a in found.aliases
        if a.kind == kind
    }


def test_a_topic_holds_until_another_one_has_taken_over() -> None:
    after = seen(A, mark(5, 15, topic="u"), mark(6, 16, topic="u"))
    moved = history(seen(A, mark(0, 10), mark(4, 14)), after)
    assert held(moved, "topic") == {"t": (0, 5), "u": (5, None)}
    both = history(seen(A, mark(0, 10), mark(4, 18)), after)
    assert held(both, "topic") == {"t": (0, None), "u": (5, None)}


def test_where_runs_were_cut_does_not_matter() -> None:
    whole = [seen(A, mark(0, 10), mark(3, 13)), seen(A, mark(4, 14, topic="u"))]
    pieces = [seen(A, mark(n, 10 + n)) for n in range(4)]
    assert history(*whole).aliases == history(*reversed(pieces), whole[1]).aliases


def test_a_former_name_held_until_the_rename_and_nobody_told_since_when() -> None:
    renamed = declared(A, mark(3, 30, topic="ddl"), "rename", previous=OTHER)
    found = history(renamed, seen(A, mark(0, 40), connector="mariadb"))
    assert held(found, "table") == {str(OTHER): (None, 3)}
    again = replace(renamed, first=mark(5, 50, topic="ddl"), last=mark(5, 50, topic="ddl"))
    assert held(history(renamed, again), "table") == {str(OTHER): (None, 3)}


def test_a_release_that_adjusts_no_names_any_more_gives_the_schema_another_one() -> None:
    found = chain.history("postgres/shop-upgrade", "inventory.pick-lists")
    assert held(found, "schema_name") == {
        "shopdb.inventory.pick_lists.Value": (0, 3),
        "shopdb.inventory.pick-lists.Value": (3, None),
    }
    assert held(found, "topic") == {"shopdb.inventory.pick-lists": (0, None)}


def test_a_name_that_was_misread_in_the_stream_brings_another_topic() -> None:
    found = chain.history("postgres/shop-names-none", "shop.Ünïcode")
    assert set(held(found, "topic")) == {"shopdb.shop._n_code", "shopdb.shop.__n__code"}
    assert [a.until is None for a in found.aliases if a.kind == "topic"] == [True, False]
