"""Renames that nobody has decided stop no table, and a late answer brings each value where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import (
    Decisions,
    NotRename,
    Rename,
    apply_decisions,
    format_coordinates,
)
from schemaman.history.open_questions import list_open_questions
from schemaman.migration.policy import Policy
from schemaman.migration.row_columns import DELETED, ORDER
from schemaman.store.sql.store import SqlStore
from tests.support.batches import cut, cuts
from tests.support.checkout import PROOF
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event
from tests.support.undecided_renames import UndecidedRenames, select_alike

T = TypeVar("T")
CHANGES, TABLES, SEEDS = (50, 10, 10) if PROOF else (8, 3, 1)
MEMBERS, EXCHANGES = (5, 5) if PROOF else (2, 2)


def _part(items: Sequence[T], random: Random) -> Iterator[Sequence[T]]:
    """Batches of one to nine."""
    start = 0
    while start < len(items):
        end = start + random.randrange(1, 10)
        yield items[start:end]
        start = end


def _read(lake: MemorySink) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Each table with its live rows."""
    for table in lake.lake():
        alive = [row for row in table.rows if not row[DELETED]]
        yield table.source, sorted(alive, key=lambda row: row["id"])


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("meanwhile", [0.0, 0.3], ids=["answered at the end", "answered now and then"])
def test_each_value_is_right_once_all_renames_are_answered(
    store: SqlStore, seed: int, meanwhile: float
) -> None:
    format = ("delta", "iceberg")[seed % 2]
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    source = UndecidedRenames(Random(seed), TABLES, CHANGES, MEMBERS, EXCHANGES)
    for batch in _part([*source.stream(), *source.stream_others()], Random(seed)):
        lake.take(batch)
        lake.decisions = source.answer(store, lake.decisions, meanwhile)
        assert (lake.withheld(), lake.stopped) == ({}, set())
    assert len(source.renamed) == CHANGES + MEMBERS + EXCHANGES
    lake.decisions = source.answer(store, lake.decisions)
    lake.take(list(source.touch()))
    assert (lake.withheld(), lake.stopped) == ({}, set())
    for table, rows in _read(lake):
        expected = source.expected(table)
        assert [select_alike(row, wanted) for row, wanted in zip(rows, expected, strict=True)] == expected


def _event(offset: int, row: dict[str, Any], op: str = "c") -> Record:
    nodes = {name: node("int32", optional=name != "id") for name in row}
    return row_event(nodes, op, row, offset=offset)


def test_two_names_at_once_go_on_and_an_answer_exchanges_their_earlier_values(store: SqlStore) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    first = [_event(n, {"id": n, "a": n, "b": 10 + n}) for n in range(3)]
    lake.take([*first, _event(3, {"id": 0, "b": 5, "a": None}, "u")])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((_, rows),) = _read(lake)
    assert [(r["a"], r["b"], r["a__old"], r["b__old"]) for r in rows] == [
        (None, 5, 0, 10), (None, None, 1, 11), (None, None, 2, 12),
    ]  # fmt: skip
    (table,) = lake.sources.values()
    history = store.history(table)
    assert history is not None
    (question,) = list_open_questions(history)
    assert question.commands == (
        "schemaman decide rename srv.shop.public.t@2 a b",
        "schemaman decide rename srv.shop.public.t@2 b a",
    )
    assert any(question.text in note and question.commands[0] in note for note in lake.notes)
    pairs = (("a", "b"), ("b", "a"))
    version = history.latest
    place = version.id, format_coordinates(version.at)
    lake.decisions = Decisions(tuple(Rename(str(table), old, new, *place) for old, new in pairs))
    lake.take([_event(4, {"id": 3, "b": 7, "a": 8})])
    ((_, rows),) = _read(lake)
    assert [(r["a"], r["b"]) for r in rows] == [(None, 5), (11, 1), (12, 2), (8, 7)]
    assert lake.withheld() == {}
    assert list_open_questions(apply_decisions(history, lake.decisions)) == ()


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_names_exchanged_under_late_facts_are_a_question_and_mix_no_values(
    store: SqlStore, format: str, size: int
) -> None:
    """NOT NULL is read late, and by name: it is that of the columns which have the names afterwards."""
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    types = {"id": node("int32"), "a": node("int32"), "b": node("int32", optional=True), "z": node("string")}
    rows = [
        {"id": 1, "a": 1, "b": 11, "z": "z"},
        {"id": 2, "a": 2, "b": 12, "z": "z"},
        {"id": 1, "b": 5, "a": 6, "z": "z"},
        {"id": 3, "b": 7, "a": 8, "z": "z"},
    ]

    def write(rows: Sequence[dict[str, Any]], offset: int = 0) -> list[Record]:
        return [
            row_event({name: types[name] for name in row}, "ccucc"[n], row, offset=n)
            for n, row in enumerate(rows, offset)
        ]

    records = write(rows)
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((_, found),) = _read(lake)
    shown = [{name: row[name] for name in ("a", "b", "a__old", "b__old")} for row in found]
    assert shown == [
        {"a": 6, "b": 5, "a__old": 1, "b__old": 11},
        {"a": None, "b": None, "a__old": 2, "b__old": 12},
        {"a": 8, "b": 7, "a__old": None, "b__old": None},
    ]
    (table,) = lake.sources.values()
    history = store.history(table)
    assert history is not None
    (question,) = list_open_questions(history)
    place = history.latest.id, format_coordinates(history.latest.at)
    pairs = [command.split()[-2:] for command in question.commands]
    lake.decisions = Decisions(tuple(Rename(str(table), old, new, *place) for old, new in pairs))
    lake.take(write([{"id": 4, "b": 9, "a": 10, "z": "z"}], offset=4))
    ((_, found),) = _read(lake)
    assert [(row["a"], row["b"]) for row in found] == [(6, 5), (12, 2), (8, 7), (10, 9)]


