"""Nested fields with an undecided rename stop no table; a late yes unites them, a no changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from schemaman.debezium.records import Record
from schemaman.history.decisions import Decisions, NotRename, Rename, format_coordinates
from schemaman.history.open_questions import list_open_questions
from schemaman.migration.policy import Policy
from schemaman.store.sql.store import SqlStore
from tests.support.memory_sink import MemorySink
from tests.support.records import node, row_event, struct


def _event(offset: int, id: int, name: str, value: int | None, op: str = "c") -> Record:
    inner = {**struct(None, z=node("int32"), **{name: node("int32", optional=True)}), "optional": True}
    outer = {**struct(None, deep=inner), "optional": True}
    row = {"id": id, "s": {"deep": {"z": offset, name: value}}}
    return row_event({"id": node("int32"), "s": outer}, op, row, offset=offset)


def _read(sink: MemorySink) -> list[tuple[int, Any, Any]]:
    (table,) = sink.lake()
    found = [(row["id"], row["s"]["deep"]) for row in table.rows]
    return sorted((id, deep.get("old"), deep.get("new")) for id, deep in found)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
@pytest.mark.parametrize("is_rename", [True, False])
def test_members_go_on_and_an_answer_brings_their_values_together(
    store: SqlStore, format: str, is_rename: bool
) -> None:
    sink = MemorySink(store, lambda _: None, format, Policy(profile="autopilot"), lambda _: False)
    sink.take([_event(n, n, "old", 10 + n) for n in range(3)])
    sink.take([_event(3, 0, "new", 5, "u"), _event(4, 3, "new", None)])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    assert _read(sink) == [(0, None, 5), (1, 11, None), (2, 12, None), (3, None, None)]
    (table,) = store.tables()
    history = store.history(table)
    assert history is not None
    (question,) = list_open_questions(history)
    assert question.text == "whether s.deep.old became s.deep.new"
    assert any(f"{table}@2 s.deep.old s.deep.new" in note for note in sink.notes)
    pair = (str(table), "s.deep.old", "s.deep.new", history.latest.id, format_coordinates(history.latest.at))
    sink.decisions = Decisions((Rename(*pair),)) if is_rename else Decisions(not_renames=(NotRename(*pair),))
    # A late record from before the rename fills the present name.
    sink.take([_event(5, 4, "new", 8)])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    united = {1: 11, 2: 12} if is_rename else {}
    assert _read(sink) == [
        (0, None, 5), (1, 11, united.get(1)), (2, 12, united.get(2)), (3, None, None), (4, None, 8),
    ]  # fmt: skip
    sink.take([_event(6, 5, "new", 9)])
    assert (sink.withheld(), sink.stopped) == ({}, set())
    assert sum("UPDATE" in step for step in sink.steps) == is_rename
