"""Histories of a made-up MySQL: the truth, whichever of three witnesses is read first, and whenever."""

from __future__ import annotations

from itertools import groupby, pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from schemaman.debezium.records import Record
from schemaman.errors import NoHistory, UsageError
from schemaman.history.references import SourcePosition
from schemaman.history.versions import SchemaVersion, TableHistory
from schemaman.model.ddl import format_type
from schemaman.model.types import without_labels
from schemaman.resolve import select_version
from tests.ingest.test_order import Desk
from tests.support.checkout import PROOF
from tests.support.simulated_mysql import DECLARED, STEPS, Database, State, database

DATABASES = st.builds(database, st.integers(0, 2**32), st.lists(st.sampled_from(STEPS), max_size=50))
Column = tuple[str, int, bool]


def witnesses(made: Database) -> tuple[list[Record], list[Record], list[Record]]:
    """What each of the three wrote: schema changes, rows, and the connector's own history."""
    topic = [r for r in made.connector.records if r.topic == "srv"]
    rows = [r for r in made.connector.records if r.topic != "srv"]
    return topic, rows, made.internal


def columns_of(version: SchemaVersion) -> tuple[Column, ...]:
    told = version.revisions[0].schema.columns
    return tuple((c.name, DECLARED.index(format_type(without_labels(c.type))), c.nullable) for c in told)


def columns_in(state: State) -> tuple[Column, ...]:
    return tuple((c.name, c.type, c.nullable) for c in state)


@settings(max_examples=300 if PROOF else 30)
@given(DATABASES, st.randoms(use_true_random=False))
def test_the_history_does_not_depend_on_which_witness_is_read_first(made: Database, chance: Random) -> None:
    straight, desk = Desk(), Desk()
    for records in witnesses(made):
        straight.read(records)
    pieces = []
    for records in witnesses(made):
        cuts = sorted(chance.sample(range(len(records) + 1), min(2, len(records))))
        edges = [0, *cuts, len(records)]
        pieces += [records[a:b] for a, b in pairwise(edges)]
    chance.shuffle(pieces)
    for piece in pieces:
        desk.read(piece)
    assert desk.histories == straight.histories
    assert desk.rejected == straight.rejected


def lives(made: Database, history: TableHistory) -> list[list[tuple[int, State]]]:
    """The structures of each life of a table, with where they began; what only repeats one is left out."""
    found: list[list[tuple[int, State]]] = [[]]
    for at, state in made.lives[history.table.table].states:
        if not state:
            found.append([])
        elif not found[-1] or found[-1][-1][1] != state:
            found[-1].append((at, state))
    return [life for life in found if life]


@settings(max_examples=400 if PROOF else 40)
@given(DATABASES, st.permutations(range(3)))
def test_what_was_declared_is_the_truth_and_begins_where_it_did(made: Database, order: list[int]) -> None:
    desk = Desk()
    for number in order:
        desk.read(witnesses(made)[number])
    for history in desk.histories:
        found = [[*life] for _, life in groupby(history.versions, key=lambda v: v.incarnation)]
        expected = lives(made, history)
        assert [[columns_of(v) for v in life] for life in found] == [
            [columns_in(s) for _, s in life] for life in expected
        ]
        for versions, life in zip(found, expected, strict=True):
            assert [v.at.position.value for v in versions] == [f"binlog.000003:{at}:0" for at, _ in life]
            numbers = [[c.number for c in state] for _, state in life]
            ids = [[c.id for c in v.schema.columns] for v in versions]
            same = {(n, i) for ns, js in zip(numbers, ids, strict=True) for n, i in zip(ns, js, strict=True)}
            assert len(same) == len({n for n, _ in same}) == len({i for _, i in same})
        assert not history.is_disputed


@given(DATABASES)
def test_a_late_witness_refines_what_rows_told_and_loses_no_id(made: Database) -> None:
    desk = Desk()
    topic, rows, _ = witnesses(made)
    desk.read(rows)
    before = {h.table: h.versions for h in desk.histories}
    desk.read(topic)
    after = {h.table: h.versions for h in desk.histories}
    for table, versions in before.items():
        for version in versions:
            found = [v for v in after[table] if v.has_id(version.id)]
            assert found
            assert {columns_of(v) for v in found} == {columns_of(version)}
        assert all(m.now for _, shift in desk.registry.renumberings(table) for m in shift.moves)


@given(DATABASES)
def test_rows_alone_show_each_structure_that_they_had_and_no_other(made: Database) -> None:
    desk = Desk()
    desk.read(witnesses(made)[1])
    for history in desk.histories:
        shown = {columns_of(v) for v in history.versions}
        assert shown == {columns_in(s) for s in made.lives[history.table.table].shown}


@settings(max_examples=300 if PROOF else 30)
@given(DATABASES)
def test_beside_rows_alone_a_table_is_told_to_be_gone_only_where_it_is(made: Database) -> None:
    """What the connector keeps for itself tells of lives, and rows tell the structures."""
    desk = Desk()
    for records in witnesses(made)[1:]:
        desk.read(records)
    for history in desk.histories:
        states = made.lives[history.table.table].states
        for place in range(1000, made.connector.at + 8, 4):
            (*_, (_, truth)) = ((0, ()), *(s for s in states if s[0] <= place))
            said = answer(history, place)
            gone = said.endswith(("dropped by then", "renamed by then"))
            assert not truth if gone else truth or not said.startswith("version"), (place, said)


def answer(history: TableHistory, place: int) -> str:
    """The version at a place, or why none is told."""
    try:
        found = select_version(history, SourcePosition("binlog", f"binlog.000003:{place}:0"))
    except (NoHistory, UsageError) as error:
        return error.message
    return f"version {found.ref}"