def test_rows_that_do_not_show_when_they_were_written_keep_both_values(store: SqlStore) -> None:
    lake = MemorySink(store, lambda _: None, "iceberg", Policy(profile="autopilot"), lambda _: False)
    lake.take([_event(0, {"id": 1, "z": 1, "old": 2}), _event(1, {"id": 2, "z": 1, "old": 3})])
    lake.take([_event(2, {"id": 2, "z": 1, "new": 4}, "u")])
    (table,) = lake.tables.values()
    for row in table.rows.values():
        row[ORDER] = row[ORDER] if row[table.fields["id"]] == 2 else "-/0/000000.00000000000000000000"
    ((source, _),) = _read(lake)
    history = store.history(source)
    assert history is not None
    place = history.latest.id, format_coordinates(history.latest.at)
    lake.decisions = Decisions((Rename(str(source), "old", "new", *place),))
    lake.take([_event(3, {"id": 3, "z": 1, "new": 5})])
    ((_, rows),) = _read(lake)
    assert [(r["old"], r["new"]) for r in rows] == [(2, None), (3, 4), (None, 5)]
    assert any("both columns keep theirs" in note and "gives 1, not 0" in note for note in lake.notes)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_an_answer_brings_the_same_values_wherever_batches_end(tmp_path: Path, format: str) -> None:
    """Names are exchanged after a version with rows of its own, which one batch may pass over."""
    rows = [
        {"id": 0, "q": 1, "a": 10}, {"id": 1, "q": 1, "a": 11},
        {"id": 2, "q": 1, "a": 12, "b": 22}, {"id": 3, "q": 1, "a": 13, "b": 23},
        {"id": 4, "q": 1, "b": 14, "a": 24}, {"id": 2, "q": 2, "b": 12, "a": 25}, {"id": 1, "q": 2, "b": 15},
    ]  # fmt: skip
    whole = [row if "a" in row else {**row, "a": None} for row in rows]
    records = [_event(offset, row, "cccccuu"[offset]) for offset, row in enumerate(whole)]
    for number, ends in enumerate(cuts(len(records))):
        with SqlStore.open(f"sqlite:///{tmp_path / f'{number}.db'}", create=True) as store:
            lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
            for batch in cut(records, ends):
                lake.take(batch)
            (table,) = set(lake.sources.values())
            history = store.history(table)
            assert history is not None
            place = history.latest.id, format_coordinates(history.latest.at)
            pairs = (("a", "b"), ("b", "a"))
            lake.decisions = Decisions(tuple(Rename(str(table), *pair, *place) for pair in pairs))
            lake.take([_event(7, {"id": 5, "q": 1, "b": 15, "a": 25})])
            ((_, found),) = _read(lake)
            values = [(row["b"], row["a"]) for row in found]
            expected = [(10, None), (15, None), (12, 25), (13, 23), (14, 24), (15, 25)]
            assert (values, lake.withheld(), lake.stopped) == (expected, {}, set()), ends


