"""The fold of a key's changes: whatever is delivered twice, late or in other batches, one row comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from schemaman.migration.plan import MigrationSource
from schemaman.migration.row_columns import (
    DELETED,
    KEYED,
    KEYLESS,
    ORDER,
    add_row_columns,
)
from schemaman.model.schema import Column, TableSchema
from schemaman.model.types import Integer, String
from schemaman.sink.row_mapping import RowMap
from schemaman.sink.upsert import (
    LakeChange,
    Op,
    fold_changes,
)
from tests.support.memory_lake import MemoryTable, describe_change, stage

COLUMNS = ("id", "a", "b")
TO = RowMap(tuple(Column(name, Integer(32)) for name in COLUMNS), ("id",), {}, {}, {}, 1)


def change(
    op: Op, order: int, a: object = None, b: object = None, *, unsent: tuple[str, ...] = ()
) -> LakeChange:
    values = {"id": 1} if op == "d" else {"id": 1, "a": a, "b": b}
    sent = {name: value for name, value in values.items() if name not in unsent}
    return LakeChange(op, f"{order:06d}", ("t", 0, order), sent, frozenset(unsent))


class Row(MemoryTable):
    """A table in memory with one row at most."""

    def __init__(self) -> None:
        super().__init__("t")
        self.fields = {name: number for number, name in enumerate(COLUMNS)}

    def take(self, changes: Sequence[LakeChange]) -> bool:
        """Merge what a batch of changes is folded into; whether it could be taken."""
        return all(self.merge(row, TO) for row in stage(list(map(describe_change, changes)), TO))

    @property
    def row(self) -> dict[str, object] | None:
        (held,) = self.rows.values() or (None,)
        names = (*COLUMNS, ORDER, DELETED)
        return None if held is None else {n: held[self.fields.get(n, n)] for n in names}

    @property
    def shown(self) -> dict[str, object] | None:
        """What a reader sees of it."""
        row = self.row
        return None if row is None or row[DELETED] else {name: row[name] for name in COLUMNS}


@st.composite
def lives(draw) -> list[LakeChange]:
    """Changes of one row as a source makes them, in its order; an update may leave values unsent."""
    there = False
    made: list[LakeChange] = []
    for order in range(1, draw(st.integers(1, 8)) + 1):
        op: Op = draw(st.sampled_from(("u", "d"))) if there else "c"
        there = op != "d"
        unsent = draw(st.sampled_from(((), ("b",), ("a", "b")))) if op == "u" else ()
        made.append(change(op, order, draw(st.integers(0, 3)), draw(st.integers(0, 3)), unsent=unsent))
    return made


def truth(changes: Sequence[LakeChange]) -> dict[str, object] | None:
    """The row that a database has after the changes."""
    row: dict[str, object] | None = None
    for each in changes:
        row = None if each.op == "d" else {**(row or {}), **each.values}
    return row


@given(lives(), st.data())
def test_any_batches_end_in_the_row_of_the_source(changes: list[LakeChange], data: st.DataObject) -> None:
    table = Row()
    rest = list(changes)
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        assert table.take(rest[:size])
        rest = rest[size:]
    assert table.shown == truth(changes)


@given(lives(), st.data())
def test_what_is_delivered_again_changes_nothing(changes: list[LakeChange], data: st.DataObject) -> None:
    table = Row()
    assert table.take(changes)
    before = dict(table.row or {})
    again = data.draw(
        st.lists(st.sampled_from(changes), min_size=1).map(lambda c: sorted(c, key=lambda x: x.order))
    )
    table.take(again)
    assert table.row == before


@given(lives(), st.data())
def test_what_is_delivered_again_from_somewhere_may_be_cut_anywhere(
    changes: list[LakeChange], data: st.DataObject
) -> None:
    delivered = list(changes)
    for _ in range(data.draw(st.integers(1, 3))):
        end = data.draw(st.integers(1, len(changes)))
        begin = data.draw(st.integers(0, end - 1))
        delivered = (
            [*delivered, *changes[begin:]] if data.draw(st.booleans()) else [*changes[:end], *delivered]
        )
    table, held = Row(), list[LakeChange]()
    while delivered or held:
        size = data.draw(st.integers(1, len(delivered))) if delivered else 0
        batch = sorted([*held, *delivered[:size]], key=lambda each: each.order)
        delivered, before = delivered[size:], held
        held = [] if table.take(batch) else batch
        assert not held or delivered or held != before
    assert table.shown == truth(changes)


@given(lives(), lives(), st.data())
def test_one_row_comes_of_changes_that_are_folded_and_of_such_that_are_merged_one_by_one(
    there: list[LakeChange], changes: list[LakeChange], data: st.DataObject
) -> None:
    mixed = data.draw(st.lists(st.sampled_from([*there, *changes]), min_size=1))
    batch = sorted({each.order: each for each in mixed}.values(), key=lambda each: each.order)
    folding, merging = Row(), Row()
    for each in there:
        assert folding.take([each])
        assert merging.take([each])
    taken = [merging.take([each]) for each in batch]
    if folding.take(batch) and all(taken):
        assert folding.shown == merging.shown
        assert (folding.row or {})[ORDER] == (merging.row or {})[ORDER]


@given(lives(), st.randoms(use_true_random=False))
def test_whole_rows_may_come_in_any_order(changes: list[LakeChange], random) -> None:
    whole = [c for c in changes if not c.unavailable]
    mixed = list(whole)
    random.shuffle(mixed)
    table = Row()
    for each in mixed:
        assert table.take([each])
    assert table.row is None or table.row[ORDER] == whole[-1].order
    assert (table.shown is None) == (not whole or whole[-1].op == "d")


def test_a_value_that_was_not_sent_is_taken_from_the_change_before() -> None:
    row = fold_changes([change("c", 1, "x", "big"), change("u", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.values, row.kept, row.needs_row) == ({"id": 1, "a": "y", "b": "big"}, frozenset(), False)


def test_a_value_that_was_not_sent_needs_the_row_that_the_table_has() -> None:
    row = fold_changes([change("u", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.kept, row.needs_row, row.restart_order) == (frozenset({"b"}), True, None)


def test_a_value_that_was_not_sent_after_a_delete_is_lost_and_said_to_be() -> None:
    row = fold_changes([change("d", 1), change("c", 2, "y", unsent=("b",))], COLUMNS)
    assert row is not None
    assert (row.needs_row, row.restart_order) == (True, "000002")
    table = Row()
    assert table.take([change("c", 1, 1, 2)])
    assert not table.take([change("d", 1), change("c", 2, 3, unsent=("b",))])


def test_a_truncate_ends_what_is_older_and_nothing_else() -> None:
    assert fold_changes([change("c", 1, "x"), change("u", 2, "y")], COLUMNS, truncated="000003") is None
    row = fold_changes([change("c", 1, "x"), change("c", 4, "y")], COLUMNS, truncated="000003")
    assert row is not None
    assert row.values["a"] == "y"


def test_a_column_that_a_record_does_not_know_keeps_its_value() -> None:
    older = LakeChange("u", "000002", ("t", 0, 2), {"id": 1, "a": "y"})
    row = fold_changes([older], COLUMNS)
    assert row is not None
    assert (row.kept, row.needs_row) == (frozenset({"b"}), False)


def test_the_columns_that_remember_positions() -> None:
    columns = (Column("id", Integer(32), nullable=False), Column("a", String()))
    keyed = MigrationSource("t", 1, "0" * 12, 0, TableSchema(columns, ("id",)))
    assert add_row_columns(keyed).schema.names == ("id", "a", *(name for name, _ in KEYED))
    keyless = MigrationSource("t", 1, "0" * 12, 0, TableSchema(columns))
    assert add_row_columns(keyless).schema.names == ("id", "a", *(name for name, _ in KEYLESS))
