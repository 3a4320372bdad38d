"""A table that surely lost its key goes on as a log, though no record confirms the key of its newest rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.migration.policy import Policy
from schemaman.store.sql.store import SqlStore
from tests.streaming.test_autopilot import alive_in, told
from tests.support.memory_sink import MemorySink


def _without_key(offset: int, row: dict[str, Any], read: int = 1) -> Record:
    return replace(told(offset, row, read=read), key=None)


@pytest.mark.parametrize("size", [1, 2, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_log_takes_rows_whose_key_no_record_confirms(store: SqlStore, format: str, size: int) -> None:
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    records = [
        told(0, {"id": 1}),
        told(1, {"id": 2}),
        _without_key(2, {"id": 3, "n": 1}),
        _without_key(3, {"id": 4, "n": 1}),
        _without_key(4, {"id": 5, "n": 1, "m": 1}, read=9_000),
    ]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    sink.take([])
    (history,) = filter(None, map(store.history, store.tables()))
    assert ["key" in version.unconfirmed for version in history.versions[-2:]] == [False, True]
    assert (sink.withheld(), sink.stopped) == ({}, set())
    first, second = sink.lake()
    assert (first.live.schema.key, second.live.schema.key) == (("id",), ())
    assert [row["id"] for row in alive_in(first)] == [1, 2]
    assert [row["id"] for row in alive_in(second)] == [3, 4, 5]


def test_a_successor_ends_where_its_key_goes(store: SqlStore) -> None:
    """Another key that the rows do not prove, and then none, in one batch: each has a table of its own."""
    sink = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    sink.take([
        told(0, {"id": 1, "n": 7}),
        told(1, {"id": 2, "n": 7}),
        told(2, {"id": 3, "n": 8}, key=("n",)),
        told(3, {"id": 4, "n": 9}, key=("n",)),
        _without_key(4, {"id": 5, "n": 9}),
        _without_key(5, {"id": 6, "n": 9}),
    ])  # fmt: skip
    sink.take([])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    found = [(table.live.schema.key, [row["id"] for row in alive_in(table)]) for table in sink.lake()]
    assert found == [(("id",), [1, 2]), (("n",), [3, 4]), ((), [5, 6])]


@pytest.mark.parametrize("key", [("id",), ("id", "line")])
@pytest.mark.parametrize("size", [1, 9])
def test_a_table_that_may_have_been_made_anew_begins_a_successor(
    store: SqlStore, size: int, key: tuple[str, ...]
) -> None:
    """Most columns changed at once: no row waits for an answer whether `total` became `size`."""
    sink = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    old, new = {"kind": "k", "total": "t"}, {"line": 1, "size": "s", "made": 1, "label": 2}
    records = [
        told(0, {"id": 1, **old}),
        told(1, {"id": 2, **old}),
        told(2, {"id": 1, **new, "total": "a"}, key=key),
        told(3, {"id": 2, **new, "total": "a"}, key=key),
        told(4, {"id": 1, **new, "total": "b"}, "u", key=key),
    ]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    sink.take([])
    (history,) = filter(None, map(store.history, store.tables()))
    assert "perhaps-made-anew" in {d.kind for d in history.disagreements if d.versions == (2,)}
    assert [(c.old, c.new) for c in history.latest.candidates] == [("total", "size")]
    assert (sink.withheld(), sink.stopped) == ({}, set())
    first, second = sink.lake()
    assert alive_in(first) == [{"id": 1, **old}, {"id": 2, **old}]
    assert alive_in(second) == [{"id": 1, **new, "total": "b"}, {"id": 2, **new, "total": "a"}]
    assert any("may have been made anew under its name" in note for note in sink.notes)


@pytest.mark.parametrize("last", [(5, 6), ("c", "d")], ids=["changed again", "changed before"])
@pytest.mark.parametrize("size", [1, 9])
def test_a_column_whose_type_changed_before_it_came_into_the_key_begins_a_successor(
    store: SqlStore, size: int, last: tuple[int | str, int | str]
) -> None:
    """Values of the other type have a column beside until then; no row is merged by it."""
    sink = MemorySink(store, lambda _: None, "delta", Policy(profile="autopilot"), lambda _: False)
    records = [
        told(0, {"id": 1, "n": 1}),
        told(1, {"id": 2, "n": "a"}),
        told(2, {"id": 3, "n": "b"}),
        told(3, {"id": 4, "n": last[0]}, key=("id", "n")),
        told(4, {"id": 5, "n": last[1]}, key=("id", "n")),
    ]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    sink.take([])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    rows = [row for table in sink.lake() for row in alive_in(table)]
    values = [str(next(v for n, v in row.items() if n.startswith("n"))) for row in rows]
    assert values == ["1", "a", "b", *map(str, last)]
    assert sink.lake()[-1].live.schema.key == ("id", "n")


@pytest.mark.parametrize("size", [1, 2, 3, 9])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("n", [7, 8], ids=["not proven", "proven"])
@pytest.mark.parametrize("between", [("n",), ("n", "id")])
def test_rows_of_a_key_whose_column_went_are_in_the_table_of_their_key_wherever_batches_end(
    store: SqlStore, format: str, n: int, between: tuple[str, ...], size: int
) -> None:
    """The newest version has no column for the key of these rows: no table gets that key after it."""
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    records = [
        told(0, {"id": 1, "m": 1, "n": 7}),
        told(1, {"id": 2, "m": 2, "n": n}),
        told(2, {"id": 3, "m": 3, "n": 9}, key=between),
        told(3, {"id": 4, "m": 4, "n": 9 + len(between)}, key=between),
        told(4, {"id": 3, "m": 5, "n": 9}, "u", key=between),
        told(5, {"id": 5, "m": 6}, key=("id", "m")),
        told(6, {"id": 5, "m": 7}, key=("id", "m")),
    ]
    for start in range(0, len(records), size):
        sink.take(records[start : start + size])
    sink.take([])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    tables = [(table.live.schema.key, [row["m"] for row in alive_in(table)]) for table in sink.lake()]
    is_proven = n == 8 or len(between) > 1
    first = [(between, [1, 2, 4, 5])] if is_proven else [(("id",), [1, 2]), (between, [4, 5])]
    assert [(set(key), sorted(found)) for key, found in tables] == [
        *((set(key), found) for key, found in first), ({"id", "m"}, [6, 7])
    ]  # fmt: skip