CIRCLE = {
    "types": ("int32 string boolean", (1, "s", True), {"a": "c", "b": "a", "c": "b"}),
    "one type": ("string string string", ("x", "y", "z"), {"a": "b", "b": "c", "c": "a"}),
    "a chain": ("int32 string boolean", (1, "s", True), {"a": "b", "b": "c", "c": "d"}),
}


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize(("types", "values", "renames"), CIRCLE.values(), ids=CIRCLE)
def test_names_that_moved_between_columns_go_on_and_an_answer_moves_the_values(
    store: SqlStore, format: str, types: str, values: tuple[object, ...], renames: dict[str, str]
) -> None:
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    places = [node(type, optional=True) for type in types.split()]

    def write(offset: int, id: int, names: Sequence[str], op: str = "c") -> Record:
        nodes = {"id": node("int32"), **dict(zip(names, places, strict=True)), "z": node("int32")}
        row = {"id": id, **dict(zip(names, values, strict=True)), "z": id}
        return row_event(nodes, op, row, offset=offset)

    after = [renames[name] for name in "abc"]
    lake.take([write(n, n, "abc") for n in range(3)])
    lake.take([write(3, 0, after, "u")])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((table, rows),) = _read(lake)
    assert [rows[0][name] for name in after] == [*values]
    assert [[row[name] for name in after] for row in rows[1:]] == [[None] * 3] * 2
    history = store.history(table)
    assert history is not None
    commands = [command for q in list_open_questions(history) for command in q.commands]
    answers = dict(sorted(command.split()[-2:] for command in commands))
    assert answers == renames
    place = history.latest.id, format_coordinates(history.latest.at)
    lake.decisions = Decisions(tuple(Rename(str(table), old, new, *place) for old, new in answers.items()))
    lake.take([write(4, 3, after)])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((_, rows),) = _read(lake)
    assert [[row[name] for name in after] for row in rows] == [[*values]] * 4


@pytest.mark.parametrize("size", [1, 5], ids=["small batches", "one batch"])
@pytest.mark.parametrize("renamed", [True, False])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_names_of_one_type_that_may_have_been_handed_on_stop_no_table(
    store: SqlStore, format: str, renamed: bool, size: int
) -> None:
    """`a, b` became `b, c`: both were renamed, or `a` was dropped and `c` appended."""
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    records = [_event(n, {"id": n, "a": n, "b": 10 + n}) for n in range(3)]
    records += [_event(3, {"id": 0, "b": 5, "c": 6}, "u"), _event(4, {"id": 3, "b": 7, "c": 8})]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((table, rows),) = _read(lake)
    assert [(r["b"], r["c"]) for r in rows] == [(5, 6), (None, None), (None, None), (7, 8)]
    assert [(r["a"], r["b__old"]) for r in rows[1:3]] == [(1, 11), (2, 12)]
    history = store.history(table)
    assert history is not None
    assert [q.commands[0].split()[-2:] for q in list_open_questions(history)] == [["a", "b"], ["b", "c"]]
    place = history.latest.id, format_coordinates(history.latest.at)
    pairs = [(str(table), *pair, *place) for pair in (("a", "b"), ("b", "c"))]
    yes, no = tuple(Rename(*pair) for pair in pairs), tuple(NotRename(*pair) for pair in pairs)
    lake.decisions = Decisions(yes) if renamed else Decisions((), no)
    lake.take([_event(5, {"id": 4, "b": 9, "c": 9})])
    ((_, rows),) = _read(lake)
    expected = [(1, 11), (2, 12)] if renamed else [(11, None), (12, None)]
    assert [(r["b"], r["c"]) for r in rows] == [(5, 6), *expected, (7, 8), (9, 9)]
    assert (lake.withheld(), lake.stopped) == ({}, set())


@pytest.mark.parametrize("size", [1, 8], ids=["small batches", "one batch"])
@pytest.mark.parametrize("renamed", [True, False])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_name_that_a_wider_column_next_to_it_may_have_taken_has_the_values_of_one_column(
    store: SqlStore, format: str, renamed: bool, size: int
) -> None:
    """`a INT, b BIGINT` became `a BIGINT`: `b` was dropped, or `a` was dropped and `b` has its name."""
    lake = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    narrow, wide = node("int32", optional=True), node("int64", optional=True)
    before = {"id": node("int32"), "a": narrow, "b": wide}
    after = {"id": node("int32"), "a": wide}
    records = [row_event(before, "c", {"id": n, "a": n, "b": 10 + n}, offset=n) for n in range(3)]
    records += [row_event(before, "c", {"id": 3, "a": 3, "b": None}, offset=3)]
    records += [
        row_event(after, "u", {"id": 0, "a": 5}, offset=4),
        row_event(after, "c", {"id": 4, "a": 6}, offset=5),
    ]
    for start in range(0, len(records), size):
        lake.take(records[start : start + size])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((table, rows),) = _read(lake)
    assert [row["a"] for row in rows] == [5, None, None, None, 6]
    assert [(row["a__old"], row["b"]) for row in rows[1:4]] == [(1, 11), (2, 12), (3, None)]
    history = store.history(table)
    assert history is not None
    (question,) = list_open_questions(history)
    assert question.commands[0].split()[-2:] == ["b", "a"]
    answer = str(table), "b", "a", history.latest.id, format_coordinates(history.latest.at)
    lake.decisions = Decisions((Rename(*answer),)) if renamed else Decisions((), (NotRename(*answer),))
    lake.take([row_event(after, "c", {"id": 5, "a": 7}, offset=6)])
    assert (lake.withheld(), lake.stopped) == ({}, set())
    ((_, rows),) = _read(lake)
    expected = [11, 12, None] if renamed else [1, 2, 3]
    assert [row["a"] for row in rows] == [5, *expected, 6, 7]
